"""RolloutKeeper: lets one container of a group restart at a time, and counts what change hooks did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, assert_never

import structlog
from typing_extensions import override

from kernel import Key, PooledActor, Port
from messages.change_hooks import (
    ChangeHookEnded,
    ChangeHooksDescribed,
    DescribeChangeHooks,
    HookResult,
    ReturnRollout,
    RolloutGranted,
    RolloutGroup,
    RolloutMessage,
    WantRollout,
)
from messages.events import EventType, ObjectReference, PostEvent
from messages.objects import ChangeAction
from messages.pods import PodUid
from messages.units import Seconds

LONGEST_TURN: Final = Seconds(600.0)
"""How long a container may take until it runs again, and is ready, before the next one goes on without it."""

_log = structlog.get_logger("pods")


ROLLOUT_KEEPER = Key[RolloutMessage]("rollouts")


@dataclass(slots=True)
class GroupTurns:
    """One group: who has its turn, and who waits, in the order in which they asked."""

    holder: WantRollout | None = None
    since: Seconds = Seconds(0.0)
    waiting: dict[tuple[PodUid, str], WantRollout] = field(default_factory=dict)


@dataclass(slots=True)
class RolloutTurns:
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


@dataclass(slots=True)
class RolloutMemory:
    """What outlives a life of the keeper of rollouts."""

    turns: RolloutTurns = field(default_factory=RolloutTurns)
    counts: Counter[tuple[ChangeAction, HookResult]] = field(default_factory=Counter)


class RolloutKeeper(PooledActor[RolloutMessage]):
    """Gives turns: never more than one container of a group has one.

    Owns: whose turn it is in each group, and who waits; what came of change hooks.
    Hears: ``RolloutMessage``.
    Tells: who wanted a turn ``RolloutGranted``; who asks ``ChangeHooksDescribed``; events ``PostEvent``.
    Fails when: it has a bug. The next life tells those who have a turn once more, and whoever does not want
    it any more returns it. A request that was lost is repeated by who made it.

    Order: as they asked, within a group. Repetition: every message may repeat. A turn that nobody returns,
    since a container does not get ready again, is over after ten minutes, and people are told.
    """

    def __init__(self, memory: RolloutMemory, events: Port[PostEvent] | None) -> None:
        self._memory = memory
        self._events = events

    @override
    def started(self) -> None:
        self._turns_are_late = self.alarm(self._end_late_turns)
        turns = self._memory.turns
        turns.granted = turns.holders()
        self._tell_granted()

    @override
    def receive(self, message: RolloutMessage, /) -> None:
        memory, now = self._memory, self.clock.monotonic()
        match message:
            case WantRollout():
                memory.turns.want(message, now)
            case ReturnRollout():
                memory.turns.give_back(message, now)
            case ChangeHookEnded(action=action, result=result):
                memory.counts[action, result] += 1
            case DescribeChangeHooks(reply_to=reply_to):
                counts, waiting = dict(memory.counts), memory.turns.waiting()
                reply_to.tell(ChangeHooksDescribed(counts=counts, waiting=waiting))
            case _:
                assert_never(message)
        self._tell_granted()

    def _tell_granted(self) -> None:
        turns = self._memory.turns
        granted, turns.granted = turns.granted, []
        for each in granted:
            told = RolloutGranted(group=each.group, pod=each.pod, container=each.container)
            each.reply_to.tell(told)
        self._turns_are_late.at(turns.next_due(LONGEST_TURN))

    def _end_late_turns(self) -> None:
        for late in self._memory.turns.overdue(self.clock.monotonic(), LONGEST_TURN):
            self._say_late(late)
        self._tell_granted()

    def _say_late(self, late: WantRollout) -> None:
        message = (
            f"Container {late.container} is not ready {LONGEST_TURN:g} s after its restart: "
            f"the next one of rollout group {late.group.name} goes on"
        )
        pod = f"{late.group.namespace}/{late.pod_name}"
        _log.warning("a restart takes too long", pod=pod, container=late.container, reason=message)
        if self._events is not None:
            regarding = ObjectReference(
                kind="Pod", name=late.pod_name, namespace=late.group.namespace, uid=late.pod
            )
            self._events.tell(
                PostEvent(
                    regarding=regarding,
                    type=EventType.WARNING,
                    reason="RolloutTakesTooLong",
                    message=message,
                )
            )


def _who(wanted: WantRollout) -> tuple[PodUid, str]:
    return wanted.pod, wanted.container
