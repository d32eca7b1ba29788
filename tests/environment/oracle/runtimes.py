"""Rules of what hollow pods do, and of how a class of somebody's own is called."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from typing_extensions import override

from manifests.times import parse_span
from tests.environment.machine import Instance
from tests.environment.oracle.rule import Rule
from tests.environment.oracle.starts import IN_FLIGHT

AT_A_TIME = 32
"""Pods for which the class is called at the same time."""


class AsAnnotated(Rule):
    """A hollow container that ends by itself has run as long, and ends with what, as its pod says.

    Who is asked to stop ends within its grace. Not if a SIGKILL came within a tenth of a second after that:
    the stop may not be on record. Of a pod whose sandbox dies by itself the ends are not looked at.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._ends_by: dict[str, float] = {}
        self._asked_at: dict[str, float] = {}
        self._lost: set[str] = set()
        """Pods whose last change before a SIGKILL may be missing."""

    @override
    def loses(self, uid: str) -> None:
        self._lost.add(uid)

    @override
    def is_asked_to_stop(self, one: Instance, grace: float) -> None:
        now = self.wishes.now()
        if self._may_be_unknown(one):
            self._ends_by.pop(one.id, None)
        self._ends_by[one.id] = min(self._ends_by.get(one.id, math.inf), now + grace)
        self._asked_at[one.id] = now

    @override
    def ends(self, one: Instance) -> None:
        said = self.wishes.hollow(one.uid, one.name)
        if one.id in self._ends_by:
            is_late = one.finished_at > self._ends_by[one.id] + 0.1
            if self.judges(unless=self._may_be_unknown(one)) and is_late:
                self.broken(f"{one.name} of {one.uid} ends after its grace")
            return
        ran, dies = one.finished_at - one.started_at, self.wishes.hollow(one.uid, "")
        if not said or not self.judges(unless="sandbox-dies-after" in dies):
            return
        span = parse_span(said["run-for"]) if "run-for" in said else None
        if span is not None and not span.least - 0.1 <= ran <= span.most + 0.1:
            self.broken(f"{one.name} of {one.uid} has run for {ran:.1f} s, not {said['run-for']}")
        exits = said.get("exits", "0").split(",")
        wanted = exits[min(one.attempt, len(exits) - 1)]
        if str(one.exit_code) != wanted:
            self.broken(f"{one.name} of {one.uid} exits with {one.exit_code}, not {wanted}")

    def _may_be_unknown(self, one: Instance) -> bool:
        """Return whether a SIGKILL may have come before the last stop was on record."""
        was_killed = self.wishes.killed_at >= self._asked_at.get(one.id, math.inf)
        return was_killed and one.uid in self._lost


class Outlives(Rule):
    """What hollow pods were a tenth of a second before a SIGKILL of the agent, their records bring back."""

    @override
    def moves(self) -> None:
        for each in self.runtime.lost():
            if self.judges() and each:
                self.broken(each)


class CalledInOrder(Rule):
    """A class is asked how all pods are first. Calls about a pod come one by one, but for a shorter stop.

    At most 32 are under way. Nothing is run that nobody wants, but within a second after the agent knew, and
    while a source cannot be read.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._under_way: Counter[tuple[str, str]] = Counter()
        self._last_grace: dict[str, float] = {}
        self._is_observed = False

    @override
    def calls(self, method: str, uid: str, grace: float = 0.0) -> None:
        if not method:  # a process begins
            self._under_way.clear()
            self._is_observed = False
            return
        if uid and self.judges() and not self._is_observed:
            self.broken(f"{method} is called for {uid} before anything was observed")
        if method == "run":
            self._look_at_run(uid)
        others = [each for each, pod in +self._under_way if uid and pod == uid]
        ends_by = self.wishes.now() + grace
        is_shorter = others == ["stop"] and method == "stop" and ends_by < self._last_grace[uid]
        if others and not is_shorter:
            self.broken(f"{method} is called for {uid} while {others} have not returned")
        if method == "stop":
            self._last_grace[uid] = ends_by
        self._under_way[method, uid] += 1
        if sum(count for (_, pod), count in self._under_way.items() if pod) > AT_A_TIME:
            self.broken(f"more than {AT_A_TIME} calls about pods are under way")

    def _look_at_run(self, uid: str) -> None:
        wishes, now = self.wishes, self.wishes.now()
        is_wanted = uid not in wishes.unwanted_at
        since = wishes.known_since(wishes.unwanted_at.get(uid, now))
        if self.judges(unless=not is_wanted and now - since <= IN_FLIGHT) and not is_wanted:
            self.broken(f"{uid} is run though nobody wants it")

    @override
    def returns(self, method: str, uid: str) -> None:
        self._under_way[method, uid] -= 1
        self._is_observed |= method == "observe"
