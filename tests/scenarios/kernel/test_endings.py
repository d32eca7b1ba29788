"""Endings: whatever ends a life, it is one fact, and the others live on."""

from __future__ import annotations

import gc
import weakref
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest
from typing_extensions import override

from kernel import (
    EndReason,
    Hook,
    Restart,
    Runtime,
    Steps,
    SupervisorSpec,
    Threads,
)
from kernel.incarnation import Executor, Incarnation
from messages.units import Seconds
from tests.support.kernel.players import (
    ANYTHING,
    STOP_YOURSELF,
    Diskette,
    Do,
    FailsAtFirst,
    Player,
    Say,
    Troupe,
    crash,
    facts_of,
    key,
    raising,
)
from tests.support.kernel.stage import Stage, stage

WEB, LOG = key("web"), key("log")


def failing_resource(error: BaseException) -> Do:
    """Return a message that gives its handler a resource that cannot be closed."""
    return Do(action=lambda player: player.resources.callback(raising(error), player))


@ANYTHING
def test_what_a_handler_raises_never_stops_the_others(
    troupe: Troupe, runtime: Runtime, error: BaseException
) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB), troupe.child(LOG)))
    with stage(spec, runtime) as play:
        play.tell(WEB, crash(error))
        play.tell(LOG, Say(word="still here"))
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "log hears still here", "web starts 2")
        assert [ended.name for ended in play.endings] == ["web"]


@ANYTHING
def test_what_a_factory_raises_is_an_ending(
    troupe: Troupe, runtime: Runtime, error: BaseException
) -> None:
    child = troupe.child(WEB, when_made=FailsAtFirst(1, error))
    with stage(SupervisorSpec(name="root", children=(child, troupe.child(LOG))), runtime) as play:
        assert facts_of(play.endings) == [("web", 1, EndReason.FAILED, Hook.FACTORY)]
        play.advance(1.0)

        troupe.diary.expect("log starts 1", "web starts 2")


@ANYTHING
def test_what_a_start_raises_is_an_ending(
    troupe: Troupe, runtime: Runtime, error: BaseException
) -> None:
    child = troupe.child(WEB, at_start=FailsAtFirst(1, error))
    with stage(SupervisorSpec(name="root", children=(child, troupe.child(LOG))), runtime) as play:
        assert facts_of(play.endings) == [("web", 1, EndReason.FAILED, Hook.STARTED)]
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "web starts 2")


@ANYTHING
def test_what_a_stop_raises_is_an_ending(
    troupe: Troupe, runtime: Runtime, error: BaseException
) -> None:
    child = troupe.child(WEB, at_stop=FailsAtFirst(1, error))
    with stage(SupervisorSpec(name="root", children=(child, troupe.child(LOG))), runtime) as play:
        play.tell(WEB, STOP_YOURSELF)
        assert facts_of(play.endings) == [("web", 1, EndReason.FAILED, Hook.STOPPING)]
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "web stops", "web starts 2")


@ANYTHING
def test_what_closing_a_resource_raises_is_an_ending(
    troupe: Troupe, runtime: Runtime, error: BaseException
) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB), troupe.child(LOG)))
    with stage(spec, runtime) as play:
        play.tell_all(WEB, failing_resource(error), STOP_YOURSELF)
        assert facts_of(play.endings) == [("web", 1, EndReason.FAILED, Hook.RESOURCES)]
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "log starts 1", "web stops", "web starts 2")


def test_a_crash_is_told_even_when_a_resource_fails_to_close_after_it(play: Stage) -> None:
    play.tell_all(WEB, failing_resource(OSError("disk")), crash(LookupError("the cause")))

    assert [ended.error for ended in play.endings] == ["LookupError: the cause"]


class Unstartable(Executor):
    """Has no thread to give."""

    @override
    def start(self, incarnation: Incarnation) -> NoReturn:
        raise RuntimeError("can't start new thread")

    @override
    def wake(self, incarnation: Incarnation) -> NoReturn:
        raise AssertionError("nothing was started")


@dataclass
class ShortOfThreads(Steps):
    """Has no thread for the first one that wants one."""

    left: int = 1

    def __post_init__(self) -> None:
        super().__init__()

    @override
    def executor(self, *, pooled: bool) -> Executor:
        self.left -= 1
        return Unstartable() if self.left >= 0 else super().executor(pooled=pooled)


def test_a_thread_that_cannot_start_is_an_ending(troupe: Troupe) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB), troupe.child(LOG)))
    with stage(spec, ShortOfThreads()) as play:
        assert facts_of(play.endings) == [("web", 1, EndReason.FAILED, Hook.THREAD)]
        play.advance(1.0)

        troupe.diary.expect("log starts 1", "web starts 2")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (STOP_YOURSELF, EndReason.NORMAL),
        (crash(), EndReason.FAILED),
    ],
    ids=["stops itself", "crashes"],
)
def test_an_ending_is_told_once(play: Stage, message: Do, reason: EndReason) -> None:
    play.tell(WEB, message)

    assert [(ended.name, ended.reason) for ended in play.endings] == [("web", reason)]


def test_a_stop_ordered_by_the_supervisor_is_a_shutdown(play: Stage) -> None:
    assert play.stop() == 0

    assert facts_of(play.endings) == [
        ("web", 1, EndReason.SHUTDOWN, None),
        ("root", 1, EndReason.SHUTDOWN, None),
    ]


def test_an_ending_is_text_and_keeps_nothing_of_the_dead_actor_in_memory(
    troupe: Troupe, runtime: Runtime
) -> None:
    bodies: list[weakref.ref[Player]] = []
    child = troupe.child(WEB, at_start=lambda player: bodies.append(weakref.ref(player)))
    with stage(SupervisorSpec(name="root", children=(child,)), runtime) as play:
        play.port(WEB).tell(Do(action=keep_a_timer_and_crash))
        play.settle()
        play.advance(1.0)
        gc.collect()

        # The first life is gone, with what it held; its ending is still here and says why.
        assert bodies[0]() is None
        assert play.endings[0].error == "RuntimeError: a bug"
        assert "keep_a_timer_and_crash" in play.endings[0].details


def keep_a_timer_and_crash(player: Player) -> NoReturn:
    """Fail with a deadline in the future."""
    player.after(Seconds(3600.0), Say(word="never"))
    raise RuntimeError("a bug")


def test_a_long_error_is_cut_for_the_log(play: Stage) -> None:
    play.tell(WEB, crash(ValueError("x\n" * 1000)))

    assert len(play.endings[0].error) == 300
    assert "\n" not in play.endings[0].error


@pytest.mark.parametrize(
    ("message", "goodbye"),
    [
        (STOP_YOURSELF, ["web stops", "diskette is back"]),
        # After a crash nothing of the state is trusted: there is no goodbye.
        (crash(), ["diskette is back"]),
        (crash(SystemExit(1)), ["diskette is back"]),
    ],
    ids=["stops itself", "crashes", "exits"],
)
def test_resources_are_given_back_at_every_ending(
    troupe: Troupe, runtime: Runtime, message: Do, goodbye: list[str]
) -> None:
    child = troupe.child(WEB, at_start=Diskette(troupe.diary).take, restart=Restart.TEMPORARY)
    with stage(SupervisorSpec(name="root", children=(child,)), runtime) as play:
        play.tell(WEB, message)

        troupe.diary.expect("web starts 1", *goodbye)
        troupe.diary.expect_silence()


def test_a_start_that_fails_gives_back_what_it_had_taken(troupe: Troupe, runtime: Runtime) -> None:
    def take_and_fail(player: Player) -> None:
        Diskette(troupe.diary).take(player)
        raise RuntimeError("no more")

    child = troupe.child(WEB, at_start=take_and_fail, restart=Restart.TEMPORARY)
    with stage(SupervisorSpec(name="root", children=(child,)), runtime):
        troupe.diary.expect("web starts 1", "diskette is back")


def test_an_observer_that_fails_does_not_hold_up_the_restart(troupe: Troupe, play: Stage) -> None:
    play.system.observe_endings(FailsAtFirst(1))
    play.tell(WEB, crash())
    play.advance(1.0)

    troupe.diary.expect("web starts 1", "web starts 2")


def test_a_slow_handler_is_reported(troupe: Troupe, logs: list[MutableMapping[str, Any]]) -> None:
    # The limit is a second of real time, more than any handler takes on a loaded machine.
    def account(player: Player) -> None:
        player._life._account(1.5, Say(word="secret"))

    with stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), Threads()) as play:
        play.tell(WEB, Do(action=account))

    slow = next(event for event in logs if event["event"] == "slow handler")
    assert (slow["actor"], slow["message"], slow["seconds"]) == ("web", "Say", 1.5)
