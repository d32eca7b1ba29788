"""Rules of what the agent does at the API server."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from typing_extensions import override

from messages.pods import CONFIG_MIRROR, JsonObject, Pod
from tests.environment.cluster import NODE as HERE
from tests.environment.oracle.rule import Rule, Wishes, is_sidecar
from tests.environment.oracle.shown import TERMINAL
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import EVENT, LEASE, NODE, POD, Kind
from tests.support.canary import CANARY, Lookout

SYNCED_WITHIN: Final = 1.0
"""Seconds after which what is shown of a pod is on the disk."""
OURS: Final[frozenset[Kind]] = frozenset({EVENT, LEASE, NODE, POD})
"""What an agent writes. Of pods it makes mirrors alone."""


class OnlyOurs(Rule):
    """Nothing is written at the API server but mirrors, statuses, events, the Node and its Lease."""

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if not is_agents or not self.judges():
            return
        name, kind = change.after["metadata"]["name"], change.kind
        is_made = change.before is None
        if kind not in OURS or (kind is POD and not self._is_ours(change, is_made=is_made)):
            self.broken(f"the agent {'makes' if is_made else 'changes'} {kind.name} {name}")

    def _is_ours(self, change: Change, *, is_made: bool) -> bool:
        is_here = change.after["spec"].get("nodeName") == HERE
        return is_here and (not is_made or Pod.of(change.after).is_mirror)


class MarksStay(Rule):
    """What administrators put on the Node stays there: its spec, and labels and annotations of theirs."""

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if not is_agents or change.kind is not NODE or change.is_gone or change.before is None:
            return
        before, after = change.before, change.after
        if self.judges() and before["spec"] != after["spec"]:
            self.broken(f"the spec of the Node was {before['spec']} and is {after['spec']}")
        for group in ("labels", "annotations"):
            if (
                "theirs"
                in (before["metadata"].get(group) or {}).keys() - after["metadata"][group].keys()
            ):
                self.broken(f"the Node has not their {group} any more")


class StatusNeverBack(Rule):
    """At the API server a final phase stays, nothing is Pending again, restarts are never counted down, and
    an address stays shown.

    What others have removed is not counted any more, and what they wrote may go: nothing is said if they have
    touched the pod since the instances began that it was shown with. The first status that an agent writes
    after a SIGKILL knows nothing that could not be recorded, and no address that others wrote over before it
    began. When the power went, an address of the last second may not be on the disk, and each pod has a new
    sandbox, in which its init containers run again: until then it is Pending, as a kubelet shows it.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._written: dict[str, Mapping[str, Any]] = {}
        self._written_at: dict[str, float] = {}
        self._prepares_again: set[str] = set()
        """The UIDs of what was there when the power went."""

    @override
    def loses_power(self) -> None:
        # A write that is under way now may have its effect later.
        self._prepares_again = {*self._written, *self.wishes.pods}

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if not is_agents or change.kind is not POD or change.is_gone:
            return
        uid, own = shown_uid(change.after), change.after["metadata"]["uid"]
        status, wishes = change.after["status"], self.wishes
        is_lost = wishes.is_unrecorded(uid, self._written_at.get(own, math.inf))
        before = self._known(change, self._written.get(own, {}))
        is_touched = wishes.was_touched(uid, before.get("containerStatuses", ()))
        is_exempt = is_touched or wishes.is_forgotten(uid) or is_lost
        if before and self.judges(unless=is_exempt):
            if own in self._prepares_again and is_preparing(wishes, uid, status):
                before = {**before, "phase": status["phase"]}
            for what in self._worse(before, status):
                self.broken(f"at the API server {uid} {what}")
        self._written[own], self._written_at[own] = self._own(change), wishes.now()

    def _known(self, change: Change, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what the agent can know of the status that was written last: all, if it wrote that."""
        own, killed_at = change.after["metadata"]["uid"], self.wishes.killed_at
        written_at = self._written_at.get(own, math.inf)
        if written_at > killed_at:
            return written
        there = ((change.before or {}).get("status") or {}).get("podIP")
        is_unsynced = own in self._prepares_again and killed_at - written_at < SYNCED_WITHIN
        is_unknown = is_unsynced or there != written.get("podIP")
        return {**written, "podIP": None} if is_unknown else written

    def _own(self, change: Change) -> Mapping[str, Any]:
        """Return the status that the agent has written, without an address that others had put there."""
        status: Mapping[str, Any] = change.after["status"]
        known = self._written.get(change.after["metadata"]["uid"], {}).get("podIP")
        there = ((change.before or {}).get("status") or {}).get("podIP")
        is_others = status.get("podIP") == there != known
        return {**status, "podIP": known} if is_others else status

    def _worse(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
        before, after = old.get("phase", "Pending"), new.get("phase")
        if before != after and (before in TERMINAL or after == "Pending"):
            yield f"was {before} and is {after}"
        if old.get("podIP") and not new.get("podIP"):
            yield "shows no address any more"
        counts = {each["name"]: each["restartCount"] for each in old.get("containerStatuses", ())}
        for each in new.get("containerStatuses", ()):
            if each["restartCount"] < counts.get(each["name"], 0):
                yield f"had {counts[each['name']]} restarts of {each['name']}, now less"


def is_preparing(wishes: Wishes, uid: str, status: Mapping[str, Any]) -> bool:
    """Return whether an init container has not succeeded yet, or a sidecar has not started."""
    sidecars = {each["name"] for each in wishes.inits(uid) if is_sidecar(each)}
    inits = status.get("initContainerStatuses", ())
    return not all(
        each.get("started")
        if each["name"] in sidecars
        else each["state"].get("terminated", {}).get("exitCode") == 0
        for each in inits
    )


class GoneAfterEnd(Rule):
    """A pod is gone from the API server only after its containers ended. A mirror that is right stays.

    It is right if it shows what has been wanted for more than a second, of this Node.
    """

    @override
    def deletes(self, pod: Pod) -> None:
        if not self.judges(unless=pod.is_mirror and not self.wishes.is_settled(pod.full_name)):
            return
        if pod.is_mirror:
            if self._is_right(pod):
                self.broken(f"the mirror {pod.name} is deleted though it is right")
            return
        for each in self.runtime.live():
            if each.uid == pod.uid:
                self.broken(f"{pod.uid} is deleted while {each.name} runs")

    def _is_right(self, mirror: Pod) -> bool:
        wishes = self.wishes
        return (
            not mirror.is_deleting
            and any(
                (each.full_name, images(each)) == (mirror.full_name, images(mirror))
                for each in wishes.statics()
            )
            and wishes.owner in [each["uid"] for each in owners(mirror)]
        )


class NoSecretTold(Rule):
    """No value of a Secret is in what the agent writes at the API server."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._lookout = Lookout(CANARY)

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if is_agents and self.judges():
            self._lookout.look(f"{change.kind.name} of the API server", repr(change.after))
            for sighting in self._lookout.sightings():
                self.broken(f"a value of a Secret is seen: {sighting}")


def shown_uid(document: JsonObject) -> str:
    """Return the UID of the pod that one of the API server shows: its own, or that of a static pod."""
    metadata = document["metadata"]
    return str((metadata.get("annotations") or {}).get(CONFIG_MIRROR) or metadata["uid"])


def images(pod: Pod) -> dict[str, str]:
    """Return the images of a pod's containers."""
    return {each["name"]: each["image"] for each in pod.document["spec"]["containers"]}


def owners(pod: Pod) -> list[JsonObject]:
    """Return who owns a pod of the API server."""
    return list(pod.document["metadata"].get("ownerReferences") or ())
