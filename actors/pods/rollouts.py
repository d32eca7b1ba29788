"""Whose turn it is in each group of pods that restart one container at a time. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from messages.change_hooks import ReturnRollout, RolloutGroup, WantRollout
from messages.pods import PodUid
from messages.units import Seconds


@dataclass(slots=True)
class GroupTurns:
    """One group: who has its turn, and who waits, in the order in which they asked."""

    holder: WantRollout | None = None
    since: Seconds = Seconds(0.0)
    waiting: dict[tuple[PodUid, str], WantRollout] = field(default_factory=dict)


@dataclass(slots=True)
class RolloutLedger:
    """All groups in which somebody has a turn. ``granted`` collects who is to be told."""

    groups: dict[RolloutGroup, GroupTurns] = field(default_factory=dict)
    granted: list[WantRollout] = field(default_factory=list)

    def want(self, wanted: WantRollout, now: Seconds) -> None:
        """Put a container into the queue, unless it is in it or has its turn: that is told again."""
        turns = self.groups.setdefault(wanted.group, GroupTurns())
        if turns.holder is not None and _who(turns.holder) == _who(wanted):
            turns.holder = wanted
            self.granted.append(wanted)
            return
        turns.waiting[_who(wanted)] = wanted
        self._go_on(wanted.group, now)

    def give_back(self, returned: ReturnRollout, now: Seconds) -> None:
        """Give the turn to the next one, or take a container out of the queue."""
        turns = self.groups.get(returned.group)
        if turns is None:
            return
        who = (returned.pod, returned.container)
        turns.waiting.pop(who, None)
        if turns.holder is not None and _who(turns.holder) == who:
            turns.holder = None
        self._go_on(returned.group, now)

    def overdue(self, now: Seconds, longest: Seconds) -> list[WantRollout]:
        """Take the turns that have lasted too long. Return whose they were."""
        late = []
        for group, turns in tuple(self.groups.items()):
            if turns.holder is not None and turns.since + longest <= now:
                late.append(turns.holder)
                turns.holder = None
                self._go_on(group, now)
        return late

    def next_due(self, longest: Seconds) -> Seconds | None:
        """Return when the next turn will have lasted too long; None if nobody has one."""
        times = [each.since for each in self.groups.values() if each.holder is not None]
        return Seconds(min(times) + longest) if times else None

    def holders(self) -> list[WantRollout]:
        """Return who has a turn."""
        return [each.holder for each in self.groups.values() if each.holder is not None]

    def waiting(self) -> int:
        """Return how many wait for a turn."""
        return sum(len(each.waiting) for each in self.groups.values())

    def _go_on(self, group: RolloutGroup, now: Seconds) -> None:
        turns = self.groups[group]
        if turns.holder is not None:
            return
        first = next(iter(turns.waiting), None)
        if first is None:
            del self.groups[group]
            return
        turns.holder, turns.since = turns.waiting.pop(first), now
        self.granted.append(turns.holder)


def _who(wanted: WantRollout) -> tuple[PodUid, str]:
    return wanted.pod, wanted.container
