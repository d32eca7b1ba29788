"""Which command of a probe has the next turn."""

from actors.probes.command_turns import CommandTurns
from actors.probes.watched import ExecIsDue
from messages.pods import PodUid
from messages.probing import ProbeKey, ProbeKind
from messages.units import Seconds


def due(number: int, run: int | None = None) -> ExecIsDue:
    key = ProbeKey(PodUid(f"pod-{number}"), "main", ProbeKind.LIVENESS)
    its_run = number if run is None else run
    return ExecIsDue(
        key=key, container_id="c1", command=("true",), timeout=Seconds(1.0), run=its_run
    )


def test_a_command_that_is_due_again_keeps_its_place() -> None:
    turns = CommandTurns(1)
    for number in (1, 2):
        turns.add(due(number), Seconds(0.0))
    turns.add(due(1, run=7), Seconds(5.0))
    first = turns.next(Seconds(5.0))
    assert first is not None
    assert first[0].run == 7
    assert turns.next(Seconds(5.0)) is None
    assert turns.end(7, Seconds(6.5)) == (due(1, run=7), Seconds(1.5))
    assert turns.end(7, Seconds(7.0)) is None


def test_one_that_runs_does_not_wait_a_second_time() -> None:
    turns = CommandTurns(1)
    turns.add(due(1), Seconds(0.0))
    turns.next(Seconds(0.0))
    turns.add(due(1), Seconds(1.0))
    assert turns.described(Seconds(1.0)).waiting == 0
    assert turns.running == (due(1),)


def test_the_longest_wait_of_the_last_minute_is_told() -> None:
    turns = CommandTurns(10)
    for number, waited in ((1, 3.0), (2, 1.0), (3, 2.0)):
        turns.add(due(number), Seconds(100.0 - waited))
        turns.next(Seconds(100.0))
    assert turns.described(Seconds(100.0)).longest == 3.0
    turns.add(due(4), Seconds(170.0))
    assert turns.described(Seconds(170.5)).longest == 0.5
    turns.next(Seconds(170.5))
    assert turns.described(Seconds(170.5))[:2] == (4, 0)


def test_lateness_is_said_again_after_a_minute_without() -> None:
    turns = CommandTurns(10)
    said = []
    for number, now in ((1, 10.0), (2, 20.0), (3, 79.0), (4, 200.0)):
        turns.add(due(number), Seconds(now - 2.0))
        begun = turns.next(Seconds(now))
        assert begun is not None
        said.append(begun[1] is not None)
    assert said == [True, False, False, True]
