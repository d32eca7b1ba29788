"""Deadlines: they belong to one life, and time moves after what was told."""

from __future__ import annotations

from kernel import Key, Runtime, SupervisorSpec, Timer
from messages.units import Seconds
from tests.support.kernel.players import (
    STOP_YOURSELF,
    Do,
    Line,
    Player,
    Say,
    Troupe,
    after,
    crash,
    key,
    newest_of_each_topic,
)
from tests.support.kernel.stage import Stage, stage

WEB = key("web")


def kernels_own(play: Stage) -> int:
    """Return how many deadlines a tree at rest has: the watch for hangs."""
    return len(play.system.control.timers)


def test_a_deadline_is_a_message(troupe: Troupe, play: Stage) -> None:
    play.tell(WEB, after(3.0, "three seconds are over"))

    play.advance(2.9)
    troupe.diary.expect("web starts 1")
    troupe.diary.expect_silence()

    play.advance(0.2)
    troupe.diary.expect("web hears three seconds are over")


def test_deadlines_come_in_the_order_of_their_time(troupe: Troupe, play: Stage) -> None:
    play.tell_all(WEB, after(2.0, "two"), after(1.0, "one"), after(2.0, "two again"))
    play.advance(5.0)

    troupe.diary.expect("web starts 1", "web hears one", "web hears two", "web hears two again")


def test_time_moves_after_what_was_told_is_handled(troupe: Troupe, play: Stage) -> None:
    # Told and not waited for: the deadline of a second is still met by two.
    play.port(WEB).tell(after(1.0, "in time"))
    play.advance(2.0)

    troupe.diary.expect("web starts 1", "web hears in time")


def test_a_deadline_in_the_past_is_due_at_once(troupe: Troupe, play: Stage) -> None:
    play.tell(WEB, after(-1.0, "at once"))

    troupe.diary.expect("web starts 1", "web hears at once")


def test_a_cancelled_deadline_does_not_come(troupe: Troupe, play: Stage) -> None:
    timers: list[Timer] = []
    play.tell(
        WEB,
        Do(action=lambda player: timers.append(player.after(Seconds(1.0), Say(word="no")))),
    )
    timers[0].cancel()
    timers[0].cancel()
    play.advance(2.0)

    troupe.diary.expect("web starts 1")
    troupe.diary.expect_silence()


def test_cancelled_deadlines_leave_the_heap(play: Stage) -> None:
    def change_my_mind(player: Player) -> None:
        for _ in range(10_000):
            player.after(Seconds(3600.0), Say(word="no")).cancel()

    play.tell(WEB, Do(action=change_my_mind))

    assert len(play.system.control.timers._heap) < 100


def test_a_life_remembers_only_the_deadlines_that_are_to_come(play: Stage) -> None:
    lives: list[Player] = []

    def set_three(player: Player) -> None:
        lives.append(player)
        player.after(Seconds(1.0), Say(word="comes"))
        player.after(Seconds(1.0), Say(word="cancelled")).cancel()
        player.after(Seconds(9.0), Say(word="later"))

    play.tell(WEB, Do(action=set_three))
    play.advance(2.0)

    assert [timer.due for timer in lives[0]._life.timers or ()] == [9.0]


def test_the_deadline_of_a_dead_life_does_not_reach_the_next(troupe: Troupe, play: Stage) -> None:
    at_rest = kernels_own(play)
    play.tell_all(WEB, after(5.0, "for the first life"), crash())
    play.advance(1.0)
    assert kernels_own(play) == at_rest
    play.advance(10.0)

    troupe.diary.expect("web starts 1", "web starts 2")
    troupe.diary.expect_silence()


def test_a_deadline_that_was_due_and_not_handled_dies_with_its_life(
    troupe: Troupe, play: Stage
) -> None:
    # It waits in the mailbox, behind the message that makes its life fail.
    def wait_and_crash(player: Player) -> None:
        player.after(Seconds(0.0), Say(word="for the first life"))
        while play.system.control.timers.next_due() == play.clock.monotonic():
            play.system.control.timers.pop_due(play.clock.monotonic())()  # type: ignore[misc]
        raise RuntimeError("a bug")

    play.tell_all(WEB, Do(action=wait_and_crash), Say(word="for anybody"))
    play.advance(1.0)

    troupe.diary.expect("web starts 1", "web starts 2", "web hears for anybody")
    troupe.diary.expect_silence()
    assert play.system.telemetry.dead_letters() == {("web", "told to an ended life"): 1}


def test_a_deadline_set_after_the_end_is_dropped_at_once(troupe: Troupe, runtime: Runtime) -> None:
    bodies: list[Player] = []
    child = troupe.child(WEB, at_start=bodies.append)
    with stage(SupervisorSpec(name="root", children=(child,)), runtime) as play:
        play.tell(WEB, STOP_YOURSELF)
        play.advance(1.0)
        at_rest = kernels_own(play)

        # A helper thread of the first life may still hold it.
        bodies[0].after(Seconds(5.0), Say(word="late"))
        assert kernels_own(play) == at_rest

        play.advance(10.0)
        troupe.diary.expect("web starts 1", "web stops", "web starts 2")
        troupe.diary.expect_silence()


def test_a_deadline_never_replaces_what_others_told(troupe: Troupe, runtime: Runtime) -> None:
    web: Key[Line] = newest_of_each_topic("web")

    def tell_myself_and_crash(player: Player) -> None:
        player.me.tell(Say(word="mine", topic="weather"))
        raise RuntimeError("a bug")

    with stage(SupervisorSpec(name="root", children=(troupe.child(web),)), runtime) as play:
        # The newer one of that topic is for this life alone. When it ends the other must be there.
        play.tell(web, crash())
        play.tell_all(web, Do(action=tell_myself_and_crash), Say(word="theirs", topic="weather"))
        play.advance(1.0)

        troupe.diary.expect("web starts 1", "web starts 2", "web starts 3", "web hears theirs")


def test_deadlines_of_one_topic_coalesce_among_themselves(troupe: Troupe, runtime: Runtime) -> None:
    web = newest_of_each_topic("web")

    def tell_myself_twice(player: Player) -> None:
        player.me.tell(Say(word="rain", topic="weather"))
        player.me.tell(Say(word="sun", topic="weather"))

    with stage(SupervisorSpec(name="root", children=(troupe.child(web),)), runtime) as play:
        play.tell(web, Do(action=tell_myself_twice))

        troupe.diary.expect("web starts 1", "web hears sun")
