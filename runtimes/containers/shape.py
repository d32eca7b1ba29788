"""What a pod's specification says of its containers, read once for each version of the pod. Pure.

Of a pod that nobody has the specification of any more (its manifest was removed while no agent ran), the
containers say what it takes to stop them well: their hooks before SIGTERM, and which of them are sidecars.
Those of a kubelet do not say the latter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from manifests.container_hashes import container_digests, container_hash, is_unchanged
from manifests.image_names import default_pull_policy
from manifests.restart_rules import ALWAYS, NEVER, RestartBehaviour, behaviour_of, is_sidecar
from messages.objects import ObjectKind
from messages.pod_runtime import ContainerObserved
from messages.pods import JsonObject, Pod
from messages.units import Seconds
from runtimes.containers.contents import Contents, instances_in, newest_instances
from runtimes.environment.objects import NeededValue, named_values

DEFAULT_GRACE: Final = Seconds(30.0)
MOST_IN_SMALL_PODS: Final = 32
MOST_GRACE: Final = Seconds(366 * 86_400.0)
"""Longer graces count as this one, a year: timers and runtimes have limits of their own."""
NO_DIGESTS: Final[Mapping[str, str]] = MappingProxyType({})


class _Digests(NamedTuple):
    """Digests of containers by name: those of the manifest, and those that it had when it was first seen."""

    now: Mapping[str, str]
    first: Mapping[str, str]


class ContainerPart(Enum):
    """What part a container has in its pod, which decides when it runs."""

    INIT = auto()
    SIDECAR = auto()
    """A restartable init container."""
    REGULAR = auto()
    EPHEMERAL = auto()


class WantedImage(NamedTuple):
    """An image that a container needs."""

    image: str
    pull_policy: str
    volume: str = ""
    """The volume that it is; empty for what the container itself is created from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerShape:
    """What a specification says of one container."""

    name: str
    part: ContainerPart
    image: str
    pull_policy: str
    spec_hash: str
    first_digest: str = ""
    """What an instance counts as made of whose hash does not tell: see ``RunPod.first_digests``."""
    behaviour: RestartBehaviour
    volume_images: tuple[WantedImage, ...] = ()
    """Those that it mounts."""
    needs: tuple[NeededValue, ...] = ()
    """What its environment needs of Secrets and ConfigMaps."""
    has_secret_words: bool = False
    """Whether values of Secrets may be in its command and arguments. Runtimes repeat those if they cannot run
    them."""
    post_start: JsonObject | None = field(default=None, repr=False)
    """The handler of its hook after the start, if it has one."""
    pre_stop: JsonObject | None = field(default=None, repr=False)
    document: JsonObject = field(repr=False)

    @property
    def resources(self) -> JsonObject:
        """Its requests and limits."""
        return self.document.get("resources") or {}

    def pull_policy_of(self, image: str) -> str:
        """Return the policy of one of its images. Where it is several ones, that of the container counts."""
        volumes = (each for each in self.volume_images if each.image == image != self.image)
        return next((each.pull_policy for each in volumes), self.pull_policy)

    def is_unchanged_since(self, instance: ContainerObserved) -> bool:
        """Return whether nothing has changed that demands another instance than this one."""
        is_same = instance.spec_hash == self.spec_hash  # asked in each plan, and mostly so
        return is_same or is_unchanged(self.spec_hash, self.image, instance, self.first_digest)

    def grace_of_probe(self, probe: str, default: Seconds) -> Seconds:
        """Return the grace of a kill for ``probe``, which may have one of its own (rule B11)."""
        grace = (self.document.get(probe) or {}).get("terminationGracePeriodSeconds")
        return default if grace is None else bounded_grace(grace)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodShape:
    """What a specification says of a pod's containers."""

    inits: tuple[ContainerShape, ...]
    """Init containers and sidecars, in order."""
    regular: tuple[ContainerShape, ...]
    ephemeral: tuple[ContainerShape, ...]
    grace: Seconds
    restarts_all: bool
    """Whether any container may demand that all start again."""
    has_hooks: bool = False
    """Whether any container has one."""

    @property
    def is_large(self) -> bool:
        """Whether it has so many containers that a plan for each of their answers is too much."""
        return len(self.inits) + len(self.regular) + len(self.ephemeral) > MOST_IN_SMALL_PODS

    def __iter__(self) -> Iterator[ContainerShape]:
        return chain(self.inits, self.regular, self.ephemeral)

    def get(self, name: str) -> ContainerShape | None:
        """Return the container of this name, if there is one."""
        return next((shape for shape in self if shape.name == name), None)


def shape_of(pod: Pod, first_digests: Mapping[str, str] = NO_DIGESTS) -> PodShape:
    """Return what ``pod``'s specification says of its containers."""
    spec: JsonObject = pod.document.get("spec") or {}
    policy = spec.get("restartPolicy") or ALWAYS
    images = {
        volume.get("name"): _image_of_volume(volume)
        for volume in spec.get("volumes") or ()
        if volume.get("image") is not None
    }
    digests = _Digests(container_digests(pod), first_digests)
    inits = tuple(
        _init(container, policy, images, digests) for container in spec.get("initContainers") or ()
    )
    regular = tuple(
        _shape(container, ContainerPart.REGULAR, behaviour_of(container, policy), images, digests)
        for container in spec.get("containers") or ()
    )
    return PodShape(
        inits=inits,
        regular=regular,
        ephemeral=tuple(
            _shape(container, ContainerPart.EPHEMERAL, _ONCE, images, digests)
            for container in spec.get("ephemeralContainers") or ()
        ),
        grace=bounded_grace(spec.get("terminationGracePeriodSeconds")),
        restarts_all=any(each.behaviour.restarts_all for each in inits + regular),
        has_hooks=any(each.post_start or each.pre_stop for each in inits + regular),
    )


def bounded_grace(grace: Any) -> Seconds:
    """Return a grace as it is used, whatever number or nonsense was said."""
    if isinstance(grace, bool) or not isinstance(grace, int | float) or grace != grace:  # noqa: PLR0124
        return DEFAULT_GRACE
    return Seconds(float(min(max(grace, 0), MOST_GRACE)))


_ONCE = RestartBehaviour(NEVER)
_WITH_HOOKS = frozenset({ContainerPart.SIDECAR, ContainerPart.REGULAR})
"""The API allows no other container a hook."""


def _init(
    container: JsonObject,
    policy: str,
    images: Mapping[str, WantedImage],
    digests: _Digests,
) -> ContainerShape:
    part = ContainerPart.SIDECAR if is_sidecar(container) else ContainerPart.INIT
    return _shape(container, part, behaviour_of(container, policy), images, digests)


def _image_of_volume(volume: JsonObject) -> WantedImage:
    image = str(volume["image"].get("reference") or "")
    policy = volume["image"].get("pullPolicy") or default_pull_policy(image)
    return WantedImage(image, policy, volume.get("name") or "")


def _shape(
    container: JsonObject,
    part: ContainerPart,
    behaviour: RestartBehaviour,
    images: Mapping[str, WantedImage],
    digests: _Digests,
) -> ContainerShape:
    name, image = str(container.get("name") or ""), str(container.get("image") or "")
    lifecycle = container.get("lifecycle") if part in _WITH_HOOKS else None
    return ContainerShape(
        name=name,
        part=part,
        image=image,
        pull_policy=container.get("imagePullPolicy") or default_pull_policy(image),
        spec_hash=container_hash(name, image, digests.now.get(name, "")),
        first_digest=digests.first.get(name, ""),
        behaviour=behaviour,
        volume_images=_mounted_images(container, images) if images else (),
        needs=(needs := named_values(container)),
        has_secret_words=_has_variables(container)
        and any(each.kind is ObjectKind.SECRET for each in needs),
        post_start=(lifecycle.get("postStart") or None) if lifecycle else None,
        pre_stop=(lifecycle.get("preStop") or None) if lifecycle else None,
        document=container,
    )


def _mounted_images(
    container: JsonObject, images: Mapping[str, WantedImage]
) -> tuple[WantedImage, ...]:
    names = dict.fromkeys(mount.get("name") for mount in container.get("volumeMounts") or ())
    return tuple(images[name] for name in names if name in images)


def _has_variables(container: JsonObject) -> bool:
    words = chain(container.get("command") or (), container.get("args") or ())
    return any("$(" in str(word) for word in words)


def restored_shape(contents: Contents) -> PodShape | None:
    """Return what containers say of their pod's specification; None if they say nothing."""
    newest = newest_instances(contents)
    if all(one.stop_terms is None for one in newest.values()):
        return None
    places = {name: _sidecar(one) for name, one in newest.items()}
    sidecars = sorted((place, name) for name, place in places.items() if place is not None)
    spec: JsonObject = {
        "initContainers": [
            {**_container(newest[name]), "restartPolicy": "Always"} for _, name in sidecars
        ],
        "containers": [_container(one) for name, one in newest.items() if places[name] is None],
    }
    return shape_of(Pod.of({"spec": spec}))


def written_grace(contents: Contents) -> Seconds | None:
    """Return the grace of a pod, as its containers say it; None if they say nothing."""
    graces = (
        one.stop_terms.grace
        for one in instances_in(contents)
        if one.stop_terms is not None and one.stop_terms.grace is not None
    )
    grace = next(graces, None)
    return None if grace is None else bounded_grace(grace)


def _sidecar(one: ContainerObserved) -> int | None:
    return one.stop_terms.sidecar if one.stop_terms is not None else None


def _container(one: ContainerObserved) -> JsonObject:
    container: dict[str, Any] = {"name": one.name, "image": one.image}
    if one.stop_terms is not None and one.stop_terms.pre_stop is not None:
        container["lifecycle"] = {"preStop": one.stop_terms.pre_stop}
        container["ports"] = [*one.stop_terms.ports]
    return container
