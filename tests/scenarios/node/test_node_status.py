"""What the Node says of the machine and of the agent, and how often it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from actors.node.conditions import Availability
from messages.api import FailureKind, Verb
from tests.support.apiserver.fake_api import ALWAYS, asks
from tests.support.node.node_stage import FACTS, NodeStage, node_stage

REPORTED = "PATCH /api/v1/nodes/n1/status"
ALL_IS_WELL = {
    "MemoryPressure": "False",
    "DiskPressure": "False",
    "PIDPressure": "False",
    "Ready": "True",
}
AT_START = "2023-11-14T22:13:20Z"


@pytest.fixture
def node() -> Iterator[NodeStage]:
    with node_stage(lease=False) as node:
        node.asked()
        yield node


def test_rule_n4_conditions_come_in_their_order(node: NodeStage) -> None:
    assert list(node.states().items()) == list(ALL_IS_WELL.items())


def test_rule_n2_the_machine_is_looked_at_every_ten_seconds_and_reported_every_five_minutes(
    node: NodeStage,
) -> None:
    looks = node.machine.looks
    assert node.asked_within(299.0) == []
    assert 28 <= node.machine.looks - looks <= 29

    # At the first look after five minutes and at most a tenth of it.
    assert node.asked_within(42.0) == [REPORTED]
    assert node.condition("Ready")["lastTransitionTime"] == AT_START
    assert node.condition("Ready")["lastHeartbeatTime"] > AT_START
    # That was 300 s after the start or later, so the next is not due before 600 s.
    assert node.asked_within(258.0) == []


def test_looks_that_come_early_do_not_multiply(node: NodeStage) -> None:
    node.loops_fail("source/http")
    node.loops_fail()
    looks = node.machine.looks
    node.play.advance(101.0)
    assert node.machine.looks - looks in {9, 10}


def test_a_pressure_is_reported_at_the_next_look_with_its_time(node: NodeStage) -> None:
    node.play.advance(60.0)
    node.machine.feels(memory_free=0)
    assert node.asked_within(10.4) == [REPORTED]
    assert node.states() == {**ALL_IS_WELL, "MemoryPressure": "True"}
    pressure = node.condition("MemoryPressure")
    assert pressure["lastTransitionTime"] == pressure["lastHeartbeatTime"] > AT_START
    assert node.condition("DiskPressure")["lastTransitionTime"] == AT_START


def test_rule_e4_a_pressure_that_comes_and_goes_moves_the_condition_once(node: NodeStage) -> None:
    node.machine.feels(storage=Availability(free=1, total=100))
    node.play.advance(11.0)
    changed = node.condition("DiskPressure")["lastTransitionTime"]

    node.machine.feels(storage=Availability(free=50, total=100))
    node.play.advance(100.0)
    node.machine.feels(storage=Availability(free=1, total=100))
    node.play.advance(100.0)
    node.machine.feels(storage=Availability(free=50, total=100))
    node.play.advance(289.0)
    assert node.condition("DiskPressure")["status"] == "True"
    assert node.condition("DiskPressure")["lastTransitionTime"] == changed

    # Five minutes after it was last seen it is over.
    node.play.advance(22.0)
    assert node.states() == ALL_IS_WELL
    assert node.condition("DiskPressure")["lastTransitionTime"] > changed


def test_failing_loops_make_the_node_unready_at_once_and_back(node: NodeStage) -> None:
    node.play.advance(5.0)
    node.asked()
    node.loops_fail("source/http", "mirror-keeper")
    assert node.asked() == [REPORTED]
    ready = node.condition("Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ActorsFailed")
    assert ready["message"].endswith(": mirror-keeper, source/http")
    assert ready["lastTransitionTime"] == "2023-11-14T22:13:25Z"

    node.play.advance(5.0)
    node.loops_fail()
    assert node.states() == ALL_IS_WELL
    assert node.condition("Ready")["lastTransitionTime"] == "2023-11-14T22:13:30Z"


def test_loops_that_go_on_failing_are_reported_once(node: NodeStage) -> None:
    node.loops_fail("source/http")
    node.asked()
    node.loops_fail("source/http")
    assert node.asked() == []


def test_another_loop_that_fails_is_no_transition(node: NodeStage) -> None:
    node.loops_fail("source/http")
    before = node.condition("Ready")
    node.play.advance(5.0)
    node.loops_fail("source/file", "source/http")
    after = node.condition("Ready")
    assert after["message"] != before["message"]
    assert after["lastTransitionTime"] == before["lastTransitionTime"]


def test_what_a_runtime_says_of_the_node_is_reported_at_once_and_back(node: NodeStage) -> None:
    node.play.advance(3.0)
    node.asked()
    down = {"Ready": "container runtime is down: refused"}
    node.runtime_says(troubles=down, trouble_reason="KubeletNotReady", runtime="")
    assert node.asked() == [REPORTED]
    ready = node.condition("Ready")
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "False",
        "KubeletNotReady",
        "container runtime is down: refused",
    )
    assert ready["lastTransitionTime"] == "2023-11-14T22:13:23Z"

    node.play.advance(4.0)
    node.runtime_says(runtime="containerd://1.6.20")
    assert node.asked() == [REPORTED]
    assert node.states() == ALL_IS_WELL
    assert node.node["status"]["nodeInfo"]["containerRuntimeVersion"] == "containerd://1.6.20"


def test_a_runtime_that_does_not_say_its_version_yet_keeps_the_one_that_it_had(
    node: NodeStage,
) -> None:
    node.runtime_says(runtime="containerd://1.6.20")
    node.runtime_says(runtime="")
    node.runtime_says(runtime="", troubles={"Ready": "down"})
    assert node.node["status"]["nodeInfo"]["containerRuntimeVersion"] == "containerd://1.6.20"


def test_a_change_of_the_machine_is_reported_alone(node: NodeStage) -> None:
    node.machine.facts = replace(FACTS, addresses=("10.0.0.9",), cpus=8)
    node.play.advance(10.5)
    (request,) = node.api.calls.requests
    assert request.body is not None
    assert set(request.body["status"]) == {"addresses", "capacity", "allocatable", "conditions"}
    assert node.node["status"]["addresses"] == [
        {"type": "InternalIP", "address": "10.0.0.9"},
        {"type": "Hostname", "address": "n1"},
    ]


def test_a_default_route_that_is_lost_for_a_while_takes_no_address_off_the_node(
    node: NodeStage,
) -> None:
    before = node.node["status"]["addresses"]
    node.machine.facts = replace(FACTS, addresses=())
    assert node.asked_within(60.0) == []
    assert node.node["status"]["addresses"] == before

    node.machine.facts = replace(FACTS, addresses=("10.0.0.9",))
    node.play.advance(11.0)
    assert node.node["status"]["addresses"] == [
        {"type": "InternalIP", "address": "10.0.0.9"},
        {"type": "Hostname", "address": "n1"},
    ]


def test_conditions_of_others_stay_as_they_are(node: NodeStage) -> None:
    theirs = {"type": "KernelDeadlock", "status": "False", "reason": "KernelHasNoDeadlock"}
    node.store.change(
        "nodes", "n1", status={"conditions": [*node.node["status"]["conditions"], theirs]}
    )
    node.loops_fail("source/http")
    assert node.condition("KernelDeadlock") == theirs


def test_a_status_that_somebody_overwrites_is_mended_at_the_next_look_and_not_before(
    node: NodeStage,
) -> None:
    # As the node lifecycle controller does when it has not heard of a node.
    unknown = [{**each, "status": "Unknown"} for each in node.node["status"]["conditions"]]
    node.store.change("nodes", "n1", status={"conditions": unknown})
    node.play.settle()
    assert node.asked() == []
    assert node.asked_within(10.4) == [REPORTED]
    assert node.states() == ALL_IS_WELL


# --- trouble ----------------------------------------


def test_rule_n2_a_report_is_attempted_five_times_and_again_at_a_later_look(
    node: NodeStage,
) -> None:
    node.api.calls.fail(FailureKind.SERVER_ERROR, times=ALWAYS)
    node.loops_fail("source/http")
    assert node.asked_within(9.9) == [REPORTED] * 4
    assert node.condition("Ready")["status"] == "True"

    node.api.calls.recover()
    assert node.asked_within(11.0) == [REPORTED]
    assert node.condition("Ready")["status"] == "False"


def test_a_report_that_is_refused_for_good_waits_for_the_next_look(node: NodeStage) -> None:
    node.api.calls.fail(FailureKind.INVALID, times=1)
    node.loops_fail("source/http")
    assert node.asked() == [REPORTED]
    assert node.asked_within(9.0) == []
    assert node.asked_within(1.4) == [REPORTED]


def test_a_report_that_conflicts_is_preceded_by_a_look(node: NodeStage) -> None:
    node.api.calls.fail(FailureKind.CONFLICT, when=asks(Verb.PATCH))
    node.loops_fail("source/http")
    assert node.asked() == [REPORTED, "GET /api/v1/nodes/n1"]
    assert node.asked_within(0.4) == [REPORTED]
    assert node.condition("Ready")["status"] == "False"


def test_news_that_come_while_a_report_is_under_way_are_reported_after_it(node: NodeStage) -> None:
    node.api.calls.hold()
    node.loops_fail("source/http")
    node.loops_fail()
    node.loops_fail("source/file")
    assert node.asked() == [REPORTED]  # one at a time

    node.api.calls.release()
    node.play.settle()
    assert node.condition("Ready")["message"].endswith(": source/file")
    assert node.asked() == [REPORTED]
