"""Mailboxes: what is lost, what is kept, what overtakes."""

from __future__ import annotations

import pytest

from kernel import Key, Restart, Runtime, Steps, SupervisorSpec, Threads
from tests.support.kernel.players import (
    STOP_YOURSELF,
    Do,
    Gate,
    Line,
    Repeat,
    Say,
    Troupe,
    crash,
    key,
    newest_of_each_topic,
    repeat,
)
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage

WEB, LOG = key("web"), key("log")


def test_messages_of_one_sender_arrive_in_order(troupe: Troupe, play: Stage) -> None:
    play.tell_all(WEB, *[Say(word=f"{number}") for number in range(100)])

    troupe.diary.expect("web starts 1", *[f"web hears {number}" for number in range(100)])


def test_an_actor_that_has_handled_what_was_told_takes_no_further_step(troupe: Troupe) -> None:
    steps = Steps()
    with stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), steps) as play:
        for word in ("one", "two"):
            play.port(WEB).tell(Say(word=word))

        assert [steps.step() for _ in range(3)] == [True, True, False]

        play.tell(WEB, Say(word="three"))
    troupe.diary.expect("web starts 1", *[f"web hears {word}" for word in ("one", "two", "three")])


def test_a_crash_loses_the_one_message_and_keeps_the_rest_in_order(
    troupe: Troupe, play: Stage
) -> None:
    play.tell_all(WEB, Say(word="one"), crash(), Say(word="two"), Say(word="three"))
    play.advance(1.0)

    troupe.diary.expect("web starts 1", "web hears one")
    troupe.diary.expect("web starts 2", "web hears two", "web hears three")

    # The message is named by its type: what it carried may be secret.
    assert play.endings[0].message == "Do"


def test_the_mailbox_of_a_child_that_is_down_is_limited(troupe: Troupe, play: Stage) -> None:
    play.tell(WEB, crash())

    # In backoff it keeps ten thousand messages, the oldest, and says what became of the rest.
    play.tell_all(WEB, *[Say(word=f"{number}") for number in range(10_003)])
    assert play.describe()["web"].mailbox == 10_000
    assert play.system.telemetry.dead_letters() == {
        ("web", "mailbox of an actor that is down is full"): 3
    }

    play.advance(1.0)
    heard = troupe.diary.drain()
    assert heard[:3] == ["web starts 1", "web starts 2", "web hears 0"]
    assert heard[-1] == "web hears 9999"


def test_a_newer_word_replaces_an_older_one_even_in_a_full_mailbox(
    troupe: Troupe, runtime: Runtime
) -> None:
    web = newest_of_each_topic("web")
    with stage(SupervisorSpec(name="root", children=(troupe.child(web),)), runtime) as play:
        play.tell(web, crash())
        play.tell_all(web, *[Say(word="old", topic=f"{number}") for number in range(10_000)])

        play.tell(web, Say(word="new", topic="7"))
        play.advance(1.0)

        assert play.system.telemetry.dead_letters() == {}
        assert troupe.diary.drain()[-1] == "web hears new"


def test_of_one_topic_only_the_newest_is_handled_at_its_own_place(
    troupe: Troupe, runtime: Runtime
) -> None:
    web = newest_of_each_topic("web")
    with stage(SupervisorSpec(name="root", children=(troupe.child(web),)), runtime) as play:
        play.tell(web, crash())
        play.tell_all(
            web,
            Say(word="rain", topic="weather"),
            Say(word="hello"),
            Say(word="jazz", topic="music"),
            Say(word="hello"),
            Say(word="sun", topic="weather"),
        )
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "web starts 2")
        troupe.diary.expect("web hears hello", "web hears jazz", "web hears hello", "web hears sun")


def test_a_question_is_never_replaced_by_a_newer_one(troupe: Troupe) -> None:
    # Naming every message alike would have the second question replace the first.
    web = Key[Line]("web", coalesce=lambda _message: "all")
    with stage(SupervisorSpec(name="root", children=(troupe.child(web),)), Steps()) as play:
        answers = Probe[str]()
        play.tell_all(
            web,
            Repeat(word="one", reply_to=answers),
            Repeat(word="two", reply_to=answers),
        )
        assert play.ask(web, repeat("three")) == "three"
        answers.expect("two")
        answers.expect_silence()


@pytest.mark.parametrize(
    "naming", [lambda _message: 1 / 0, lambda _message: []], ids=["raises", "unhashable"]
)
def test_who_tells_is_not_to_blame_for_a_message_that_cannot_be_named(
    troupe: Troupe, runtime: Runtime, naming: object
) -> None:
    web = Key[Line]("web", coalesce=naming)  # type: ignore[arg-type]  # wrong on purpose
    spec = SupervisorSpec(name="root", children=(troupe.child(web), troupe.child(LOG)))
    with stage(spec, runtime) as play:
        port = play.port(web)
        play.tell(LOG, Do(action=lambda _player: port.tell(Say(word="hello"))))

        troupe.diary.expect("web starts 1", "log starts 1", "web hears hello")
        assert play.endings == []


def test_a_stop_overtakes_what_waits(troupe: Troupe, play: Stage) -> None:
    # It stops before it handles another message; what waits is for the next life.
    play.tell_all(WEB, Say(word="one"), STOP_YOURSELF, Say(word="two"))
    play.advance(1.0)

    troupe.diary.expect("web starts 1", "web hears one", "web stops")
    troupe.diary.expect("web starts 2", "web hears two")


def test_the_supervisors_stop_overtakes_what_waits(
    troupe: Troupe, live_play: Stage, gate: Gate
) -> None:
    port = live_play.port(WEB)
    port.tell(Do(action=gate))
    gate.reached()
    port.tell(Say(word="too late"))

    live_play.system.stop()
    assert live_play.state(WEB) == "stopping"
    gate.open()

    assert live_play.ended.next().name == "web"
    troupe.diary.expect("web starts 1", "web stops")
    troupe.diary.expect_silence()


def test_what_waits_at_the_end_is_counted_as_dead_letters(troupe: Troupe, runtime: Runtime) -> None:
    child = troupe.child(WEB, restart=Restart.TEMPORARY)
    with stage(SupervisorSpec(name="root", children=(child,)), runtime) as play:
        play.tell_all(WEB, STOP_YOURSELF, Say(word="one"), Say(word="two"))

        assert play.system.telemetry.dead_letters() == {("web", "address closed"): 2}


def test_a_fence_comes_back_after_everything_that_was_told_before_it(
    troupe: Troupe, live_play: Stage, gate: Gate
) -> None:
    port = live_play.port(WEB)
    port.tell(Do(action=gate))
    gate.reached()
    port.tell(Say(word="one"))
    port.tell(Say(word="two"))
    gate.open()

    live_play.system.fence(port)

    assert troupe.diary.drain() == ["web starts 1", "web hears one", "web hears two"]


def test_a_fence_waits_for_the_next_life(troupe: Troupe, live_play: Stage) -> None:
    live_play.port(WEB).tell(crash())
    live_play.port(WEB).tell(Say(word="one"))

    live_play.system.fence(live_play.port(WEB))

    assert troupe.diary.drain() == ["web starts 1", "web starts 2", "web hears one"]


def test_own_threads_and_the_pool_wake_for_each_message(troupe: Troupe) -> None:
    with stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), Threads()) as play:
        play.tell(WEB, Say(word="one"))
        play.tell(WEB, Say(word="two"))

        troupe.diary.expect("web starts 1", "web hears one", "web hears two")
