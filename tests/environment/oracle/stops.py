"""Rules of what may be stopped, and how."""

from __future__ import annotations

import math
from typing import Any, Final

from typing_extensions import override

from tests.environment.machine import Instance
from tests.environment.oracle.deadlines import may_be_over
from tests.environment.oracle.rule import Rule, is_sidecar
from tests.environment.oracle.starts import IN_FLIGHT

LEAST: Final = 1.0
"""Seconds that a grace never falls below."""
LEAST_AFTER_HOOK: Final = 2.0


class StopWanted(Rule):
    """Nothing is stopped that is wanted as it is, unless others have touched its pod since it began.

    Of an edit the agent may not know for a second, and while a source cannot be read.
    A container whose preStop was called is stopped, also if the image is changed back meanwhile. A sidecar is
    once all regular containers of a pod have ended that does not restart them always, and so is a container
    whose liveness or startup probe has failed as often as it says, or whose postStart has failed. A postStart
    may count as failed if there was trouble since its container began. A pod is stopped that was active for
    as long as it may be.
    """

    @override
    def is_asked_to_stop(self, one: Instance, grace: float) -> None:
        is_wanted = self.wishes.wants(one.uid) and self.wishes.is_as_wanted(one)
        if self.judges(unless=is_wanted and self._may_be_stopped(one)) and is_wanted:
            self.broken(f"{one.name} of {one.uid} is stopped though it is wanted")

    def _may_be_stopped(self, one: Instance) -> bool:
        """Return whether there is a reason to stop what is wanted as it is."""
        wishes = self.wishes
        edited_at = wishes.edited_at.get(one.uid, 0.0)
        is_unknown = wishes.now() - wishes.known_since(edited_at) < IN_FLIGHT
        was_other = edited_at >= one.started_at and (is_unknown or has_hook(self, one))
        has_ended = self._is_sidecar_of_nobody(one) or wishes.has_failed(one)
        has_ended |= may_be_over(wishes, one.uid)
        is_touched = wishes.touched.since(one.uid, one.started_at)
        return was_other or has_ended or self._lacks_start(one) or is_touched

    def _lacks_start(self, one: Instance) -> bool:
        """Return whether the postStart of a container may have failed."""
        wishes = self.wishes
        is_lost = wishes.troubled_at >= one.started_at
        has_failed = not wishes.hooks.get((one.id, "postStart"), False)
        return "exec" in wishes.hook(one, "postStart") and (is_lost or has_failed)

    def _is_sidecar_of_nobody(self, one: Instance) -> bool:
        if not is_sidecar(self.wishes.container(one.uid, one.name)):
            return False
        spec = self.wishes.spec(one.uid)
        regular = {each["name"] for each in spec["containers"]}
        runs = any(each.uid == one.uid and each.name in regular for each in self.runtime.live())
        return not runs and spec.get("restartPolicy", "Always") != "Always"


class GraceShrinks(Rule):
    """The end of a container that is being stopped is never put off, but by the least grace.

    Nobody kills it before. Who got a SIGKILL stops anew what was being stopped, as the annotations of the
    containers say. A runtime is told whole seconds: one more is no more. What it begins late counts
    from when it was asked for.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._ends_by: dict[str, float] = {}
        self._asked_at: dict[str, float] = {}
        self._may_be_killed_at: dict[str, float] = {}

    @override
    def is_asked_to_stop(self, one: Instance, grace: float) -> None:
        now = one.asked_at or self.wishes.now()
        is_anew = self.wishes.killed_at >= self._asked_at.get(one.id, math.inf)
        if one.id not in self._ends_by or not self.judges(unless=is_anew):
            self._ends_by[one.id] = math.inf
        self._asked_at[one.id] = now
        least = LEAST_AFTER_HOOK if has_hook(self, one) else LEAST
        allowed = max(self._ends_by[one.id], now + least)
        if now + grace > allowed + 1.0:  # a runtime is told whole seconds
            self.broken(f"the grace of {one.name} of {one.uid} grows to {grace:.1f} s")
        self._ends_by[one.id] = min(allowed, now + grace)
        self._may_be_killed_at[one.id] = now + grace

    @override
    def is_killed(self, one: Instance) -> None:
        if self.judges() and self.wishes.now() < self._may_be_killed_at.get(one.id, 0.0):
            self.broken(f"{one.name} of {one.uid} is killed before its grace is over")


class AfterHook(Rule):
    """A container that had its preStop hook called has two seconds for SIGTERM.

    Hollow containers do not say what hooks they have: of a pod that is no more, the next agent knows none.
    If others have touched the pod since the container began, nothing is said.
    """

    @override
    def is_asked_to_stop(self, one: Instance, grace: float) -> None:
        since = self.wishes.unwanted_at.get(one.uid, self.wishes.now())
        is_known = self.runtime.knows_hooks or since > self.wishes.killed_at
        is_touched = self.wishes.touched.since(one.uid, one.started_at)
        is_exempt = is_touched or not is_known
        if has_hook(self, one) and self.judges(unless=is_exempt) and grace < LEAST_AFTER_HOOK:
            self.broken(f"{one.name} of {one.uid} has {grace:.1f} s after its hook")


class OthersStay(Rule):
    """What is no pod of ours stays as it is, until the power goes."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._before: dict[str, str] = {}

    @override
    def moves(self) -> None:
        now = dict(self.runtime.others())
        for each, state in self._before.items():
            if self.judges() and now.get(each) != state:
                self.broken(f"{each[-4:]}, which is nobody's, is {now.get(each, 'gone')} now")
        self._before = now

    @override
    def loses_power(self) -> None:
        self._before = dict(self.runtime.others())


def has_hook(rule: Rule, one: Instance) -> bool:
    """Return whether the container has a preStop hook."""
    lifecycle = rule.wishes.container(one.uid, one.name).get("lifecycle", {})
    return "preStop" in lifecycle
