"""Lives that are over: what they still say and hold reaches nobody."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest

from kernel import (
    EndReason,
    Hook,
    Restart,
    Runtime,
    Steps,
    Strategy,
    SupervisorSpec,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    Diskette,
    Do,
    Gate,
    Player,
    Say,
    Troupe,
    crash,
    facts_of,
    key,
    raising,
)
from tests.support.kernel.stage import Stage, stage, stuck_stage

WEB, LOG = key("web"), key("log")


def test_what_an_abandoned_life_still_does_counts_no_more(
    troupe: Troupe, gate: Gate, logs: list[MutableMapping[str, Any]]
) -> None:
    def get_stuck_then_speak(player: Player) -> None:
        Diskette(troupe.diary, f"diskette {player.incarnation}").take(player)
        stuck_first(player)
        log.tell(Say(word=f"late words of {player.incarnation}"))

    stuck_first = OnlyTheFirst(gate)
    child = troupe.child(WEB, at_start=get_stuck_then_speak, start_deadline=Seconds(0.05))
    spec = SupervisorSpec(name="root", children=(troupe.child(LOG), child))
    with stuck_stage(spec, gate.reached) as play:
        log = play.port(LOG)
        # The first life does not finish its start: it is abandoned, and the next one starts.
        play.pass_time(0.05)
        assert facts_of([play.ended.next()]) == [("web", 1, EndReason.FAILED, Hook.STARTED)]
        play.advance(1.0)
        troupe.diary.expect("log starts 1", "web starts 1", "web starts 2")
        troupe.diary.expect("log hears late words of 2")

        # Then it comes back: its words are dead letters, it gives back what it held, and its end
        # changes nothing.
        gate.open()
        troupe.diary.expect("diskette 1 is back")
        play.settle()

        assert play.system.telemetry.dead_letters() == {("log", "told by an ended actor"): 1}
        assert play.describe()["web"].state == "running"
        assert len(play.endings) == 1
        assert [event["why"] for event in logs if event["event"] == "actor abandoned"] == [
            "did not start within 0.05 s"
        ]


def test_a_late_word_of_an_old_life_changes_nothing(troupe: Troupe, runtime: Runtime) -> None:
    lives: list[Player] = []
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB, at_start=lives.append),))
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)

        # The first life reports its end once more, as if it had been delayed for so long.
        first = lives[0]._life
        first.monitor.incarnation_ended(first, play.endings[0])
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "web starts 2")
        troupe.diary.expect_silence()
        assert len(play.endings) == 1


@pytest.mark.parametrize("seed", range(10))
def test_a_late_start_of_an_old_life_is_not_taken_for_that_of_the_next(
    troupe: Troupe, seed: int
) -> None:
    lives: list[Player] = []

    def say_it_again() -> None:
        # The word of the first life's start arrives while the second one starts.
        for life in lives:
            life._life.monitor.incarnation_started(life._life)

    web = troupe.child(WEB, when_made=say_it_again, at_start=lives.append)
    spec = SupervisorSpec(
        name="root", strategy=Strategy.REST_FOR_ONE, children=(web, troupe.child(LOG))
    )
    with stage(spec, Steps(seed)) as play:
        play.tell(WEB, crash())
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "log stops")
        troupe.diary.expect("web starts 2", "log starts 2")


class OnlyTheFirst:
    """Does an action for the first life alone."""

    def __init__(self, action: Gate) -> None:
        self._action = action

    def __call__(self, player: Player) -> None:
        if player.incarnation == 1:
            self._action(player)


def test_a_resource_of_an_abandoned_life_that_fails_to_close_is_only_logged(
    troupe: Troupe, gate: Gate, logs: list[MutableMapping[str, Any]]
) -> None:
    def hold_and_get_stuck(player: Player) -> None:
        player.resources.callback(raising(OSError("disk")), player)
        player.resources.callback(troupe.diary.tell, "about to close")
        gate(player)

    child = troupe.child(
        WEB,
        at_start=hold_and_get_stuck,
        start_deadline=Seconds(0.05),
        restart=Restart.TEMPORARY,
    )
    with stuck_stage(SupervisorSpec(name="root", children=(child,)), gate.reached) as play:
        play.pass_time(0.05)
        assert play.ended.next().abandoned
        gate.open()
        troupe.diary.expect("web starts 1", "about to close")

    event = next(event for event in logs if event["event"].startswith("resources of an aband"))
    assert event["error"] == "OSError: disk"


def test_what_is_told_to_a_life_ends_with_it(troupe: Troupe, play: Stage) -> None:
    def tell_myself_and_crash(player: Player) -> None:
        mine.append(player.me)
        player.me.tell(Say(word="from myself"))
        player.me.tell(Say(word="from myself again"))
        raise RuntimeError("a bug")

    mine: list[Any] = []
    play.tell_all(WEB, Do(action=tell_myself_and_crash), Say(word="from outside"))
    play.advance(1.0)
    mine[0].tell(Say(word="from a helper of the first life"))
    play.settle()

    troupe.diary.expect("web starts 1", "web starts 2", "web hears from outside")
    troupe.diary.expect_silence()
    assert play.system.telemetry.dead_letters() == {("web", "told to an ended life"): 3}


def test_what_a_life_tells_itself_is_handled_by_it(troupe: Troupe, play: Stage) -> None:
    play.tell(WEB, Do(action=lambda player: player.me.tell(Say(word="next step"))))

    troupe.diary.expect("web starts 1", "web hears next step")
