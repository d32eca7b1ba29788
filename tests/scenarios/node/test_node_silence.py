"""A Node whose registrar is dead does not look alive: its Lease runs out. Nothing else keeps it from that."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from actors.node.lease_keeper import LEASE_KEEPER
from actors.node.registrar import NODE_REGISTRAR
from messages.api import FailureKind, Verb
from messages.node import FollowNode, FollowRegistrar, RegistrarLives
from messages.units import Seconds
from tests.support.apiserver.fake_api import ALWAYS, asks
from tests.support.kernel.probe import Probe
from tests.support.node.node_stage import RULES, NodeStage, node_stage

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
RENEWED = f"PUT {LEASES}/n1"
LIVES = RegistrarLives(period=Seconds(10.0))


def has_a_lease(node: NodeStage) -> None:
    node.store.add(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "n1", "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": "n1"},
        }
    )


def renewals(node: NodeStage, seconds: float) -> int:
    """Return how often the Lease is renewed while time passes."""
    return node.asked_within(seconds).count(RENEWED)


def lease_lines(logs: list[MutableMapping[str, Any]]) -> list[str]:
    return [event["event"] for event in logs if "Lease" in event["event"]]


STOPPED = "the Lease of the Node is left to run out"
WENT_ON = "the Lease of the Node is renewed again: its registrar is back"


# --- what the registrar tells ----------------------------------------


def test_the_registrar_tells_at_once_and_at_each_look_that_it_lives() -> None:
    with node_stage(lease=False) as node:
        watcher: Probe[RegistrarLives] = Probe()
        node.play.tell(NODE_REGISTRAR, FollowRegistrar(subscriber=watcher))
        watcher.expect(LIVES)
        watcher.expect_silence()
        node.play.advance(9.9)
        watcher.expect_silence()
        node.play.advance(0.6)
        watcher.expect(LIVES)

        # The wish outlives a crash, and who has just begun says nothing yet.
        node.crashes(NODE_REGISTRAR)
        node.play.advance(8.8)
        watcher.expect_silence()
        node.play.advance(1.0)
        watcher.expect(LIVES)


def test_looks_that_come_early_tell_it_too() -> None:
    with node_stage(lease=False) as node:
        watcher: Probe[RegistrarLives] = Probe()
        node.play.tell(NODE_REGISTRAR, FollowRegistrar(subscriber=watcher))
        node.loops_fail("source/http")
        watcher.expect(LIVES)
        watcher.expect_silence()
        node.play.advance(11.0)
        watcher.drain()
        node.loops_fail()
        watcher.expect(LIVES)


# --- a registrar that is dead ----------------------------------------


def test_the_lease_runs_out_when_the_registrar_keeps_failing_and_goes_on_when_it_is_back(
    logs: list[MutableMapping[str, Any]],
) -> None:
    with node_stage() as node:
        node.play.advance(15.0)
        node.machine.is_broken = True
        assert renewals(node, 30.0) == 3
        node.play.advance(20.0)
        assert renewals(node, 600.0) == 0
        assert lease_lines(logs) == [STOPPED]

        # It is tried every 10 s, and believed after its second look.
        node.machine.is_broken = False
        assert renewals(node, 25.0) == 1
        assert renewals(node, 100.0) >= 9
        assert lease_lines(logs) == [STOPPED, WENT_ON]


def test_a_registrar_that_looks_and_crashes_soon_after_is_dead_all_the_same() -> None:
    with node_stage() as node:
        node.keeps_crashing(NODE_REGISTRAR, every=15.0, times=20)
        node.asked()
        looks = node.machine.looks
        node.keeps_crashing(NODE_REGISTRAR, every=15.0, times=10)  # down for 10 s of it
        assert node.machine.looks - looks == 10
        assert RENEWED not in node.asked()
        assert renewals(node, 100.0) >= 9


def test_a_registrar_that_hangs_is_heard_of_no_more() -> None:
    # Here nobody is there; a thread that is stuck says as little.
    with node_stage(registrar=False, prepare=has_a_lease) as node:
        node.play.tell(LEASE_KEEPER, LIVES)
        assert renewals(node, 40.0) == 3
        assert renewals(node, 300.0) == 0
        node.play.tell(LEASE_KEEPER, LIVES)
        assert node.asked() == [RENEWED]


def test_a_registrar_that_looks_seldom_is_silent_later() -> None:
    with node_stage(registrar=False, prepare=has_a_lease) as node:
        node.play.tell(LEASE_KEEPER, RegistrarLives(period=Seconds(100.0)))
        assert renewals(node, 400.0) >= 38
        assert renewals(node, 300.0) <= 1


def test_a_registrar_that_never_says_a_word_has_three_minutes() -> None:
    with node_stage(registrar=False, prepare=has_a_lease) as node:
        assert renewals(node, 179.0) >= 17
        node.play.advance(12.0)
        assert renewals(node, 300.0) == 0


def test_a_wish_to_hear_of_the_registrar_that_may_be_lost_is_repeated() -> None:
    with node_stage(registrar=False, prepare=has_a_lease) as node:
        assert [type(wish) for wish in node.wishes.drain()] == [FollowNode, FollowRegistrar]
        node.play.advance(600.0)
        assert [type(wish) for wish in node.wishes.drain()] == [FollowRegistrar]
        node.asked()
        node.play.tell(LEASE_KEEPER, LIVES)
        assert node.asked() == [RENEWED]

        # Who was heard has heard the wish.
        node.play.advance(600.0)
        node.wishes.expect_silence()


# --- what is no reason ----------------------------------------


def the_node_is_taken_away(node: NodeStage) -> None:
    node.api.calls.fail(FailureKind.FORBIDDEN, when=asks(Verb.CREATE, "/nodes"), times=ALWAYS)
    node.store.remove("nodes", "n1")


def the_watch_fails(node: NodeStage) -> None:
    node.api.watches.break_off()


def reports_are_refused(node: NodeStage) -> None:
    node.api.calls.fail(FailureKind.FORBIDDEN, when=asks(Verb.PATCH), times=ALWAYS)
    node.loops_fail("source/http")


@pytest.mark.parametrize("trouble", [the_node_is_taken_away, the_watch_fails, reports_are_refused])
def test_troubles_of_the_cluster_are_no_silence(trouble: Callable[[NodeStage], None]) -> None:
    with node_stage() as node:
        node.play.advance(15.0)
        trouble(node)
        assert renewals(node, 600.0) >= 57


def test_an_api_server_that_is_away_for_hours_finds_the_lease_renewed_at_once(
    logs: list[MutableMapping[str, Any]],
) -> None:
    with node_stage() as node:
        node.api.go_away()
        node.play.advance(7200.0)
        node.api.come_back()
        assert renewals(node, 7.2) >= 1
        assert STOPPED not in lease_lines(logs)


def test_a_first_look_that_comes_late_is_waited_for() -> None:
    rules = replace(RULES, status_update_frequency=Seconds(300.0))
    with node_stage(rules) as node:
        assert renewals(node, 3000.0) >= 280


def test_crashes_now_and_then_are_no_silence() -> None:
    with node_stage() as node:
        node.keeps_crashing(NODE_REGISTRAR, every=25.0, times=20)
        assert node.asked().count(RENEWED) >= 45
