"""What a pod lacks before its containers can be made: objects, volumes, images. Pure.

One thing that is missing may be told by several containers and volumes, and by a condition. It is told once,
with all who need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from manifests.references import PodReference, Use, pod_references
from server.reasons.known import PodCase, PodReason, sentence
from stores.statuses.conditions import SUPPORTED, VOLUMES_READY

UNTOLD: Final = frozenset(
    {"ContainerCreating", "PodInitializing", "CrashLoopBackOff", "PostStartHookError"}
)
"""Reasons for which a container waits that say only that something else is waited for, or how it ended."""
_OF_A_VOLUME: Final = re.compile(r'MountVolume\.SetUp failed for volume "([^"]*)" : ')
_OBJECT: Final = re.compile(r'(secret|configmap) "([^"]*)" ?(.*)', re.DOTALL)
_NO_KEY: Final = re.compile(r"couldn't find key (.+) in (Secret|ConfigMap) (\S+)")
_NO_ITEM: Final = re.compile(r"references non-existent (?:secret|config) key: (.+)")
_PULL: Final = re.compile(r'Back-off pulling image "[^"]*"(?:: ErrImagePull)?:? ?')
_KINDS: Final = {"secret": "Secret", "configmap": "ConfigMap"}
_SILENT: Final = frozenset({"ContainerCreating", "PodInitializing"})
_PULLING: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"})
_UNNAMEABLE: Final = frozenset({"InvalidImageName", "ImageInspectError"})


@dataclass(frozen=True, slots=True)
class _Lack:
    """A cause as it was told, and by whom."""

    cause: str
    place: str
    """``container web``, ``volume data``."""
    told: Callable[[str], PodReason]
    """What is said of it, if nothing better is known: given who lacks it."""


def lacks(case: PodCase) -> Iterator[PodReason]:
    """Yield a reason for each thing that is missing."""
    grouped: dict[str, list[_Lack]] = {}
    # What was told comes first, in the words of the actor that looked. Objects may also be missing silently.
    told = [*_of_volumes(case), *_of_containers(case)]
    for each in told or _of_references(case):
        grouped.setdefault(each.cause, []).append(each)
    for cause, found in grouped.items():
        places = list(dict.fromkeys(each.place for each in found))
        yield _of_object(case, cause, places) or found[0].told(_listed(places))


def _of_volumes(case: PodCase) -> Iterator[_Lack]:
    for condition in case.conditions:
        if condition.get("type") in {SUPPORTED, VOLUMES_READY} and condition["status"] == "False":
            message = str(condition.get("message") or "")
            pieces = _OF_A_VOLUME.split(message)
            if len(pieces) == 1 and message:
                yield _Lack(message, "the pod", _as_it_is(message))
            for volume, cause in zip(pieces[1::2], pieces[2::2], strict=True):
                yield _Lack(cause.rstrip("; "), f"volume {volume}", _volume(cause.rstrip("; ")))


def _as_it_is(cause: str) -> Callable[[str], PodReason]:
    return lambda _: PodReason(sentence(cause))


def _volume(cause: str) -> Callable[[str], PodReason]:
    unsupported = "are not supported" in cause or "is not supported" in cause
    advice = "docs/volumes.md says which kinds there are" if unsupported else ""
    return lambda who: PodReason(f"{sentence(who)} cannot be made: {cause}", advice)


def _of_containers(case: PodCase) -> Iterator[_Lack]:
    for each in case.containers():
        reason = str(each.waiting.get("reason") or "")
        if not reason or reason in UNTOLD:
            continue
        message = " ".join(str(each.waiting.get("message") or "").split())
        image = str(each.status.get("image") or each.spec.get("image") or "")
        if reason in _PULLING:
            cause = _PULL.sub("", message) or message or reason
            yield _Lack(cause, each.who, _unpullable(cause, image))
        elif reason == "ErrImageNeverPull":
            yield _Lack(f"never {image}", each.who, _never_pulled(image))
        elif reason in _UNNAMEABLE:
            yield _Lack(message or reason, each.who, _unnameable(message or reason, image))
        else:
            yield _Lack(message or reason, each.who, _uncreatable(message, reason))


def _unpullable(cause: str, image: str) -> Callable[[str], PodReason]:
    advice = (
        "It is tried again, after pauses. Look at the name of the image, whether its registry answers, "
        "and whether imagePullSecrets has what it asks for"
    )
    return lambda who: PodReason(
        f"The image {image} of {who} cannot be pulled: {_last_part(cause)}", advice
    )


def _last_part(cause: str) -> str:
    """Return an error of containerd without what it says of the same image again and again."""
    found = re.search(r".*failed to (?:do request|resolve reference \"[^\"]*\"): (.+)", cause)
    return found.group(1) if found else cause


def _never_pulled(image: str) -> Callable[[str], PodReason]:
    return lambda who: PodReason(
        f"The image {image} of {who} is not on this node, and imagePullPolicy Never forbids pulling it",
        "Import it into the container runtime, or choose imagePullPolicy IfNotPresent",
    )


def _unnameable(message: str, image: str) -> Callable[[str], PodReason]:
    return lambda who: PodReason(
        f'The image "{image}" of {who} cannot be used: {message}',
        "Mend the name in the pod's image",
    )


def _of_references(case: PodCase) -> Iterator[_Lack]:
    """Yield the objects that are missing, of a pod whose containers say nothing of it."""
    if not any(each.waiting.get("reason") in _SILENT for each in case.containers()):
        return
    for each in pod_references(case.pod):
        said = case.objects.get((each.kind.value, each.name))
        if said and not each.is_optional and each.use is not Use.PULL:
            cause = f'{each.kind.value.lower()} "{each.name}" {said}'
            yield _Lack(cause, _place(case, each), _as_it_is(cause))


def _place(case: PodCase, reference: PodReference) -> str:
    """Return which part of the pod names an object: ``volume data``."""
    found: Any = case.pod
    name = ""
    for step in reference.path[:3]:
        found = found[step]
        name = str(found.get("name") or "") if isinstance(found, dict) else name
    group = reference.path[1]
    return f"volume {name}" if group == "volumes" else f"container {name}"


def _uncreatable(message: str, reason: str) -> Callable[[str], PodReason]:
    said = f"{message} ({reason})" if message else reason
    advice = ""
    if "runAsNonRoot" in message:
        advice = "Set securityContext.runAsUser, or use an image with a user of its own"
    return lambda who: PodReason(f"{sentence(who)} cannot be created: {said}", advice)


def _of_object(case: PodCase, cause: str, places: list[str]) -> PodReason | None:
    """Return what is said of a Secret or ConfigMap that is missing, or lacks something."""
    needed = f"it is needed by {_listed(places)}"
    if found := _NO_KEY.fullmatch(cause):
        key, kind, name = found.groups()
        return _no_key(kind, name, key, needed)
    if not (found := _OBJECT.fullmatch(cause)):
        return None
    kind, name, said = _KINDS[found.group(1)], found.group(2), found.group(3)
    full = f"{case.namespace}/{name}"
    if said == "not found":
        return PodReason(f"{kind} {full} does not exist; {needed}", _how_to_make(case, kind))
    if item := _NO_ITEM.fullmatch(said):
        return _no_key(kind, full, item.group(1), needed)
    if "not read yet" in said or "not registered" in said:
        return PodReason(f"{kind} {full} is not known yet: {said}; {needed}", _wait_for(case))
    if "may not be read" in said:
        return PodReason(f"{kind} {full} {said}; {needed}", "Look at the rights of the node's user")
    return PodReason(f"{kind} {full} {said}; {needed}")


def _no_key(kind: str, name: str, key: str, needed: str) -> PodReason:
    return PodReason(
        f"{kind} {name} has no key {key}; {needed}",
        f"Put the key into the {kind}, or mark the reference as optional",
    )


def _how_to_make(case: PodCase, kind: str) -> str:
    if case.is_local:
        return (
            f"Put a file with the {kind} into the directory of --local-objects-dir; the pod starts "
            "as soon as it is there"
        )
    return f"Create the {kind} at the API server; the pod starts as soon as it is there"


def _wait_for(case: PodCase) -> str:
    if case.is_local:
        return "The directory of --local-objects-dir was not read yet"
    return "Look whether the API server answers: the check api-server says so"


def _listed(places: list[str]) -> str:
    return ", ".join(places[:-1]) + " and " + places[-1] if len(places) > 1 else places[0]
