"""Hangs: a turn that does not end is a failure of its actor, and of nobody else."""

from __future__ import annotations

import threading
from collections.abc import MutableMapping
from typing import Any

from kernel import (
    EXIT_FAILED,
    EXIT_UNCLEAN,
    EndReason,
    Hook,
    Restart,
    SupervisorSpec,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    Do,
    Gate,
    OwnThreadPlayer,
    PooledPlayer,
    Say,
    Troupe,
    after,
    crash,
    key,
)
from tests.support.kernel.stage import Stage, live_stage
from tests.support.patience import PATIENCE

WEB, LOG = key("web"), key("log")

SOON = Seconds(0.05)
PATIENT = Seconds(60.0)


def pooled() -> Troupe:
    """Return players that share the pool."""
    return Troupe(PooledPlayer)


def get_stuck(play: Stage, *paths: str, gate: Gate) -> None:
    """Have each of these actors hang in a handler."""
    for path in paths:
        play.port(key(path)).tell(Do(action=gate))


def test_an_actor_that_hangs_is_abandoned_and_starts_again(
    gate: Gate, logs: list[MutableMapping[str, Any]]
) -> None:
    troupe = pooled()
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB),))
    with live_stage(spec, hang_limit=SOON) as play:
        play.port(WEB).tell(Do(action=gate))
        play.port(WEB).tell(Say(word="kept"))

        ended = play.ended.next()
        assert (ended.reason, ended.hook, ended.abandoned) == (
            EndReason.FAILED,
            Hook.RECEIVE,
            True,
        )
        assert ended.error == "a turn did not end within 0.05 s"

        # The next life handles what waited, on the thread that replaced the stuck one.
        troupe.diary.expect("web starts 1", "web starts 2", "web hears kept")

    # The log says where it hangs.
    abandoned = next(event for event in logs if event["event"] == "actor abandoned")
    assert "self._open.wait" in abandoned["stack"]


def test_many_slow_messages_in_a_row_are_no_hang() -> None:
    troupe = pooled()

    def dawdle(_player: object) -> None:
        threading.Event().wait(0.05)

    # Together they take 2 s: in one turn they would look like one that hangs.
    with live_stage(
        SupervisorSpec(name="root", children=(troupe.child(WEB),)), hang_limit=Seconds(1.5)
    ) as play:
        for _ in range(40):
            play.port(WEB).tell(Do(action=dawdle))
        play.port(WEB).tell(Say(word="done"))
        troupe.diary.expect("web starts 1", "web hears done")


def test_as_many_hangs_as_the_pool_has_threads_stop_nobody_else(gate: Gate) -> None:
    troupe = pooled()
    children = tuple(troupe.child(key(f"web/{number}")) for number in range(4))
    spec = SupervisorSpec(name="root", children=(*children, troupe.child(LOG)))
    with live_stage(spec, hang_limit=SOON) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        get_stuck(play, "web/0", "web/1", "web/2", "web/3", gate=gate)
        assert {play.ended.next().name for _ in range(4)} == {f"web/{n}" for n in range(4)}

        play.port(LOG).tell(Say(word="still here"))
        play.system.fence(play.port(LOG))
        assert "log hears still here" in troupe.diary.drain()


def test_supervision_goes_on_while_the_whole_pool_hangs(gate: Gate) -> None:
    # Nothing gives up the stuck ones here; control and own threads do without the pool.
    troupe = pooled()
    own = troupe.child(LOG, kind=OwnThreadPlayer)
    children = (troupe.child(key("web/0")), troupe.child(key("web/1")), own)
    spec = SupervisorSpec(name="root", children=children)
    with live_stage(spec, hang_limit=PATIENT) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        get_stuck(play, "web/0", "web/1", gate=gate)
        gate.reached()

        play.port(LOG).tell(crash())
        play.port(LOG).tell(after(0.01, "in time"))

        assert play.ended.next().name == "log"
        told = [troupe.diary.next() for _ in range(5)]
        assert told[-2:] == ["log starts 2", "log hears in time"]
        gate.open()


def test_a_start_that_hangs_in_the_pool_is_a_failed_start(gate: Gate) -> None:
    troupe = pooled()
    web = troupe.child(WEB, at_start=gate, start_deadline=PATIENT, restart=Restart.TEMPORARY)
    with live_stage(SupervisorSpec(name="root", children=(web,)), hang_limit=SOON) as play:
        ended = play.ended.next()

        assert (ended.hook, ended.abandoned) == (Hook.STARTED, True)


def test_a_stop_that_hangs_in_the_pool_is_abandoned(gate: Gate) -> None:
    troupe = pooled()
    web = troupe.child(WEB, at_stop=gate, shutdown=PATIENT)
    spec = SupervisorSpec(name="root", children=(web,), shutdown=PATIENT)
    with live_stage(spec, hang_limit=SOON) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        play.system.stop()

        assert play.ended.next().hook is Hook.STOPPING
        assert play.system.wait(Seconds(PATIENCE)) == EXIT_UNCLEAN


def test_a_life_abandoned_before_still_frees_its_pool_thread(gate: Gate) -> None:
    # Its deadline ended it before the hang limit did: the limit replaces the thread all the same.
    troupe = pooled()
    children = tuple(
        troupe.child(
            key(f"web/{number}"), at_start=gate, start_deadline=SOON, restart=Restart.TEMPORARY
        )
        for number in range(3)
    )
    spec = SupervisorSpec(name="root", children=(*children, troupe.child(LOG)))
    with live_stage(spec, hang_limit=Seconds(0.2)) as play:
        names = [play.ended.next().name for _ in range(3)]

        assert names == ["web/0", "web/1", "web/2"]
        assert play.system.wait_started(Seconds(PATIENCE))


def test_hangs_without_end_are_a_failure_of_the_root(gate: Gate) -> None:
    # Nine threads that never come back are more than a process should carry.
    troupe = pooled()
    children = tuple(
        troupe.child(key(f"web/{number}"), restart=Restart.TEMPORARY) for number in range(9)
    )
    spec = SupervisorSpec(name="root", children=children)
    with live_stage(spec, hang_limit=SOON) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        get_stuck(play, *[f"web/{number}" for number in range(9)], gate=gate)

        assert play.system.wait(Seconds(PATIENCE)) == EXIT_FAILED
        assert play.endings[-1].error == "too many handlers hang"


def test_a_thread_of_its_own_may_block_longer_than_the_limit(gate: Gate) -> None:
    troupe = Troupe(OwnThreadPlayer)
    spec = SupervisorSpec(name="root", children=(troupe.child(WEB), troupe.child(LOG)))

    with live_stage(spec, hang_limit=SOON) as play:
        play.port(WEB).tell(Do(action=gate))
        play.port(LOG).tell(after(0.2, "the watch has passed"))
        told = [troupe.diary.next() for _ in range(3)]
        gate.open()
        play.system.fence(play.port(WEB))

        assert told[-1] == "log hears the watch has passed"
        assert play.endings == []


def backlog(play: Stage) -> None:
    """Tell a hundred messages, and wait for none of them."""
    for number in range(100):
        play.port(WEB).tell(Say(word=f"{number}"))


def test_a_batch_in_the_pool_lets_the_others_have_their_turn(gate: Gate) -> None:
    # One thread, a long backlog, and one message for somebody else behind it.
    troupe = pooled()
    spec = SupervisorSpec(
        name="root", children=(troupe.child(WEB), troupe.child(LOG), troupe.child(key("net")))
    )
    with live_stage(spec, hang_limit=PATIENT) as play:
        assert play.system.wait_started(Seconds(PATIENCE))
        troupe.diary.drain()
        get_stuck(play, "web", gate=gate)
        gate.reached()
        second = Gate()
        get_stuck(play, "net", gate=second)
        second.reached()
        backlog(play)
        play.port(LOG).tell(Say(word="my turn"))
        gate.open()

        # Of the backlog a batch of sixteen is handled, the first of them being the stuck one.
        told = [troupe.diary.next() for _ in range(16)]
        assert told == [*[f"web hears {number}" for number in range(15)], "log hears my turn"]
        second.open()
        play.system.fence(play.port(WEB))
