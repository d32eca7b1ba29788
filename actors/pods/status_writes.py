"""What to write of one pod's status at the API server, and when to delete the pod there. Pure.

``next_write`` depends on the present state and not on events, so it can be asked again after every change
and every answer. A patch names only what differs and what is the node's: fields and conditions of others
stay as they are (rule V8).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from messages.api import ApiRequest, Patch, Verb
from messages.pods import STATUS_LISTS, JsonObject, Pod
from messages.statuses import REJECTED, PodStatus
from stores.statuses.conditions import DISRUPTION, OWNED, SCHEDULED
from stores.statuses.rendering import is_refusal, render_status
from stores.statuses.shown import containers, has_exited, histories

_WORDS: Final = ("phase", "reason", "message", "podIP")
_KEPT_WORDS: Final = ("hostIP", "observedGeneration")
"""These are never taken away: the node may just not know them."""
"""Lists that a patch replaces as a whole."""
_ADDRESSES: Final = ("hostIPs", "podIPs")
"""Lists that a patch would merge, were it not told to replace them."""
_OF_PODS_TAKEN_ON: Final = (*STATUS_LISTS, *_ADDRESSES, "hostIP")
"""These are taken away from a pod that was shown while nobody knew yet that the node refuses it."""
_OWN_FIELDS: Final = (*_WORDS, *_KEPT_WORDS, *STATUS_LISTS, *_ADDRESSES, "startTime")

_REMOVABLE: Final = OWNED - {DISRUPTION, SCHEDULED}
"""Conditions of these types are the node's alone. The others are set by more than one."""


class NoWrite(Enum):
    """Nothing is to be written."""

    NOTHING = auto()
    """The API server has what it should have."""
    NO_OBJECT = auto()
    """The pod has no object at the API server, or no mirror yet (rule V6)."""


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """Patch the status of the object of this UID."""

    request: ApiRequest


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete the object of this UID at once (rule V9)."""

    request: ApiRequest


Write: TypeAlias = NoWrite | PatchStatus | DeletePod


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What the API server made of the status that it took last."""

    status: PodStatus
    digest: int
    """Of the node's part of the status in its answer. A server may drop fields that it does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSituation:
    """Everything that the next write of one pod depends on."""

    pod: Pod
    status: PodStatus
    is_finished: bool
    object: Pod | None
    """What shows it at the API server: itself, or its mirror. The newest that is known."""
    accepted: Accepted | None = None
    is_refused: bool = False
    """The API server does not take this status."""
    is_deletion_asked: bool = False
    """This object was deleted already, and something else keeps it."""


def next_write(now: WriteSituation) -> Write:
    """Return the one call to make next (rules V6 to V10)."""
    shown = now.object
    if shown is None:
        return NoWrite.NO_OBJECT
    may_go = now.is_finished and shown.is_deleting and not shown.is_mirror
    if may_go and now.is_deletion_asked:
        return NoWrite.NOTHING
    if may_go and now.is_refused:
        return _deletion(shown)
    patch = None if _is_accepted(now, shown) else status_patch(now.pod, now.status, shown)
    if patch is not None:
        return PatchStatus(_request(Verb.PATCH, f"{_path(shown)}/status", patch))
    return _deletion(shown) if may_go else NoWrite.NOTHING


def ends_soon(now: WriteSituation) -> bool:
    """Return whether a status that ends the pod will follow, beside which nobody needs this one.

    The pod is being deleted, and some of its containers have ended: the others and the sandbox follow. A
    kubelet says nothing either until all of that is done.
    """
    shown, status = now.object, now.status
    if shown is None or shown.is_mirror or status.is_ended or status.observed is None:
        return False
    if not (shown.is_deleting or now.pod.is_deleting):
        return False
    seen = histories(status.observed)
    ended = (seen.get(each["name"]) for each in containers(now.pod))
    return any(history is not None and has_exited(history.current) for history in ended)


def counts_on_soon(now: WriteSituation) -> bool:
    """Return whether a status follows that counts restarts on from those that a mirror shows.

    The worker of a static pod learns of them from the same listing, and a count must not fall meanwhile.
    """
    if now.object is None or not now.object.is_mirror:
        return False
    seen = histories(now.status.observed)
    for shown in _status(now.object).get("containerStatuses") or ():
        history = seen.get(shown.get("name") or "")
        instance = None if history is None else history.current or history.last
        if (shown.get("restartCount") or 0) > (0 if instance is None else instance.attempt):
            return True
    return False


def status_patch(pod: Pod, status: PodStatus, shown: Pod) -> JsonObject | None:
    """Return the strategic merge patch that makes ``shown`` show ``status``. None if it does already."""
    ours, theirs = render_status(pod, status), _status(shown)
    changes = {**_words_of(ours, theirs), **_addresses(ours, theirs), **_containers(ours, theirs)}
    if status.message.startswith(REJECTED):
        changes |= {name: None for name in _OF_PODS_TAKEN_ON if name in theirs and name not in ours}
    conditions = list(_conditions(ours, theirs, is_complete=not is_refusal(status)))
    if conditions:
        changes["conditions"] = conditions
    return {"metadata": {"uid": shown.uid}, "status": changes} if changes else None


def accepted(status: PodStatus, answer: JsonObject) -> Accepted:
    """Return what to remember of the answer to a patch that wrote ``status``."""
    return Accepted(status=status, digest=own_digest(answer))


def is_answered(asked: AbstractSet[str], pod: Pod, status: PodStatus, answer: Pod) -> bool:
    """Return whether the answer to a patch shows what the API server makes of ``status``.

    It does not if something is left to ask for that was not ``asked`` of this status, by its last patch and
    those before: somebody has written over it meanwhile. What was asked for and is not so is what the API
    server makes of it. So there is an end, also where one field follows of another there.
    """
    left = status_patch(pod, status, answer)
    return left is None or asked_by(left) <= asked


def asked_by(patch: JsonObject) -> frozenset[str]:
    """Return what the patch of a status asks for, a field or a condition each."""
    conditions = patch["status"].get("conditions") or ()
    fields = ([name, value] for name, value in patch["status"].items() if name != "conditions")
    return frozenset(json.dumps(each, sort_keys=True) for each in (*fields, *conditions))


def own_digest(document: JsonObject) -> int:
    """Return a number that changes with the node's part of the status in a pod's document."""
    status = document.get("status") or {}
    own = {name: status[name] for name in _OWN_FIELDS if name in status}
    own["conditions"] = sorted(
        json.dumps(each, sort_keys=True)
        for each in status.get("conditions") or ()
        if each.get("type") in OWNED
    )
    return hash(json.dumps(own, sort_keys=True))


def _is_accepted(now: WriteSituation, shown: Pod) -> bool:
    return (
        now.accepted is not None
        and now.accepted.status is now.status
        and now.accepted.digest == own_digest(shown.document)
    )


def _words_of(ours: JsonObject, theirs: JsonObject) -> Mapping[str, Any]:
    changes: dict[str, Any] = {}
    for name in _WORDS:
        if (ours.get(name) or None) != (theirs.get(name) or None):
            changes[name] = ours.get(name)
    for name in _KEPT_WORDS:
        if ours.get(name) and ours[name] != theirs.get(name):
            changes[name] = ours[name]
    if not theirs.get("startTime") and "startTime" in ours:
        changes["startTime"] = ours["startTime"]
    return changes


def _containers(ours: JsonObject, theirs: JsonObject) -> Mapping[str, Any]:
    changed = (
        name
        for name in STATUS_LISTS
        if name in ours and _bare(ours[name]) != _bare(theirs.get(name) or [])
    )
    return {name: _bare(ours[name]) for name in changed}


def _addresses(ours: JsonObject, theirs: JsonObject) -> Mapping[str, Any]:
    changes: dict[str, Any] = {}
    for name in _ADDRESSES:
        wanted = ours.get(name)
        if name == "hostIPs" and _is_told_by_one(wanted, theirs):
            continue
        if wanted and wanted != theirs.get(name):
            changes[name] = [{"$patch": "replace"}, *wanted]
        elif name == "podIPs" and not wanted and theirs.get(name):
            changes[name] = None
    return changes


def _is_told_by_one(wanted: list[Mapping[str, str]] | None, theirs: JsonObject) -> bool:
    """Return whether ``hostIP`` says it all: API servers before 1.28 do not know ``hostIPs``."""
    return "hostIPs" not in theirs and wanted == [{"ip": theirs.get("hostIP")}]


def _conditions(
    ours: JsonObject, theirs: JsonObject, *, is_complete: bool
) -> Iterable[Mapping[str, Any]]:
    """Yield the elements of a patch. A time is sent only with another status (rule V4)."""
    shown = {each.get("type"): each for each in theirs.get("conditions") or ()}
    for mine in ours["conditions"]:
        other = shown.pop(mine["type"], None)
        if other is None:
            yield _bare(mine)
        elif other.get("status") != mine["status"]:
            yield {**_words(mine), "lastTransitionTime": mine["lastTransitionTime"]}
        elif _words(other) != _words(mine):
            yield _words(mine)
    if is_complete:
        for type_ in shown:
            if type_ in _REMOVABLE:
                yield {"type": type_, "$patch": "delete"}


def _words(condition: Mapping[str, Any]) -> dict[str, Any]:
    """Return all of a condition but its times. None takes a field away."""
    return {
        "type": condition["type"],
        "status": condition.get("status"),
        "reason": condition.get("reason") or None,
        "message": condition.get("message") or None,
    }


def _bare(value: Any) -> Any:
    """Return ``value`` without fields that are empty: the API leaves them out, or writes them as null."""
    if isinstance(value, Mapping):
        bare = {key: _bare(item) for key, item in value.items()}
        return {key: item for key, item in bare.items() if item not in (None, "", {}, [])}
    return [_bare(item) for item in value] if isinstance(value, list) else value


def _deletion(shown: Pod) -> DeletePod:
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": shown.uid},
    }
    return DeletePod(_request(Verb.DELETE, _path(shown), options))


def _request(verb: Verb, path: str, body: JsonObject) -> ApiRequest:
    return ApiRequest(verb=verb, path=path, body=body, patch=Patch.STRATEGIC)


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _status(pod: Pod) -> JsonObject:
    status: JsonObject = pod.document.get("status") or {}
    return status
