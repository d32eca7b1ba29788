"""Addresses: where messages go before, between and after the lives of an actor."""

from __future__ import annotations

import pytest

from kernel import (
    ActorCrashedError,
    ActorDeadError,
    AskInsideActorError,
    AskTimeoutError,
    ChildSpec,
    DynamicSpec,
    Key,
    Restart,
    Runtime,
    StartChild,
    Steps,
    StopChild,
    SupervisorSpec,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    STOP_YOURSELF,
    Action,
    Do,
    Gate,
    Line,
    Player,
    Say,
    Troupe,
    crash,
    key,
    repeat,
)
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage

WEB, LOG = key("web"), key("log")


def test_what_is_told_before_the_actor_exists_is_handled_first(
    troupe: Troupe, runtime: Runtime
) -> None:
    # The address exists from its first mention on, so that actors can be wired in any order.
    play = Stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), runtime)
    play.port(WEB).tell(Say(word="early"))

    play.start()
    play.tell(WEB, Say(word="late"))

    troupe.diary.expect("web starts 1", "web hears early", "web hears late")
    assert play.stop() == 0


def test_an_address_survives_a_crash_of_its_actor(troupe: Troupe, play: Stage) -> None:
    port = play.port(WEB)
    port.tell(crash())
    play.advance(1.0)

    # Whoever held the port tells the next life with it.
    port.tell(Say(word="hello"))
    play.settle()

    troupe.diary.expect("web starts 1", "web starts 2", "web hears hello")


def test_an_address_survives_a_restart_of_its_supervisor(troupe: Troupe, runtime: Runtime) -> None:
    inner = SupervisorSpec(name="inner", children=(troupe.child(WEB),), intensity=0)
    with stage(SupervisorSpec(name="root", children=(inner,)), runtime) as play:
        port = play.port(WEB)
        port.tell(crash())
        port.tell(Say(word="kept"))
        play.advance(1.0)

        assert play.describe()["inner"].restarts == 1
        troupe.diary.expect("web starts 1", "web starts 2", "web hears kept")


def test_an_address_closes_when_its_actor_is_gone_for_good(
    troupe: Troupe, runtime: Runtime
) -> None:
    child = troupe.child(WEB, restart=Restart.TRANSIENT)
    with stage(SupervisorSpec(name="root", children=(child,)), runtime) as play:
        play.tell(WEB, STOP_YOURSELF)
        play.tell(WEB, Say(word="anybody?"))

        troupe.diary.expect("web starts 1", "web stops")
        troupe.diary.expect_silence()
        assert play.system.telemetry.dead_letters() == {("web", "address closed"): 1}


def test_a_question_is_answered_from_outside(play: Stage) -> None:
    assert play.ask(WEB, repeat("hello")) == "hello"


def test_an_actor_that_asks_fails(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB), troupe.child(LOG)))
    with stage(spec, runtime) as play:

        def ask(_player: Player) -> None:
            play.ask(LOG, repeat("hello"))

        play.tell(WEB, Do(action=ask))

        assert play.endings[0].name == "web"
        assert "AskInsideActorError" in play.endings[0].error


@pytest.mark.parametrize("way", ["fence", "describe"])
def test_an_actor_that_waits_for_the_kernel_fails(
    troupe: Troupe, runtime: Runtime, way: str
) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB), troupe.child(LOG)))
    with stage(spec, runtime) as play:
        ways: dict[str, Action] = {
            "fence": lambda _player: play.system.fence(play.port(LOG)),
            "describe": lambda _player: play.system.describe(),
        }
        play.tell(WEB, Do(action=ways[way]))

        assert AskInsideActorError.__name__ in play.endings[0].error


def test_a_failing_handler_answers_who_asked_and_counts_as_a_crash(
    troupe: Troupe, play: Stage
) -> None:
    with pytest.raises(LookupError, match="no such page"):
        play.ask(WEB, lambda _reply_to: crash(LookupError("no such page")))
    play.advance(1.0)

    assert play.describe()["web"].restarts == 1
    troupe.diary.expect("web starts 1", "web starts 2")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_who_asked_is_not_ended_by_what_ended_the_actor(
    troupe: Troupe, runtime: Runtime, error: BaseException
) -> None:
    with (
        stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), runtime) as play,
        pytest.raises(ActorCrashedError, match=type(error).__name__),
    ):
        play.ask(WEB, lambda _reply_to: crash(error))


def test_closing_an_address_answers_the_questions_that_wait(troupe: Troupe) -> None:
    # The actor fails, and its only question waits for a life that does not come.
    child = troupe.child(WEB, restart=Restart.TEMPORARY)
    with stage(SupervisorSpec(name="root", children=(child,)), Steps()) as play:
        play.port(WEB).tell(crash())
        with pytest.raises(ActorDeadError, match="web"):
            play.ask(WEB, repeat("hello"))

        # A question to a closed address is answered at once.
        with pytest.raises(ActorDeadError, match="web"):
            play.ask(WEB, repeat("hello"))


def test_a_question_that_nobody_answers_ends_at_its_deadline(troupe: Troupe, play: Stage) -> None:
    with pytest.raises(AskTimeoutError, match=r"web did not answer within 0\.01 s"):
        play.system.ask(play.port(WEB), lambda _reply_to: Say(word="what?"), Seconds(0.01))

    troupe.diary.expect("web starts 1", "web hears what?")


def test_a_tree_that_does_not_answer_is_not_described(live_play: Stage, gate: Gate) -> None:
    live_play.system.control.post(gate)

    with pytest.raises(AskTimeoutError, match="the control thread did not answer"):
        live_play.system.describe(Seconds(0.01))
    gate.open()


def test_only_the_first_answer_counts(play: Stage) -> None:

    def twice(reply_to: object) -> Do:
        assert hasattr(reply_to, "tell")
        return Do(action=lambda _player: (reply_to.tell("first"), reply_to.tell("second")))

    assert play.ask(WEB, twice) == "first"


def test_an_answer_and_a_crash_after_it_leave_the_answer(play: Stage) -> None:

    def answer_and_crash(reply_to: object) -> Do:
        def action(_player: Player) -> None:
            assert hasattr(reply_to, "tell")
            reply_to.tell("done")
            raise RuntimeError("a bug")

        return Do(action=action)

    assert play.ask(WEB, answer_and_crash) == "done"


def test_only_the_address_of_an_actor_can_be_asked(troupe: Troupe, runtime: Runtime) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB),))
    with stage(spec, runtime) as play, pytest.raises(TypeError, match="Probe cannot be asked"):
        play.system.ask(Probe[str](), lambda _reply_to: "hello")


def test_a_message_told_right_after_its_start_was_asked_for_is_kept(
    troupe: Troupe, runtime: Runtime
) -> None:
    # The child of that path is in backoff: when it is stopped its address closes at once.
    pool: Key[object] = Key("pool")
    spec = SupervisorSpec(name="root", children=(DynamicSpec(key=pool),))
    with stage(spec, runtime) as play:
        child: ChildSpec[Line] = troupe.child(WEB)
        play.tell(pool, StartChild(spec=child))
        play.tell(WEB, crash())
        assert play.state(WEB) == "backoff"

        # Stopped and started again in one breath, and told at once.
        play.port(pool).tell(StopChild(path="web"))
        play.port(pool).tell(StartChild(spec=child))
        play.tell(WEB, Say(word="welcome back"))

        troupe.diary.expect("web starts 1", "web starts 2", "web hears welcome back")


def test_a_port_held_since_before_reaches_the_child_that_was_started_again(
    troupe: Troupe, runtime: Runtime
) -> None:
    pool: Key[object] = Key("pool")
    with stage(SupervisorSpec(name="root", children=(DynamicSpec(key=pool),)), runtime) as play:
        play.tell(pool, StartChild(spec=troupe.child(WEB)))
        port = play.port(WEB)
        play.tell(pool, StopChild(path="web"))
        port.tell(Say(word="nobody hears this"))

        play.tell(pool, StartChild(spec=troupe.child(WEB)))
        port.tell(Say(word="hello"))
        play.settle()

        troupe.diary.expect("web starts 1", "web stops", "web starts 2", "web hears hello")
        assert play.system.telemetry.dead_letters() == {("web", "address closed"): 1}
