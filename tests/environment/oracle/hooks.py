"""Rules of when the commands of hooks are called, and of what waits for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from typing_extensions import override

from tests.environment.machine import Instance
from tests.environment.oracle.cluster import shown_uid
from tests.environment.oracle.rule import Rule, is_sidecar
from tests.environment.oracle.starts import CALM
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import POD

POST_START, PRE_STOP = "postStart", "preStop"
GRACE: Final = "terminationGracePeriodSeconds"
LONGEST_GRACE: Final = 30.0
"""Seconds of the longest grace of a pod. A stop that trouble has put off may come so late."""


class HookOnce(Rule):
    """A hook is called once for an instance of a container, also when actors crash.

    Who got a SIGKILL calls a preStop that was in progress once more, and no postStart of what it finds.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._called_at: dict[tuple[str, str], float] = {}

    @override
    def calls_hook(self, one: Instance, field: str) -> None:
        killed_at, now = self.wishes.killed_at, self.wishes.now()
        called_at = self._called_at.get((one.id, field), math.inf)
        if self.judges(unless=called_at < killed_at) and called_at < math.inf:
            self.broken(f"{field} of {one.name} of {one.uid} is called twice")
        if field == POST_START and one.started_at < killed_at:
            self.broken(f"{field} of {one.name} of {one.uid} is called, and it was found running")
        self._called_at[one.id, field] = now


class PostStartFirst(Rule):
    """A container is neither shown as running or ready nor probed before its postStart has succeeded. Nothing
    behind it in the pod starts before it has ended, and nothing behind a sidecar before it has succeeded.

    A sidecar is not waited for again: its hook has succeeded once in its sandbox, or a regular container was
    started there. What the next agent finds running after a SIGKILL counts as started.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._passed: set[tuple[str, str]] = set()
        """Sidecars whose hooks have succeeded, by their sandboxes and names."""
        self._begun: set[str] = set()
        """Sandboxes in which regular containers were started."""

    @override
    def hook_ends(self, one: Instance, field: str, *, is_success: bool) -> None:
        if field == POST_START and is_success:
            self._passed.add((one.sandbox, one.name))

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if is_agents and change.kind is POD and not change.is_gone:
            self.shows({shown_uid(change.after): change.after["status"]})

    @override
    def shows(self, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        live = {each.id: each for each in self.runtime.live()}
        for status in statuses.values():
            for group in ("initContainerStatuses", "containerStatuses"):
                for shown in status.get(group, ()):
                    one = live.get(shown.get("containerID", "").removeprefix("containerd://"))
                    is_shown = "running" in shown["state"] or shown["ready"] or shown.get("started")
                    if one is not None and is_shown and self._waits(one):
                        self.broken(f"{one.name} of {one.uid} is shown as {shown} before its hook")

    @override
    def answers(self, one: Instance, what: str, *, is_yes: bool) -> None:
        if self._waits(one):
            self.broken(f"{one.name} of {one.uid} is asked if it is {what} before its hook")

    @override
    def starts(self, one: Instance) -> None:
        spec = self.wishes.spec(one.uid)
        before: dict[str, bool] = {}
        for each in (*spec.get("initContainers", ()), *spec.get("containers", ())):
            if each["name"] == one.name:
                break
            before[each["name"]] = is_sidecar(each)
        for other in self.runtime.live():
            if other.sandbox == one.sandbox and other.name in before:
                self._look_at(one, other, is_behind_sidecar=before[other.name])
        if one.name in {each["name"] for each in spec.get("containers", ())}:
            self._begun.add(one.sandbox)

    def _look_at(self, one: Instance, other: Instance, *, is_behind_sidecar: bool) -> None:
        """Look at the hook of a container that runs, behind which one starts."""
        wishes = self.wishes
        is_lost = wishes.troubled_at >= other.started_at
        has_ended = (other.id, POST_START) in wishes.hooks or is_lost
        is_passed = (one.sandbox, other.name) in self._passed or one.sandbox in self._begun
        if self._waits(other) and not (is_passed if is_behind_sidecar else has_ended):
            self.broken(f"{one.name} of {one.uid} starts before the hook of {other.name}")

    def _waits(self, one: Instance) -> bool:
        """Return whether the hook of a container that runs has not succeeded, and has to."""
        wishes = self.wishes
        is_found = one.started_at <= wishes.killed_at
        if "exec" not in wishes.hook(one, POST_START) or not self.judges(unless=is_found):
            return False
        return not wishes.hooks.get((one.id, POST_START), False)


class PreStopFirst(Rule):
    """A container is asked to end once its preStop has ended, or has had the shortest grace that there is.

    If others have touched the pod since the container began, and within the longest grace after trouble,
    nothing is said: a call that got lost is a hook that failed.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._called_at: dict[str, float] = {}

    @override
    def calls_hook(self, one: Instance, field: str) -> None:
        if field == PRE_STOP:
            self._called_at[one.id] = self.wishes.now()

    @override
    def is_asked_to_stop(self, one: Instance, grace: float) -> None:
        wishes = self.wishes
        is_known = wishes.now() - wishes.troubled_at > CALM + LONGEST_GRACE
        if "exec" not in wishes.hook(one, PRE_STOP):
            return
        is_touched = wishes.touched.since(one.uid, one.started_at)
        if not self.judges(unless=is_touched or not is_known):
            return
        called_at = self._called_at.get(one.id, math.inf)
        has_ended = (one.id, PRE_STOP) in wishes.hooks
        if not has_ended and wishes.now() < called_at + self._shortest_grace(one) - 0.1:
            self.broken(f"{one.name} of {one.uid} is stopped before its preStop has ended")

    def _shortest_grace(self, one: Instance) -> float:
        """Return the shortest grace that the pod has, as a whole or after a probe that failed."""
        probes = (self.wishes.probe(one, what) for what in ("alive", "started"))
        graces = [each.get(GRACE) for each in (self.wishes.spec(one.uid), *probes)]
        return float(min(each for each in graces if each is not None))
