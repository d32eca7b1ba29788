"""The probes of hollow containers: what they answer, and when what counts changes. Pure: the time is told.

Nothing is connected to. An answer follows from how long the container runs, by its annotations. So a probe
whose answers stay as they are needs no step: its answers are counted when somebody asks for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Final, NamedTuple, TypeAlias

from actors.probes.specs import Count, begin, counted
from actors.probes.watching import DropProbe, OnlyProbes, ProbeIs, ProbeRemark, RestProbe, RunProbe
from manifests.handlers import ExecAction, UnusableHandler
from messages.probing import (
    AnswersCounted,
    ProbeAnswer,
    ProbeKey,
    ProbeKind,
    ProbeOutcome,
    ProbeResult,
)
from messages.units import Instant, Seconds, Timestamp
from runtimes.hollow.commands import carried_out
from runtimes.hollow.inventory import ContainerRecord, ProbeTicks
from runtimes.hollow.machine import HollowMachine

HollowProbesMessage: TypeAlias = RunProbe | RestProbe | DropProbe | OnlyProbes

_SUCCESS: Final = ProbeOutcome(ProbeResult.SUCCESS)
_ALMOST: Final = 1e-6
"""No tick is due twice because of what floats cannot say."""


class ProbeTold(NamedTuple):
    """What is told of one probe."""

    watch: RunProbe
    told: ProbeIs


@dataclass(slots=True, eq=False)
class HollowProbe:
    """One probe, and how it stands."""

    watch: RunProbe
    count: Count
    next_at: float
    """When the next answer comes that may be another one, in seconds since the container started."""
    answered_at: float = 0.0
    """When the last answer came that was looked at. Those since then were like it."""
    rests: bool = False
    successes: int = 0
    failures: int = 0
    unknowns: int = 0
    last: ProbeOutcome | None = None
    last_at: Timestamp | None = None
    step: ProbeTicks | None = None


class HollowProbes:
    """All probes of hollow containers. One life of the actor at a time uses it."""

    def __init__(self) -> None:
        self._probes: dict[ProbeKey, HollowProbe] = {}
        self._told: list[ProbeTold] = []

    def take(self, message: HollowProbesMessage, machine: HollowMachine, now: Instant) -> None:
        """Take what is to be probed."""
        match message:
            case RunProbe():
                self._watch(message, machine, now)
            case RestProbe(key=key):
                self._rest(key, machine, now)
            case DropProbe(key=key):
                self._rest(key, machine, now)
                self._probes.pop(key, None)
            case OnlyProbes(keys=keys):
                for key in [each for each in self._probes if each not in keys]:
                    self._rest(key, machine, now)
                    del self._probes[key]

    def tick(self, step: ProbeTicks, machine: HollowMachine, at: Instant) -> None:
        """Have the answer come that is due."""
        probe = self._probes.get(step.key)
        if probe is not None and probe.step is step:
            probe.step = None
            record = machine.inventory.container(probe.watch.target.container_id)
            if record is not None and record.is_running:
                self._answer(probe, machine, record, at)
                self._go_on(probe, machine, record, at)

    def told(self) -> list[ProbeTold]:
        """Return what is to be told, once."""
        told, self._told = self._told, []
        return told

    def described(self, machine: HollowMachine, now: Instant) -> dict[ProbeKey, AnswersCounted]:
        """Return the last answers of all probes, counted until now."""
        found = {}
        for key, probe in self._probes.items():
            if probe.last is not None and probe.last_at is not None:
                last, at = probe.last, probe.last_at
                found[key] = self._described(probe, last, at, machine, now)
        return found

    # --- inside ----------------------------------------------------------------------------------------

    def _watch(self, watch: RunProbe, machine: HollowMachine, now: Instant) -> None:
        probe = self._probes.get(watch.key)
        if probe is None or probe.rests or not _is_same(probe, watch):
            self._begin(watch, machine, now)
            probe = self._probes[watch.key]
        probe.watch = watch
        self._tell(probe, None)

    def _begin(self, watch: RunProbe, machine: HollowMachine, now: Instant) -> None:
        before = self._probes.get(watch.key)
        initial = watch.initial if before is None else _initial(before, watch)
        self._rest(watch.key, machine, now)
        spec, began = watch.spec, watch.target.started_at
        first = max(float(spec.initial_delay), now.wall - began)
        probe = HollowProbe(watch, begin(spec.kind, initial), first)
        if before is not None:
            probe.successes, probe.failures = before.successes, before.failures
            probe.unknowns = before.unknowns
        self._probes[watch.key] = probe
        record = machine.inventory.container(watch.target.container_id)
        if record is not None and record.is_running:
            self._plan(probe, machine, now)

    def _rest(self, key: ProbeKey, machine: HollowMachine, now: Instant) -> None:
        probe = self._probes.get(key)
        if probe is not None and not probe.rests:
            _count_silent(probe, _silent(probe, machine, now))
            machine.schedule.cancel(probe.step)
            probe.step, probe.rests = None, True

    def _answer(
        self, probe: HollowProbe, machine: HollowMachine, record: ContainerRecord, at: Instant
    ) -> None:
        _count_silent(probe, _silent(probe, machine, at, with_next=False))
        outcome = outcome_at(machine, record, probe.watch, probe.next_at)
        probe.answered_at = probe.next_at
        before, was = probe.count, probe.last
        probe.count = counted(before, outcome.result, probe.watch.spec.answers_needed)
        probe.last, probe.last_at = outcome, at.wall
        _count(probe, outcome.result, 1)
        is_news = outcome.result is not ProbeResult.SUCCESS and outcome != was
        if probe.count.result is not before.result or is_news:
            self._tell(probe, ProbeRemark(outcome, probe.count.in_a_row, 1, at.wall))

    def _go_on(
        self, probe: HollowProbe, machine: HollowMachine, record: ContainerRecord, at: Instant
    ) -> None:
        """Plan the next answer that may change anything, and count those before it."""
        period, answered = float(probe.watch.spec.period), probe.next_at
        following = answered + period
        if probe.last is not None and _is_settled(probe.count, probe.last):
            change = min(
                (each for each in _changes(machine, record, answered) if each > answered),
                default=inf,
            )
            skipped = (
                inf if change == inf else max(0, ceil((change - following) / period - _ALMOST))
            )
            if skipped == inf:
                return  # it goes on like this
            following += skipped * period
        if not probe.count.is_held:
            probe.next_at = following
            self._plan(probe, machine, at)

    def _plan(self, probe: HollowProbe, machine: HollowMachine, now: Instant) -> None:
        if probe.count.is_held:
            return
        wait = probe.watch.target.started_at + probe.next_at - now.wall
        probe.step = ProbeTicks(Seconds(now.monotonic + max(0.0, wait)), probe.watch.key)
        machine.schedule.add(probe.step)

    def _tell(self, probe: HollowProbe, remark: ProbeRemark | None) -> None:
        watch = probe.watch
        told = ProbeIs(
            key=watch.key,
            container_id=watch.target.container_id,
            result=probe.count.result,
            is_confirmed=probe.count.last is not None,
            remark=remark,
        )
        self._told.append(ProbeTold(watch, told))

    def _described(
        self,
        probe: HollowProbe,
        last: ProbeOutcome,
        at: Timestamp,
        machine: HollowMachine,
        now: Instant,
    ) -> AnswersCounted:
        period, more = float(probe.watch.spec.period), _silent(probe, machine, now)
        numbers = Counter(
            {ProbeResult.SUCCESS: probe.successes, ProbeResult.FAILURE: probe.failures}
        )
        numbers[ProbeResult.UNKNOWN] = probe.unknowns
        numbers[last.result] += more
        answer = ProbeAnswer(
            key=probe.watch.key,
            container_id=probe.watch.target.container_id,
            result=probe.count.result,
            in_a_row=probe.count.in_a_row + more,
            is_held=probe.count.is_held,
            last=last,
            at=Timestamp(at + more * period),
            took=Seconds(0.0),
            successes=numbers[ProbeResult.SUCCESS],
            failures=numbers[ProbeResult.FAILURE],
            unknowns=numbers[ProbeResult.UNKNOWN],
        )
        return AnswersCounted(answer, (numbers.total(),), 0.0)


def outcome_at(
    machine: HollowMachine, record: ContainerRecord, watch: RunProbe, elapsed: float
) -> ProbeOutcome:
    """Return what a probe answers when its container has run for ``elapsed`` seconds."""
    behaviour, kind = record.behaviour, watch.spec.kind
    elapsed += _ALMOST
    if isinstance(watch.spec.handler, UnusableHandler):
        return ProbeOutcome(ProbeResult.UNKNOWN, watch.spec.handler.why)
    hangs = behaviour.hangs_after
    if hangs is not None and elapsed >= machine.drawn_for(record, "hangs_after"):
        return _failure(f"hollow: no answer within {watch.spec.timeout:g} s, it hangs")
    if kind is ProbeKind.STARTUP and elapsed < machine.drawn_for(record, "started_after"):
        return _failure("hollow: not started yet")
    if kind is ProbeKind.READINESS:
        if elapsed < machine.drawn_for(record, "ready_after"):
            return _failure("hollow: not ready yet")
        if _is_unready(machine, record, elapsed):
            return _failure("hollow: not ready any more")
    return _outcome_of_command(record, watch)


def _outcome_of_command(record: ContainerRecord, watch: RunProbe) -> ProbeOutcome:
    if not isinstance(watch.spec.handler, ExecAction):
        return _SUCCESS
    takes, code = carried_out(watch.spec.handler.command, record.behaviour.exec_exit_code)
    if takes > watch.spec.timeout:
        return _failure(f"the command did not end within {watch.spec.timeout:g} s")
    return _failure(f"the command exited with code {code}") if code else _SUCCESS


def _is_unready(machine: HollowMachine, record: ContainerRecord, elapsed: float) -> bool:
    """Return whether the readiness probe fails, for good or until it succeeds again."""
    behaviour = record.behaviour
    if behaviour.unready_after is None:
        return False
    ready = machine.drawn_for(record, "unready_after")
    if behaviour.unready_for is None:
        return elapsed >= ready
    turn = ready + machine.drawn_for(record, "unready_for")
    return turn > 0 and elapsed % turn >= ready


def _changes(machine: HollowMachine, record: ContainerRecord, elapsed: float) -> Iterator[float]:
    """Yield when answers may become others: the next moment after ``elapsed`` is among them."""
    behaviour = record.behaviour
    yield machine.drawn_for(record, "started_after")
    yield machine.drawn_for(record, "ready_after")
    if behaviour.hangs_after is not None:
        yield machine.drawn_for(record, "hangs_after")
    if behaviour.unready_after is not None:
        ready = machine.drawn_for(record, "unready_after")
        unready = machine.drawn_for(record, "unready_for") if behaviour.unready_for else 0.0
        turns = floor(elapsed / (ready + unready)) if unready else 0
        for turn in range(turns, turns + 2):
            began = turn * (ready + unready)
            yield from (began, began + ready)


def _is_same(probe: HollowProbe, watch: RunProbe) -> bool:
    """Return whether a probe goes on with what ``watch`` says."""
    before = probe.watch
    if (before.spec, before.target) != (watch.spec, watch.target):
        return False
    is_confirmed = probe.count.last is not None
    return is_confirmed or watch.initial in {None, probe.count.result}


def _is_settled(count: Count, last: ProbeOutcome) -> bool:
    """Return whether more answers like the last one change nothing."""
    if last.result is ProbeResult.UNKNOWN:
        return True
    is_failure = last.result is ProbeResult.FAILURE
    return (count.result is ProbeResult.FAILURE) == is_failure and (
        count.result is not ProbeResult.UNKNOWN
    )


def _initial(before: HollowProbe, watch: RunProbe) -> ProbeResult | None:
    """Return what counts at first: what the probe found out of this very instance, unless it has rested."""
    is_same = before.watch.target.container_id == watch.target.container_id
    is_known = is_same and before.count.last is not None and not before.rests
    return before.count.result if is_known else watch.initial


def _silent(
    probe: HollowProbe, machine: HollowMachine, now: Instant, *, with_next: bool = True
) -> int:
    """Return how many answers came since the last one that was looked at. They were like it."""
    record = machine.inventory.container(probe.watch.target.container_id)
    is_running = record is not None and record.is_running
    if probe.last is None or probe.rests or probe.count.is_held or not is_running:
        return 0
    until = now.wall - probe.watch.target.started_at
    if probe.step is not None or not with_next:
        until = min(until, probe.next_at - float(probe.watch.spec.period))
    return max(0, floor((until - probe.answered_at) / float(probe.watch.spec.period) + _ALMOST))


def _count_silent(probe: HollowProbe, times: int) -> None:
    if probe.last is not None and times:
        _count(probe, probe.last.result, times)


def _count(probe: HollowProbe, result: ProbeResult, times: int) -> None:
    if result is ProbeResult.FAILURE:
        probe.failures += times
    elif result is ProbeResult.UNKNOWN:
        probe.unknowns += times
    else:
        probe.successes += times


def _failure(text: str) -> ProbeOutcome:
    return ProbeOutcome(ProbeResult.FAILURE, text)
