"""The Lease is created for its Node, renewed without a look, and survives what others do to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import pytest

from actors.node.lease_keeper import LEASE_KEEPER
from actors.node.registrar import NODE_REGISTRAR
from manifests.times import rfc3339_micro
from messages.api import ApiFailure, FailureKind, Retry, Verb
from messages.node import NodeIs, NodeUid
from messages.units import Seconds, Timestamp
from tests.support.apiserver.fake_api import ALWAYS, FakeCalls, asks
from tests.support.node.node_stage import FATES_OF_A_CALL, NodeStage, node_stage

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
N1, LIST_AND_WATCH = "metadata.name=n1", ("list", "watch")
LOOKED, CREATED, RENEWED = f"GET {LEASES}/n1", f"POST {LEASES}", f"PUT {LEASES}/n1"


@pytest.fixture
def node() -> Iterator[NodeStage]:
    with node_stage() as node:
        node.asked()
        yield node


def of_lease(asked: list[str]) -> list[str]:
    return [request for request in asked if LEASES in request]


def lease_asked(node: NodeStage, seconds: float = 0.0) -> list[str]:
    """Return what was asked about the Lease since the last look and while time passes."""
    node.play.advance(seconds)
    return of_lease(node.asked())


def owner_of(node: NodeStage) -> str:
    (owner,) = node.lease["metadata"]["ownerReferences"]
    return str(owner["uid"])


def somebody_deletes_the_lease(node: NodeStage) -> None:
    """Delete it; what is renewed then is another object, says the API server (409)."""
    node.store.remove("leases", "kube-node-lease", "n1")
    node.api.calls.fail(FailureKind.CONFLICT, when=asks(Verb.UPDATE, LEASES))


def test_rule_n5_a_lease_is_created_for_the_node() -> None:
    with node_stage() as node:
        assert lease_asked(node) == [LOOKED, CREATED]
        assert node.lease["spec"] == {
            "holderIdentity": "n1",
            "leaseDurationSeconds": 40,
            "renewTime": "2023-11-14T22:13:20.000000Z",
        }
        assert owner_of(node) == node.uid


def test_rule_n5_a_lease_is_renewed_every_ten_seconds_without_a_look(node: NodeStage) -> None:
    assert lease_asked(node, 9.9) == []
    assert lease_asked(node, 0.6) == [RENEWED]
    assert lease_asked(node, 9.3) == []
    assert lease_asked(node, 1.1) == [RENEWED]
    assert node.lease["spec"]["renewTime"] > "2023-11-14T22:13:40"


def test_a_lease_of_an_earlier_life_of_the_machine_is_taken_over() -> None:
    def prepare(node: NodeStage) -> None:
        spec = {"holderIdentity": "n1", "renewTime": "2020-01-01T00:00:00.000000Z"}
        node.store.add(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "n1", "namespace": "kube-node-lease", "labels": {"a": "b"}},
                "spec": spec,
            }
        )

    with node_stage(prepare=prepare) as node:
        assert lease_asked(node)[:2] == [LOOKED, RENEWED]
        assert node.lease["spec"]["renewTime"] >= "2023-11-14T22:13:20"
        assert node.lease["metadata"]["labels"] == {"a": "b"}
        assert owner_of(node) == node.uid


def test_a_clock_that_is_behind_does_not_keep_the_lease_from_advancing(node: NodeStage) -> None:
    spec = {"renewTime": "2030-01-01T00:00:00.000000Z"}
    node.store.change("leases", "kube-node-lease", "n1", spec=spec)
    node.play.advance(31.5)
    assert node.lease["spec"]["renewTime"] == "2030-01-01T00:00:00.000003Z"


def test_a_conflict_leads_to_a_look_and_a_renewal_at_once(node: NodeStage) -> None:
    node.store.change("leases", "kube-node-lease", "n1", metadata={"labels": {"a": "b"}})
    assert lease_asked(node, 10.4) == [RENEWED, LOOKED, RENEWED]
    assert node.lease["metadata"]["labels"] == {"a": "b"}
    assert node.lease["spec"]["renewTime"] > "2023-11-14T22:13:29"
    assert lease_asked(node, 10.4) == [RENEWED]


def test_a_conflict_now_and_then_never_waits(node: NodeStage) -> None:
    def renewal_with_a_conflict() -> list[str]:
        node.api.calls.fail(FailureKind.CONFLICT, when=asks(Verb.UPDATE, LEASES))
        return lease_asked(node, 10.4)

    renewals = [renewal_with_a_conflict() for _ in range(5)]
    assert renewals == [[RENEWED, LOOKED, RENEWED]] * 5


def test_a_backup_that_is_put_back_has_everything_listed_anew_with_the_next_renewal(
    node: NodeStage,
) -> None:
    put_back = node.store.back_up()
    node.play.advance(52.0)
    put_back()
    node.asked()
    node.api.watches.asked()
    assert lease_asked(node, 10.4) == [RENEWED, LOOKED, RENEWED]
    assert node.api.watches.asked() == [f"{verb} /api/v1/nodes ({N1})" for verb in LIST_AND_WATCH]
    # Once: from here on the revisions rise as before.
    node.play.advance(100.0)
    assert node.api.watches.asked() == []


def test_a_renewal_that_is_not_answered_or_not_needed_says_nothing_of_backups(
    node: NodeStage,
) -> None:
    node.play.advance(52.0)
    node.api.watches.asked()
    node.api.calls.lose_answers(when=asks(Verb.UPDATE, LEASES))
    node.play.advance(31.5)
    somebody_deletes_the_lease(node)
    node.play.advance(31.5)
    assert node.api.watches.asked() == []


def test_conflicts_without_end_are_met_with_waits(node: NodeStage) -> None:
    node.api.calls.fail(FailureKind.CONFLICT, when=asks(Verb.UPDATE), times=ALWAYS)
    node.play.advance(60.0)
    node.asked()
    assert len(lease_asked(node, 42.0)) <= 2 * 7  # a look and a renewal every 7 s
    node.api.calls.recover()
    assert lease_asked(node, 7.2)[-1] == RENEWED


def test_a_lease_that_somebody_deletes_is_created_again(node: NodeStage) -> None:
    somebody_deletes_the_lease(node)
    assert lease_asked(node, 10.4) == [RENEWED, LOOKED, CREATED]
    assert owner_of(node) == node.uid
    assert lease_asked(node, 10.4) == [RENEWED]


def test_a_lease_that_is_not_found_is_created_or_found(node: NodeStage) -> None:
    node.api.calls.fail(FailureKind.NOT_FOUND, when=asks(Verb.UPDATE))
    assert lease_asked(node, 10.4) == [RENEWED, CREATED, LOOKED, RENEWED]


def test_a_lease_follows_its_node_when_that_is_registered_again(node: NodeStage) -> None:
    first = owner_of(node)
    node.play.advance(33.0)
    node.asked()
    node.store.remove("nodes", "n1")
    assert lease_asked(node) == [RENEWED]
    assert owner_of(node) == node.uid != first


def test_a_lease_that_is_collected_with_its_node_comes_back(node: NodeStage) -> None:
    node.play.advance(33.0)
    node.asked()
    somebody_deletes_the_lease(node)
    node.store.remove("nodes", "n1")
    assert lease_asked(node) == [RENEWED, LOOKED, CREATED]
    assert owner_of(node) == node.uid


def test_without_a_node_a_lease_is_not_created_but_renewed(node: NodeStage) -> None:
    node.api.calls.fail(FailureKind.FORBIDDEN, when=asks(Verb.CREATE, "/nodes"), times=ALWAYS)
    node.store.remove("nodes", "n1")
    assert lease_asked(node, 10.4) == [RENEWED]

    somebody_deletes_the_lease(node)
    assert lease_asked(node, 10.4) == [RENEWED, LOOKED]
    assert lease_asked(node, 60.0) == []

    node.api.calls.recover()
    assert lease_asked(node, 7.2) == [CREATED]
    assert owner_of(node) == node.uid


def test_nothing_is_created_for_a_node_that_is_being_deleted(node: NodeStage) -> None:
    dying = NodeIs(name="n1", uid=NodeUid("dying"), is_deleting=True, document={})
    node.play.tell(LEASE_KEEPER, dying)
    somebody_deletes_the_lease(node)
    assert lease_asked(node, 30.0) == [RENEWED, LOOKED]


def test_a_missing_namespace_is_said_in_words(logs: list[MutableMapping[str, Any]]) -> None:
    def prepare(node: NodeStage) -> None:
        node.store.remove("namespaces", "kube-node-lease")

    with node_stage(prepare=prepare) as node:
        node.play.advance(60.0)
        (sentence,) = [event["reason"] for event in logs if event["log_level"] == "warning"]
        assert sentence.startswith("the namespace kube-node-lease is missing: ")

        node.store.add({"kind": "Namespace", "metadata": {"name": "kube-node-lease"}})
        node.play.advance(7.2)
        assert owner_of(node) == node.uid


# --- somebody else ----------------------------------------


def rivals(logs: list[MutableMapping[str, Any]]) -> list[str]:
    return [event["reason"] for event in logs if "somebody else" in event["event"]]


def somebody_renews_the_lease(node: NodeStage) -> None:
    """Renew it as a kubelet does: under the same name."""
    spec = {"renewTime": rfc3339_micro(Timestamp(node.play.clock.wall() + 0.5))}
    node.store.change("leases", "kube-node-lease", "n1", spec=spec)


def test_a_lease_of_another_holder_is_taken_over_and_the_log_says_whose_it_was(
    logs: list[MutableMapping[str, Any]],
) -> None:
    def prepare(node: NodeStage) -> None:
        lease = {"kind": "Lease", "metadata": {"name": "n1", "namespace": "kube-node-lease"}}
        node.store.add(
            {
                "apiVersion": "coordination.k8s.io/v1",
                **lease,
                "spec": {"holderIdentity": "old-agent"},
            }
        )

    with node_stage(prepare=prepare) as node:
        node.play.advance(60.0)
        assert node.lease["spec"]["holderIdentity"] == "n1"
        assert rivals(logs) == ["old-agent holds it"]


def test_a_kubelet_that_renews_the_same_lease_is_one_warning(
    node: NodeStage, logs: list[MutableMapping[str, Any]]
) -> None:
    node.play.advance(5.0)
    somebody_renews_the_lease(node)
    node.play.advance(10.0)
    somebody_renews_the_lease(node)
    node.play.advance(30.0)
    assert rivals(logs) == ["it was renewed in our name"]


def test_a_renewal_of_ours_whose_answer_was_lost_is_nobody_else_s(
    node: NodeStage, logs: list[MutableMapping[str, Any]]
) -> None:
    node.api.calls.lose_answers(when=asks(Verb.UPDATE, LEASES))
    assert lease_asked(node, 11.0)[-2:] == [LOOKED, RENEWED]
    node.store.change("leases", "kube-node-lease", "n1", metadata={"labels": {"a": "b"}})
    assert LOOKED in lease_asked(node, 11.0)
    assert rivals(logs) == []


# --- trouble ----------------------------------------


def test_a_renewal_that_fails_is_tried_again_with_growing_waits_one_at_a_time(
    node: NodeStage, logs: list[MutableMapping[str, Any]]
) -> None:
    node.api.calls.fail(FailureKind.TIMEOUT, when=asks(Verb.UPDATE, LEASES), times=ALWAYS)
    node.play.advance(9.9)
    assert len(lease_asked(node, 0.6)) in {1, 2}
    node.play.advance(60.0)
    node.asked()
    assert 5 <= len(lease_asked(node, 42.0)) <= 6  # 7 s each at last

    node.api.calls.recover()
    assert lease_asked(node, 7.2) == [RENEWED]
    told = [event["event"] for event in logs if "Lease" in event["event"]]
    assert [text for text in told if text.startswith("can ")] == [
        "can renew the Lease of the Node again"
    ]
    warned = [event for event in logs if event["log_level"] == "warning"]
    assert [event["event"] for event in warned] == ["cannot renew the Lease of the Node"]


def test_a_server_that_wants_to_be_left_alone_costs_one_renewal_and_not_the_lease(
    node: NodeStage,
) -> None:
    busy = ApiFailure(
        kind=FailureKind.THROTTLED,
        retry=Retry.AFTER_DELAY,
        sentence="too many requests",
        status=429,
        retry_after=Seconds(60.0),
    )
    node.api.calls.fail(busy, when=asks(Verb.UPDATE, LEASES))
    assert lease_asked(node, 10.4) == [RENEWED]
    assert lease_asked(node, 9.5) == []
    assert lease_asked(node, 0.6) == [RENEWED]
    assert node.lease["spec"]["renewTime"] > "2023-11-14T22:13:39"


def test_an_api_server_that_is_away_at_first_is_waited_for() -> None:
    with node_stage(prepare=lambda node: node.api.go_away()) as node:
        node.play.advance(60.0)
        node.api.come_back()
        node.play.advance(7.2)
        assert owner_of(node) == node.uid


def test_no_two_calls_are_under_way_at_once(node: NodeStage) -> None:
    node.api.calls.hold(asks(Verb.UPDATE, LEASES))
    assert lease_asked(node, 10.4) == [RENEWED]
    node.store.remove("nodes", "n1")  # would be a reason to renew at once
    assert lease_asked(node, 15.0) == []

    node.api.calls.release()
    assert lease_asked(node) == [RENEWED]
    assert owner_of(node) == node.uid


def test_a_renewal_that_nobody_answers_is_given_up_while_the_lease_is_still_good(
    node: NodeStage,
) -> None:
    # As when the sender of calls crashes just as it takes this one in.
    node.api.calls.hold(asks(Verb.UPDATE, LEASES))
    assert lease_asked(node, 10.4) == [RENEWED]
    assert lease_asked(node, 21.0) == [RENEWED]


def test_a_new_owner_is_not_lost_when_a_renewal_fails_meanwhile(node: NodeStage) -> None:
    node.api.calls.hold(asks(Verb.UPDATE, LEASES))
    node.play.advance(33.0)
    node.store.remove("nodes", "n1")
    node.api.calls.fail(FailureKind.TIMEOUT, when=asks(Verb.UPDATE, LEASES))
    node.api.calls.release()
    node.play.settle()
    assert owner_of(node) == node.uid


# --- crashes ----------------------------------------


def test_a_new_life_looks_and_goes_on(node: NodeStage) -> None:
    node.crashes(LEASE_KEEPER)
    assert lease_asked(node)[:2] == [LOOKED, RENEWED]
    assert lease_asked(node, 10.4) == [RENEWED]
    assert owner_of(node) == node.uid


@FATES_OF_A_CALL
@pytest.mark.parametrize("verb", [Verb.GET, Verb.CREATE])
def test_a_crash_with_a_call_under_way_makes_one_lease(
    verb: Verb, fate: Callable[[FakeCalls], None]
) -> None:
    def prepare(node: NodeStage) -> None:
        node.api.calls.hold(asks(verb, LEASES))

    with node_stage(prepare=prepare) as node:
        node.goes_down(LEASE_KEEPER)
        fate(node.api.calls)
        node.api.calls.release()
        node.play.advance(1.0)
        assert owner_of(node) == node.uid
        assert lease_asked(node, 10.4)[-1] == RENEWED


def test_a_registrar_that_crashes_does_not_hold_up_renewals(node: NodeStage) -> None:
    node.goes_down(NODE_REGISTRAR)
    assert lease_asked(node, 10.4) == [RENEWED]
    assert owner_of(node) == node.uid


def test_an_ordered_stop_leaves_the_lease_to_run_out(node: NodeStage) -> None:
    assert node.play.stop() == 0
    assert lease_asked(node) == []
    assert node.store.has("leases", "kube-node-lease", "n1")
