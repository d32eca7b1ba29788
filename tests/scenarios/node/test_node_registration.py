"""The Node is registered, found, labelled, taken away and registered again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from actors.node.document import ATTACH_DETACH
from actors.node.registrar import NODE_REGISTRAR
from messages.api import ApiFailure, FailureKind, Retry, Verb
from messages.units import Seconds
from tests.support.apiserver.core import Refusal
from tests.support.apiserver.fake_api import ALWAYS, FakeCalls, asks
from tests.support.node.node_stage import FATES_OF_A_CALL, RULES, NodeStage, node_stage

CREATED, LOOKED = "POST /api/v1/nodes", "GET /api/v1/nodes/n1"
PATCHED, REPORTED = "PATCH /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1/status"

THEIRS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "n1",
        "labels": {"kubernetes.io/os": "plan9", "team": "blue"},
        "annotations": {"example.org/note": "mine"},
    },
    "spec": {
        "unschedulable": True,
        "taints": [{"key": "example.org/broken", "effect": "NoSchedule"}],
        "podCIDR": "10.1.0.0/24",
    },
    "status": {
        "capacity": {"attachable-volumes-example": "25"},
        "conditions": [{"type": "NetworkUnavailable", "status": "False"}],
    },
}


@pytest.fixture
def node() -> Iterator[NodeStage]:
    with node_stage(lease=False) as node:
        yield node


def warnings(logs: list[MutableMapping[str, Any]]) -> list[str]:
    return [event["reason"] for event in logs if event["log_level"] == "warning"]


# --- there is no Node ----------------------------------------


def test_a_node_is_registered_at_once_with_its_status(node: NodeStage) -> None:
    assert node.asked() == [CREATED]
    assert node.condition("Ready")["status"] == "True"
    assert node.node["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"
    assert node.follows().heard() == [f"is {node.uid}"]


def test_labels_and_taints_that_were_told_are_registered() -> None:
    rules = replace(
        RULES, labels={"zone": "a"}, taints=({"key": "edge", "value": "1", "effect": "NoExecute"},)
    )
    with node_stage(rules, lease=False) as node:
        assert node.node["metadata"]["labels"]["zone"] == "a"
        assert node.node["spec"]["taints"][0] == {
            "key": "edge",
            "value": "1",
            "effect": "NoExecute",
        }


def test_a_follower_hears_that_there_is_none_and_then_of_it(node: NodeStage) -> None:
    follower = node.follows()
    first = node.uid
    node.play.advance(60.0)
    node.store.remove("nodes", "n1")
    node.play.settle()

    # Registered again at once, as another Node.
    assert node.uid != first
    assert follower.heard() == [f"is {first}", "gone", f"is {node.uid}"]
    assert node.condition("Ready")["status"] == "True"


def test_a_node_that_is_taken_away_time_after_time_comes_back_more_slowly(node: NodeStage) -> None:
    node.store.remove("nodes", "n1")
    node.play.settle()
    assert node.store.has("nodes", "n1")  # once may be a mistake

    node.store.remove("nodes", "n1")
    assert node.asked_within(0.19) == []
    assert node.asked_within(0.12) == [CREATED]
    node.store.remove("nodes", "n1")
    assert node.asked_within(0.39) == []
    assert node.asked_within(0.12) == [CREATED]

    # One that was left alone for half a minute is registered at once again.
    node.play.advance(31.0)
    node.store.remove("nodes", "n1")
    node.play.settle()
    assert node.store.has("nodes", "n1")


def test_an_agent_that_shall_not_register_waits_for_its_node_and_reports_only() -> None:
    rules = replace(RULES, register=False, labels={"zone": "a"})
    with node_stage(rules, lease=False) as node:
        follower = node.follows()
        assert node.asked_within(60.0) == []
        assert follower.heard() == ["gone"]

        node.store.add(THEIRS)
        node.play.settle()
        assert node.asked() == [REPORTED]
        assert follower.heard() == [f"is {node.uid}"]
        assert node.condition("Ready")["status"] == "True"
        assert node.node["metadata"]["labels"] == THEIRS["metadata"]["labels"]

        node.store.remove("nodes", "n1")
        assert node.asked_within(60.0) == []
        assert follower.heard() == ["gone"]


def test_a_node_that_somebody_else_registers_anew_is_reported_at_once() -> None:
    rules = replace(RULES, register=False)
    with node_stage(rules, lease=False, prepare=lambda node: node.store.add(THEIRS)) as node:
        node.asked()
        node.store.remove("nodes", "n1")
        node.store.add(THEIRS)
        node.play.settle()
        assert node.asked() == [REPORTED]
        assert node.condition("Ready")["status"] == "True"


# --- there is one already ----------------------------------------


def test_a_node_that_exists_gets_our_labels_and_keeps_what_others_wrote() -> None:
    rules = replace(
        RULES, labels={"zone": "a"}, taints=({"key": "edge", "value": "1", "effect": "NoExecute"},)
    )
    with node_stage(rules, lease=False, prepare=lambda node: node.store.add(THEIRS)) as node:
        assert node.asked() == [PATCHED, REPORTED]
        labels = node.node["metadata"]["labels"]
        assert (labels["kubernetes.io/os"], labels["zone"], labels["team"]) == (
            "linux",
            "a",
            "blue",
        )
        assert node.node["metadata"]["annotations"] == {
            "example.org/note": "mine",
            ATTACH_DETACH: "true",
        }
        assert node.node["spec"]["unschedulable"] is True
        assert node.node["spec"]["podCIDR"] == "10.1.0.0/24"
        keys = [taint["key"] for taint in node.node["spec"]["taints"]]
        assert keys == ["example.org/broken", "node.kubernetes.io/not-ready"]
        assert node.node["status"]["capacity"]["attachable-volumes-example"] == "25"
        assert node.states()["NetworkUnavailable"] == "False"


def test_a_node_whose_volumes_a_controller_attached_until_now_says_so_no_longer() -> None:
    theirs = {**THEIRS, "metadata": {**THEIRS["metadata"]}}
    theirs["metadata"]["annotations"] = {"example.org/note": "mine", ATTACH_DETACH: "true"}
    rules = replace(RULES, has_volumes_attached=False)
    with node_stage(rules, lease=False, prepare=lambda node: node.store.add(theirs)) as node:
        assert node.asked() == [PATCHED, REPORTED]
        assert node.node["metadata"]["annotations"] == {"example.org/note": "mine"}


def test_a_node_is_labelled_once_and_then_left_to_its_users(node: NodeStage) -> None:
    node.store.change("nodes", "n1", metadata={"labels": {"kubernetes.io/os": "plan9"}})
    node.store.change("nodes", "n1", spec={"unschedulable": True})
    assert node.asked_within(60.0) == []
    assert node.node["metadata"]["labels"]["kubernetes.io/os"] == "plan9"
    assert node.node["spec"]["unschedulable"] is True


def test_an_agent_that_restarts_finds_its_node_and_reports(node: NodeStage) -> None:
    uid, follower = node.uid, node.follows()
    node.asked()
    node.crashes(NODE_REGISTRAR)
    assert node.asked() == [REPORTED]
    assert node.uid == uid
    assert follower.heard() == [f"is {uid}"]


def test_a_registration_that_nobody_answers_is_given_up_and_made_again() -> None:
    def hold(node: NodeStage) -> None:
        node.api.calls.hold()  # as when the sender of calls crashes just as it takes this one in

    with node_stage(lease=False, prepare=hold) as node:
        assert node.asked() == [CREATED]
        node.play.advance(19.0)
        assert node.asked() == []
        node.play.advance(2.0)
        assert node.asked() == [CREATED]


def test_a_registration_whose_answer_was_lost_is_found() -> None:
    def lose(node: NodeStage) -> None:
        node.api.calls.lose_answers(when=asks(Verb.CREATE))

    with node_stage(lease=False, prepare=lose) as node:
        follower = node.follows()
        node.play.advance(1.0)
        assert follower.heard() == [f"is {node.uid}"]
        assert node.asked().count(CREATED) == 1


def test_a_node_that_is_registered_while_the_watch_lags_is_looked_for() -> None:
    def lag(node: NodeStage) -> None:
        node.api.calls.hold()

    with node_stage(lease=False, prepare=lag) as node:
        follower = node.follows()
        assert node.asked() == [CREATED]
        node.api.watches.pause()
        node.store.add(THEIRS)
        node.api.calls.release()
        node.play.settle()

        # It exists already, says the API server; the watch has not told of it.
        assert node.asked() == [LOOKED, PATCHED, REPORTED]
        node.api.watches.resume()
        node.play.settle()
        assert follower.heard()[-1] == f"is {node.uid}"
        assert node.asked_within(1.0) == []


# --- what followers hear ----------------------------------------


def test_followers_hear_of_labels_annotations_and_spec_but_not_of_heartbeats(
    node: NodeStage,
) -> None:
    follower = node.follows()
    follower.drain()
    node.store.change("nodes", "n1", metadata={"labels": {"zone": "a"}})
    node.store.change("nodes", "n1", metadata={"annotations": {"a": "b"}})
    node.store.change("nodes", "n1", spec={"unschedulable": True})
    node.play.settle()
    assert follower.heard() == [f"is {node.uid}"] * 3

    assert REPORTED in node.asked_within(400.0)
    assert follower.heard() == []


def test_a_repeated_wish_to_follow_gives_the_present_state_again(node: NodeStage) -> None:
    follower = node.follows()
    assert node.follows() is follower
    assert follower.heard() == [f"is {node.uid}"] * 2
    node.store.change("nodes", "n1", spec={"unschedulable": True})
    node.play.settle()
    assert follower.heard() == [f"is {node.uid}"]


# --- trouble ----------------------------------------


def test_an_api_server_that_is_away_at_first_is_waited_for() -> None:
    with node_stage(lease=False, prepare=lambda node: node.api.go_away()) as node:
        follower = node.follows()
        asked = node.asked_within(60.0)
        assert set(asked) == {LOOKED}
        assert 12 <= len(asked) <= 14  # 0.2 s doubling to 7 s between them
        assert follower.heard() == []

        node.api.come_back()
        node.play.settle()
        assert node.asked() == [CREATED]
        assert follower.heard() == ["gone", f"is {node.uid}"]


def test_a_look_that_failed_is_over_once_the_watch_tells_of_the_node(
    logs: list[MutableMapping[str, Any]],
) -> None:
    with node_stage(lease=False, prepare=lambda node: node.api.go_away()) as node:
        node.play.advance(60.0)
        node.api.come_back()
        assert node.asked_within(30.0)[-1] == CREATED
        told = [event for event in logs if "look at" in event["event"]]
        assert [event["event"] for event in told if event["log_level"] != "debug"] == [
            "cannot look at the Node",
            "can look at the Node again",
        ]


def test_a_look_that_was_refused_is_repeated_once_the_watch_tells_of_the_node() -> None:
    # What is wrong with such a request is shown until one is answered.
    def prepare(node: NodeStage) -> None:
        node.api.watches.break_off(FailureKind.FORBIDDEN)
        node.api.calls.fail(FailureKind.FORBIDDEN, when=asks(Verb.GET), times=1)

    with node_stage(lease=False, prepare=prepare) as node:
        assert node.asked() == [LOOKED]
        node.api.watches.mend()
        node.play.settle()
        assert node.asked() == [CREATED, LOOKED]
        assert node.asked_within(60.0) == []


@pytest.mark.parametrize("why", [FailureKind.UNREACHABLE, FailureKind.FORBIDDEN])
def test_without_a_watch_a_node_is_looked_for_registered_and_reported(why: FailureKind) -> None:
    # Something between speaks HTTP/1.1 only, or nobody may list nodes.
    with node_stage(prepare=lambda node: node.api.watches.break_off(why)) as node:
        follower = node.follows()
        asked = node.asked()
        assert [request for request in asked if "leases" not in request] == [LOOKED, CREATED]
        assert follower.heard() == [f"is {node.uid}"]
        assert node.condition("Ready")["status"] == "True"
        assert REPORTED in node.asked_within(345.0)
        assert node.lease["spec"]["renewTime"] > "2023-11-14T22:18"


def test_without_a_watch_a_node_that_exists_is_found_and_missed_at_the_next_look() -> None:
    def prepare(node: NodeStage) -> None:
        node.store.add(THEIRS)
        node.api.watches.break_off()

    with node_stage(lease=False, prepare=prepare) as node:
        assert node.asked() == [LOOKED, PATCHED, REPORTED]
        node.store.remove("nodes", "n1")
        assert node.asked_within(10.5) == [LOOKED, CREATED]


def test_without_a_watch_a_node_that_others_register_is_found_at_the_next_look() -> None:
    def prepare(node: NodeStage) -> None:
        node.api.watches.break_off()

    with node_stage(replace(RULES, register=False), lease=False, prepare=prepare) as node:
        assert set(node.asked_within(60.0)) == {LOOKED}
        node.store.add(THEIRS)
        assert node.asked_within(10.5) == [LOOKED, REPORTED]
        assert node.condition("Ready")["status"] == "True"


def test_without_a_watch_a_node_that_was_marked_unknown_is_ready_after_the_next_look() -> None:
    with node_stage(lease=False, prepare=lambda node: node.api.watches.break_off()) as node:
        node.play.advance(60.0)
        node.is_marked_unknown()
        assert REPORTED in node.asked_within(10.5)
        assert node.condition("Ready")["status"] == "True"


def test_without_a_watch_a_node_that_was_marked_unknown_in_an_outage_is_ready_soon_after(
    node: NodeStage,
) -> None:
    node.api.watches.break_off()
    node.play.advance(20.0)
    node.api.calls.fail(FailureKind.UNREACHABLE, times=ALWAYS)
    node.play.advance(60.0)
    node.is_marked_unknown()
    node.api.calls.recover()
    node.play.advance(10.5)
    assert node.condition("Ready")["status"] == "True"


def test_without_a_watch_followers_hear_of_labels_at_the_next_look(node: NodeStage) -> None:
    follower = node.follows()
    node.api.watches.break_off()
    follower.drain()
    node.store.change("nodes", "n1", metadata={"labels": {"zone": "a"}})
    node.play.advance(10.5)
    assert follower.heard() == [f"is {node.uid}"]


def test_without_a_watch_there_is_one_look_at_the_node_for_each_at_the_machine(
    node: NodeStage,
) -> None:
    node.play.advance(10.5)
    node.api.watches.break_off()
    looks = node.machine.looks
    asked = node.asked_within(200.0)
    assert asked == [LOOKED] * (node.machine.looks - looks)


def test_a_watch_that_has_recovered_is_trusted_to_tell_of_a_node() -> None:
    def prepare(node: NodeStage) -> None:
        node.api.watches.break_off()

    with node_stage(replace(RULES, register=False), lease=False, prepare=prepare) as node:
        node.play.advance(60.0)
        node.api.watches.mend()
        node.play.advance(10.0)
        node.asked()
        assert node.asked_within(60.0) == []


def test_a_watch_that_breaks_off_for_a_moment_is_no_reason_to_look(node: NodeStage) -> None:
    node.asked()
    node.api.watches.break_off()
    node.play.advance(5.0)
    node.api.watches.mend()
    assert node.asked_within(60.0) == []


def test_an_api_server_that_goes_away_costs_nothing_but_looks(node: NodeStage) -> None:
    follower = node.follows()
    follower.drain()
    node.asked()
    node.api.go_away()
    asked = node.asked_within(600.0)
    assert set(asked) == {LOOKED}
    assert len(asked) <= 95  # 0.2 s doubling to 7 s between them
    assert follower.heard() == []

    node.api.come_back()
    node.play.advance(10.5)
    assert node.condition("Ready")["lastHeartbeatTime"] > "2023-11-14T22:23"
    assert follower.heard() == []


def test_a_node_that_was_deleted_while_nobody_could_see_it_is_registered_again(
    node: NodeStage,
) -> None:
    node.play.advance(60.0)
    node.api.go_away()
    node.store.remove("nodes", "n1")
    node.play.advance(60.0)
    node.asked()

    node.api.come_back()
    node.play.settle()
    assert node.asked() == [CREATED]


def test_a_report_that_finds_no_node_leads_to_a_registration(node: NodeStage) -> None:
    node.play.advance(60.0)
    node.api.watches.pause()
    node.store.remove("nodes", "n1")
    node.asked()
    node.loops_fail("pod-manager")
    assert node.asked() == [REPORTED, LOOKED, CREATED]


def test_a_registration_that_fails_is_tried_again_with_growing_waits() -> None:
    def fail(node: NodeStage) -> None:
        node.api.calls.fail(FailureKind.SERVER_ERROR, when=asks(Verb.CREATE), times=ALWAYS)

    with node_stage(lease=False, prepare=fail) as node:
        # After 0.2 s, 0.4 s more, 0.8 s more, each with up to 0.1 s of jitter.
        assert node.asked() == [CREATED]
        assert node.asked_within(0.19) == []
        assert node.asked_within(0.12) == [CREATED]
        assert node.asked_within(0.28) == []
        assert node.asked_within(0.22) == [CREATED]
        assert node.asked_within(0.58) == []
        assert node.asked_within(0.32) == [CREATED]
        node.play.advance(60.0)
        assert 6 <= len(node.asked_within(49.0)) <= 7  # 7 s each at last


def test_the_server_s_wish_to_be_left_alone_is_respected() -> None:
    wish = ApiFailure(
        kind=FailureKind.THROTTLED,
        retry=Retry.AFTER_DELAY,
        sentence="too many requests",
        status=429,
        retry_after=Seconds(20.0),
    )

    def fail(node: NodeStage) -> None:
        node.api.calls.fail(wish)

    with node_stage(lease=False, prepare=fail) as node:
        assert node.asked_within(19.9) == []
        assert node.asked_within(0.2) == [CREATED]


def test_a_registration_that_is_refused_is_one_warning_and_so_is_its_end_one_line(
    logs: list[MutableMapping[str, Any]],
) -> None:
    refusals: list[Refusal] = []

    def refuse(node: NodeStage) -> None:
        picks = asks(Verb.CREATE, "/nodes")
        refusals.append(node.store.refuse(picks, message="no nodes of your kind"))

    with node_stage(lease=False, prepare=refuse) as node:
        node.play.advance(120.0)
        (sentence,) = warnings(logs)
        assert "no nodes of your kind" in sentence

        refusals[0].lift()
        node.play.advance(10.0)
        assert node.store.has("nodes", "n1")
        assert [event["event"] for event in logs if event["event"].startswith("can register")] == [
            "can register the Node again"
        ]


def test_labels_that_are_refused_do_not_keep_the_status_from_being_reported() -> None:
    def refuse(node: NodeStage) -> None:
        node.store.add(THEIRS)
        node.api.calls.fail(
            FailureKind.INVALID,
            when=lambda request: request.path == "/api/v1/nodes/n1",
            times=ALWAYS,
        )

    with node_stage(lease=False, prepare=refuse) as node:
        assert node.asked() == [PATCHED, REPORTED]
        assert node.condition("Ready")["status"] == "True"
        # Nothing will change soon, so it is asked for as seldom as the status is reported.
        assert sorted(node.asked_within(345.0)) == [PATCHED, REPORTED]


# --- crashes at any point ----------------------------------------


@FATES_OF_A_CALL
def test_a_crash_while_a_registration_is_under_way_makes_one_node(
    fate: Callable[[FakeCalls], None],
) -> None:
    def hold(node: NodeStage) -> None:
        node.api.calls.hold()
        fate(node.api.calls)

    with node_stage(lease=False, prepare=hold) as node:
        follower = node.follows()
        node.goes_down(NODE_REGISTRAR)
        node.api.calls.release()
        node.play.advance(1.0)
        assert follower.heard() == ["gone", f"is {node.uid}"]
        assert node.asked().count(CREATED) <= 2


def test_a_node_that_is_deleted_while_the_registrar_is_down_is_registered_again(
    node: NodeStage,
) -> None:
    follower = node.follows()
    first = node.uid
    node.goes_down(NODE_REGISTRAR)
    node.store.remove("nodes", "n1")
    node.play.advance(1.0)
    assert follower.heard() == [f"is {first}", "gone", f"is {node.uid}"]


def test_followers_and_failed_loops_outlive_a_crash(node: NodeStage) -> None:
    follower = node.follows()
    node.loops_fail("source/http")
    node.crashes(NODE_REGISTRAR)
    assert node.condition("Ready")["reason"] == "ActorsFailed"
    follower.drain()
    node.store.change("nodes", "n1", spec={"unschedulable": True})
    node.play.settle()
    assert follower.heard() == [f"is {node.uid}"]


def test_an_ordered_stop_says_nothing(node: NodeStage) -> None:
    node.asked()
    assert node.play.stop() == 0
    assert node.asked() == []
