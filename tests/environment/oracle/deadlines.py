"""The rule of how long a pod may be active."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from typing_extensions import override

from tests.environment.machine import Instance
from tests.environment.oracle.rule import Rule, Wishes
from tests.environment.oracle.shown import TERMINAL
from tests.environment.oracle.starts import CALM, IN_FLIGHT

EXCEEDED: Final = "DeadlineExceeded"
ROUNDED: Final = 1.0
"""Seconds by which a start time is shown too early."""
ENDS_WITHIN: Final = 5.0
"""Seconds beside its grace within which a pod ends: two are left after a hook."""


class Deadline(Rule):
    """A pod that was active for as long as it may be starts nothing more, and fails with ``DeadlineExceeded``
    when its grace is over, and not before that time.

    It may have ended before. Within a minute after trouble, and while the runtime is away, it may be late.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._over_at: dict[str, float] = {}
        """When pods were active for as long as they may be."""

    @override
    def shows(self, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        for uid, status in statuses.items():
            over_at = self._over_at[uid] = _over_at(self.wishes, uid, status)
            if over_at != math.inf:
                self._look_at(uid, status, late=self.wishes.now() - over_at)

    def _look_at(self, uid: str, status: Mapping[str, Any], late: float) -> None:
        has_failed = status.get("reason") == EXCEEDED
        if has_failed and self.judges() and late < 0:
            self.broken(f"{uid} fails {-late:.1f} s before its deadline")
        grace = self.wishes.spec(uid)["terminationGracePeriodSeconds"]
        is_late = late > grace + ENDS_WITHIN and status["phase"] not in TERMINAL
        if is_late and self.judges(unless=not self._is_calm(uid)):
            self.broken(f"{uid} is active {late:.1f} s after its deadline")

    @override
    def starts(self, one: Instance) -> None:
        late = (one.asked_at or self.wishes.now()) - self._over_at.get(one.uid, math.inf)
        is_limited = late > -math.inf and self.judges(unless=not self._is_calm(one.uid))
        if is_limited and late > ROUNDED + IN_FLIGHT:
            self.broken(f"{one.name} of {one.uid} starts {late:.1f} s after its deadline")

    def _is_calm(self, uid: str) -> bool:
        wishes = self.wishes
        is_calm = wishes.now() - max(wishes.troubled_at, wishes.killed_at) > CALM
        return is_calm and wishes.wants(uid) and self.runtime.is_there


def may_be_over(wishes: Wishes, uid: str) -> bool:
    """Return whether a pod may have been active for as long as it may be, since it is wanted."""
    return wishes.now() >= wishes.wanted_since.get(uid, math.inf) + _limit(wishes, uid) - ROUNDED


def _over_at(wishes: Wishes, uid: str, status: Mapping[str, Any]) -> float:
    """Return when a pod was active for as long as it may be. Infinity if there is no such time."""
    if "startTime" not in status:
        return math.inf
    return datetime.fromisoformat(status["startTime"]).timestamp() + _limit(wishes, uid)


def _limit(wishes: Wishes, uid: str) -> float:
    return float(wishes.spec(uid).get("activeDeadlineSeconds", math.inf))
