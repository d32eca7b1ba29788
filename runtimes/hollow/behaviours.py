"""The behaviour of each container, image and sandbox: annotations, then the command, then rules. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar, cast

from manifests.durations import Span
from manifests.restart_rules import ALWAYS, behaviour_of, is_sidecar
from messages.pods import JsonObject, Pod
from runtimes.hollow.annotations import (
    OF_IMAGES,
    OF_PODS,
    PREFIX,
    about_container,
    annotations_of,
    check,
    read_leniently,
    read_strictly,
)
from runtimes.hollow.behaviour import (
    ContainerBehaviour,
    ImageBehaviour,
    SandboxBehaviour,
    ending_of,
)
from runtimes.hollow.commands import outcome_of
from runtimes.hollow.rules import NO_TIME, HollowRules

B = TypeVar("B")

_KEPT: Final = 1024
"""Behaviours. Pods made from one template share one."""


class ContainerRole(NamedTuple):
    """What a container is in its pod, as far as it matters for how long it runs."""

    is_regular: bool
    is_init: bool
    """It ends before the next container starts."""
    runs_on: bool
    """It is expected to run until it is stopped."""


class Behaviours:
    """Reads behaviours, and remembers those that it read last."""

    def __init__(self, rules: HollowRules) -> None:
        self._rules = rules
        self._known: dict[Hashable, Any] = {}
        spans = (rules.to_create_sandbox, rules.to_pull, rules.to_create)
        self._takes_time = any(span.most for span in spans)

    def takes_time(self, pod: Pod) -> bool:
        """Whether it may take time to make what ``pod`` needs. Asked first, since it is cheap."""
        return self._takes_time or any(key.startswith(PREFIX) for key in pod.annotations)

    def of_container(self, pod: Pod, container: JsonObject) -> ContainerBehaviour:
        """Return how ``container`` behaves. Raises ``UnreadableAnnotationError``."""
        role = role_of(pod, container)
        said = annotations_of(pod)
        if said:
            check(pod, said)
            said = about_container(said, container["name"], is_regular=role.is_regular)
        command = (tuple(container.get("command") or ()), tuple(container.get("args") or ()))
        return self._once(
            ("container", said, role, command),
            lambda: ContainerBehaviour(**self._fields(read_strictly(said), container, role)),
        )

    def of_image(self, pod: Pod, image: str) -> ImageBehaviour:
        """Return what happens when ``image`` is pulled for ``pod``: as the first container with it says."""
        fields: dict[str, Any] = {}
        said = annotations_of(pod)
        if said:
            for container in _with_image(pod, image):
                is_regular = role_of(pod, container).is_regular
                own = about_container(said, container["name"], is_regular=is_regular)
                fields = read_leniently(own, OF_IMAGES)
                if fields:
                    break
        fields.setdefault("to_pull", self._rules.to_pull)
        return self._once(("image", *fields.items()), lambda: ImageBehaviour(**fields))

    def of_sandbox(self, pod: Pod) -> SandboxBehaviour:
        """Return what happens to the sandboxes of ``pod``."""
        fields = read_leniently(annotations_of(pod), OF_PODS)
        fields.setdefault("to_create", self._rules.to_create_sandbox)
        return self._once(("sandbox", *fields.items()), lambda: SandboxBehaviour(**fields))

    def _fields(
        self, said: Mapping[str, Any], container: JsonObject, role: ContainerRole
    ) -> Mapping[str, Any]:
        rules = self._rules
        fields: dict[str, Any] = {
            "to_create": rules.to_create,
            "to_start": rules.to_start,
            "to_stop": rules.to_stop,
        }
        ends_after: Span | None = NO_TIME if role.is_init else rules.run_for
        outcome = outcome_of(container)
        if outcome is not None:
            fields["says"] = outcome.says
            fields["exits"] = (ending_of(outcome.exit_code),)
            if outcome.seconds is not None:
                ends_after = Span(outcome.seconds, outcome.seconds)
        is_endless = outcome.seconds is None if outcome is not None else role.runs_on
        fields["run_for"] = None if is_endless and "exits" not in said else ends_after
        return {**fields, **said}

    def _once(self, key: Hashable, make: Callable[[], B]) -> B:
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[key] = make()
        return cast("B", found)


def role_of(pod: Pod, container: JsonObject) -> ContainerRole:
    """Return what ``container`` is in ``pod``; one that has no place in its specification is ephemeral."""
    spec, name = pod.document["spec"], container["name"]
    if any(each["name"] == name for each in spec.get("containers") or ()):
        policy = behaviour_of(container, spec.get("restartPolicy") or "").policy
        return ContainerRole(is_regular=True, is_init=False, runs_on=policy == ALWAYS)
    if any(each["name"] == name for each in spec.get("initContainers") or ()):
        stays = is_sidecar(container)
        return ContainerRole(is_regular=False, is_init=not stays, runs_on=stays)
    return ContainerRole(is_regular=False, is_init=False, runs_on=True)


def _with_image(pod: Pod, image: str) -> Iterator[JsonObject]:
    spec = pod.document["spec"]
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        yield from (each for each in spec.get(kind) or () if each.get("image") == image)
