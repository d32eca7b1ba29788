"""One suite for both actor types: what an actor may rely on, whoever's thread runs it."""

from __future__ import annotations

import threading
from typing import Any

import pykka
from pykka.messages import _ActorStop

from kernel import Actor, BaseActor, PooledActor, Restart, Runtime, SupervisorSpec, Threads
from messages.units import Seconds
from tests.support.kernel.players import Do, Player, Say, Troupe, crash, key
from tests.support.kernel.stage import Stage, stage
from tests.support.patience import PATIENCE

WEB, LOG = key("web"), key("log")


def test_messages_are_handled_one_at_a_time(play: Stage) -> None:
    inside: list[int] = []
    most: list[int] = []

    def enter_and_leave(player: Player) -> None:
        inside.append(1)
        most.append(len(inside))
        player.me.tell(Say(word="between"))
        inside.pop()

    play.tell_all(WEB, *[Do(action=enter_and_leave)] * 50)

    assert most == [1] * 50


def test_nothing_is_handled_before_the_start_or_after_the_stop(troupe: Troupe, play: Stage) -> None:
    play.tell(WEB, Say(word="hello"))
    play.stop()
    play.port(WEB).tell(Say(word="late"))

    troupe.diary.expect("web starts 1", "web hears hello", "web stops")
    troupe.diary.expect_silence()


def test_each_life_has_its_own_object_and_number(troupe: Troupe, runtime: Runtime) -> None:
    lives: list[Player] = []
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB, at_start=lives.append),))
    with stage(spec, runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)

        assert [life.incarnation for life in lives] == [1, 2]
        assert lives[0] is not lives[1]
        assert [life.name for life in lives] == ["web", "web"]


def test_a_number_of_a_life_is_never_used_again(troupe: Troupe, runtime: Runtime) -> None:
    # Also not by a restart of the supervisor.
    inner = SupervisorSpec(name="inner", intensity=0, children=(troupe.child(WEB),))
    with stage(SupervisorSpec(name="root", children=(inner,)), runtime) as play:
        play.tell(WEB, crash())
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "web starts 2")


def test_two_actors_run_at_once(troupe: Troupe) -> None:
    # Each waits for the other: on one thread they would wait for ever.
    meeting = threading.Barrier(2, timeout=PATIENCE)
    meet = Do(action=lambda _player: meeting.wait())
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB), troupe.child(LOG)))
    with stage(spec, Threads()) as play:
        play.port(WEB).tell(meet)
        play.tell(LOG, meet)

        assert play.endings == []


def test_an_actor_tells_while_it_starts_and_while_it_stops(
    troupe: Troupe, runtime: Runtime
) -> None:
    def greet(player: Player) -> None:
        log.tell(Say(word=f"greetings from {player.name}"))

    children = (troupe.child(LOG), troupe.child(WEB, at_start=greet, at_stop=greet))
    play = Stage(SupervisorSpec(name="root", children=children), runtime)
    log = play.port(LOG)
    play.start()
    troupe.diary.expect("log starts 1", "web starts 1", "log hears greetings from web")

    # The goodbye is a word like any other; its hearer stops before it handles another message.
    assert play.stop() == 0
    told = troupe.diary.drain()
    letters = play.system.telemetry.dead_letters().get(("log", "address closed"), 0)
    assert [line for line in told if line.endswith("stops")] == ["web stops", "log stops"]
    assert told.count("log hears greetings from web") + letters == 1


def test_an_actor_stops_itself_while_it_starts(troupe: Troupe, runtime: Runtime) -> None:
    web = troupe.child(WEB, at_start=lambda player: player.stop(), restart=Restart.TEMPORARY)
    with stage(SupervisorSpec(name="root", children=(web,)), runtime) as play:
        troupe.diary.expect("web starts 1", "web stops")
        assert play.state(WEB) == "stopped"


def test_the_two_types_differ_in_nothing_but_their_thread() -> None:
    assert [kind.__mro__[1] for kind in (Actor, PooledActor)] == [BaseActor, BaseActor]
    assert not {name for kind in (Actor, PooledActor) for name in vars(kind)} & {
        "receive",
        "started",
        "stopping",
        "tell",
        "after",
    }


def test_an_actor_costs_no_event_and_no_queue_of_pykkas(play: Stage) -> None:
    players: list[Player] = []
    play.tell(WEB, Do(action=players.append))

    assert not isinstance(players[0].actor_stopped, threading.Event)
    assert isinstance(players[0], pykka.Actor)


def test_deadlines_are_kept_in_order_on_both(troupe: Troupe, play: Stage) -> None:
    def set_two(player: Player) -> None:
        player.after(Seconds(2.0), Say(word="two"))
        player.after(Seconds(1.0), Say(word="one"))

    play.tell(WEB, Do(action=set_two))
    play.advance(3.0)

    troupe.diary.expect("web starts 1", "web hears one", "web hears two")


def test_pykkas_stop_message_cannot_be_told_through_an_address(troupe: Troupe, play: Stage) -> None:
    # It is a message like any other there: one that the actor does not know, and ignores.
    wrong: Any = _ActorStop()
    play.tell(WEB, wrong)
    play.tell(WEB, Say(word="still here"))

    troupe.diary.expect("web starts 1", "web hears still here")
