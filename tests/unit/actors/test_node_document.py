"""The Node as the API writes it, and patches that touch nothing of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.node.conditions import current_conditions, pressures
from actors.node.document import (
    ATTACH_DETACH,
    has_news,
    machine_status,
    new_node,
    reconciliation,
    report,
    without_leftovers,
)
from actors.node.followers import fact_of, is_news
from actors.node.rules import NodeRules
from messages.api import Patch, Verb
from messages.node import NodeIs, NodeIsGone, NodeUid
from messages.units import Timestamp
from tests.support.apiserver.patches import patched
from tests.support.node.node_stage import FACTS, GIB, HEALTHY, RULES

FOUND = current_conditions(pressures(HEALTHY), ())
NOW = Timestamp(1_700_000_000.0)
NODE = new_node(RULES, FACTS, FOUND, NOW)
STATUS = machine_status(RULES, FACTS)


def with_status(**status: Any) -> dict[str, Any]:
    return {**NODE, "status": {**NODE["status"], **status}}


def sent(present: Any, wanted: Any = STATUS) -> dict[str, Any]:
    """Return the status in the report on ``present``, without its conditions."""
    request = report(RULES, present, wanted, FOUND, NOW)
    assert request.body is not None
    return {key: value for key, value in request.body["status"].items() if key != "conditions"}


# --- the Node to create ----------------------------------------


def test_a_new_node_is_ready_from_its_first_moment() -> None:
    assert [each["type"] for each in NODE["status"]["conditions"]][-1] == "Ready"
    assert NODE["spec"] == {}
    assert NODE["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"


def test_labels_that_were_told_are_stronger_than_those_of_every_node() -> None:
    rules = replace(RULES, labels={"kubernetes.io/hostname": "other", "zone": "a"})
    labels = new_node(rules, FACTS, FOUND, NOW)["metadata"]["labels"]
    assert labels["kubernetes.io/hostname"] == "other"
    assert labels["zone"] == "a"
    assert labels["kubernetes.io/os"] == "linux"


def test_a_new_node_has_its_taints() -> None:
    rules = replace(RULES, taints=({"key": "dedicated", "value": "edge", "effect": "NoSchedule"},))
    assert new_node(rules, FACTS, FOUND, NOW)["spec"] == {
        "taints": [{"key": "dedicated", "value": "edge", "effect": "NoSchedule"}]
    }


def test_a_new_node_has_the_taints_of_its_runtime_unless_others_were_told() -> None:
    gpu, edge = {"key": "gpu", "effect": "NoSchedule"}, {"key": "edge", "effect": "NoSchedule"}
    facts = replace(FACTS, taints=(gpu,))

    def taints(told: tuple[dict[str, str], ...] | None) -> object:
        return new_node(replace(RULES, taints=told), facts, FOUND, NOW)["spec"].get("taints")

    assert taints(None) == [gpu]
    assert taints((edge,)) == [edge]
    assert taints(()) is None


def test_taints_of_a_node_that_exists_are_left_alone() -> None:
    present = {**NODE, "spec": {"taints": [{"key": "theirs", "effect": "NoExecute"}]}}
    facts = replace(FACTS, taints=({"key": "actorlet/virtual", "effect": "NoSchedule"},))
    assert reconciliation(replace(RULES, taints=None), facts, present) is None


def test_storage_that_is_not_the_nodes_any_more_is_taken_back() -> None:
    wanted = machine_status(RULES, replace(FACTS, storage=None))
    assert sent(NODE, wanted) == {
        "capacity": {"ephemeral-storage": None},
        "allocatable": {"ephemeral-storage": None},
    }


def test_pods_cannot_have_what_is_kept_free_for_evictions_nor_huge_pages() -> None:
    facts = replace(FACTS, hugepages={2 * 2**20: GIB, GIB: 0})
    status = machine_status(RULES, facts)
    assert status["capacity"] == {
        "cpu": "4",
        "memory": "8388608Ki",
        "ephemeral-storage": "104857600Ki",
        "pods": "110",
        "hugepages-2Mi": "1Gi",
        "hugepages-1Gi": "0",
    }
    assert status["allocatable"] == {
        **status["capacity"],
        "memory": f"{(7 * GIB - 100 * 2**20) // 1024}Ki",
        "ephemeral-storage": f"{90 * GIB // 1024}Ki",
    }


def test_a_tiny_machine_has_no_less_than_nothing() -> None:
    status = machine_status(RULES, replace(FACTS, memory=64 * 2**20))
    assert status["allocatable"]["memory"] == "0Ki"


def test_the_version_is_a_semantic_one_and_nobody_s_but_ours() -> None:
    assert STATUS["nodeInfo"]["kubeletVersion"] == "v0.1.0+actorlet"
    assert STATUS["nodeInfo"]["containerRuntimeVersion"] == "actorlet://0.1.0"


def test_an_endpoint_is_named_only_when_there_is_one() -> None:
    assert "daemonEndpoints" not in STATUS
    status = machine_status(replace(RULES, endpoint_port=10250), FACTS)
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}


# --- what exists already ----------------------------------------


def test_labels_are_patched_alone_and_only_those_that_differ() -> None:
    rules = NodeRules(name="n1", version="0.1.0", labels={"zone": "b"})
    labels = {**NODE["metadata"]["labels"], "zone": "a", "foreign": "1"}
    request = reconciliation(rules, FACTS, {"metadata": {**NODE["metadata"], "labels": labels}})
    assert request is not None
    assert (request.verb, request.path, request.patch) == (
        Verb.PATCH,
        "/api/v1/nodes/n1",
        Patch.MERGE,
    )
    assert request.body == {"metadata": {"labels": {"zone": "b"}}}


def test_a_node_with_our_labels_is_not_patched() -> None:
    assert reconciliation(RULES, FACTS, NODE) is None


def test_a_node_without_any_labels_gets_ours() -> None:
    request = reconciliation(RULES, FACTS, {"metadata": {**NODE["metadata"], "labels": None}})
    assert request is not None
    assert request.body == {"metadata": {"labels": NODE["metadata"]["labels"]}}


@pytest.mark.parametrize(
    ("is_attached", "present", "sent"),
    [
        (True, None, "true"),
        (True, {}, "true"),
        (True, {ATTACH_DETACH: "false"}, "true"),
        (False, {ATTACH_DETACH: "true"}, None),
    ],
)
def test_a_node_that_says_otherwise_who_attaches_volumes_is_patched(
    present: dict[str, str] | None, sent: str | None, *, is_attached: bool
) -> None:
    rules = replace(RULES, has_volumes_attached=is_attached)
    annotations = None if present is None else {"mine": "1", **present}
    metadata = {**NODE["metadata"], "annotations": annotations}
    request = reconciliation(rules, FACTS, {"metadata": metadata})
    assert request is not None
    assert request.body == {"metadata": {"annotations": {ATTACH_DETACH: sent}}}


def test_a_node_whose_volumes_nobody_attaches_says_nothing_of_it() -> None:
    rules = replace(RULES, has_volumes_attached=False)
    node = new_node(rules, FACTS, FOUND, NOW)
    assert node["metadata"]["annotations"] == {}
    assert reconciliation(rules, FACTS, node) is None


# --- the status ----------------------------------------


def test_a_report_without_news_holds_only_the_conditions() -> None:
    assert not has_news(NODE, STATUS, FOUND)
    assert sent(NODE) == {}


def test_a_node_without_a_status_gets_all_of_it() -> None:
    assert has_news({"metadata": {}}, STATUS, FOUND)
    everything = sent({"metadata": {}})
    assert everything["addresses"][-1] == {"$patch": "replace"}
    said = {key: value for key, value in STATUS["nodeInfo"].items() if value}
    assert {**everything, "addresses": everything["addresses"][:-1]} == {**STATUS, "nodeInfo": said}


def test_amounts_are_compared_and_not_how_they_are_written() -> None:
    rewritten = {**NODE["status"]["capacity"], "memory": "8Gi", "cpu": "4000m"}
    assert not has_news(with_status(capacity=rewritten), STATUS, FOUND)


def test_another_amount_is_sent_alone_and_resources_of_others_stay() -> None:
    present = with_status(capacity={**STATUS["capacity"], "cpu": "2", "example.org/gpu": "1"})
    assert has_news(present, STATUS, FOUND)
    assert sent(present) == {"capacity": {"cpu": "4"}}


def test_sizes_of_huge_pages_that_the_machine_no_longer_has_are_taken_away() -> None:
    present = with_status(allocatable={**STATUS["allocatable"], "hugepages-1Gi": "0"})
    assert has_news(present, STATUS, FOUND)
    assert sent(present) == {"allocatable": {"hugepages-1Gi": None}}


def test_extended_resources_become_nothing_in_both_counts_apart() -> None:
    present = with_status(
        capacity={"example.org/gpu": "2", "kubernetes.io/odd": "1", "a.kubernetes.io/odd": "1"},
        allocatable={"example.org/nic": "8", "attachable-volumes-ebs": "25", "pods": "5"},
    )
    wanted = without_leftovers(STATUS, present)
    assert wanted["capacity"] == {**STATUS["capacity"], "example.org/gpu": "0"}
    assert wanted["allocatable"] == {**STATUS["allocatable"], "example.org/nic": "0"}
    assert without_leftovers(STATUS, {"metadata": {}}) == STATUS


def test_what_is_empty_is_not_sent_and_no_news_where_it_is_left_out() -> None:
    assert "kubeProxyVersion" not in NODE["status"]["nodeInfo"]
    assert not has_news(NODE, STATUS, FOUND)
    assert not has_news(with_status(nodeInfo=STATUS["nodeInfo"]), STATUS, FOUND)


def test_what_is_empty_takes_the_place_of_what_somebody_else_said() -> None:
    present = with_status(nodeInfo={**STATUS["nodeInfo"], "kubeProxyVersion": "v1.29.0"})
    assert sent(present) == {"nodeInfo": {"kubeProxyVersion": ""}}


def test_another_kernel_is_news() -> None:
    present = with_status(nodeInfo={**STATUS["nodeInfo"], "kernelVersion": "5.10"})
    assert sent(present) == {"nodeInfo": {"kernelVersion": "6.1.0"}}


def test_a_text_that_is_no_amount_is_compared_as_a_text() -> None:
    present = with_status(nodeInfo={**STATUS["nodeInfo"], "bootID": None})
    assert sent(present) == {"nodeInfo": {"bootID": "b00t"}}


def test_two_addresses_of_one_type_both_arrive_and_those_of_others_stay() -> None:
    outside = {"type": "ExternalIP", "address": "203.0.113.9"}
    present = with_status(addresses=[*STATUS["addresses"], outside])
    assert not has_news(present, STATUS, FOUND)

    wanted = machine_status(RULES, replace(FACTS, addresses=("10.0.0.8", "fd00::8")))
    request = report(RULES, present, wanted, FOUND, NOW)
    assert request.body is not None
    assert patched(present, request.body, request.patch)["status"]["addresses"] == [
        {"type": "InternalIP", "address": "10.0.0.8"},
        {"type": "InternalIP", "address": "fd00::8"},
        {"type": "Hostname", "address": "n1"},
        outside,
    ]


def test_while_the_machine_shows_no_address_those_of_the_node_stay() -> None:
    wanted = machine_status(RULES, replace(FACTS, addresses=()))
    assert not has_news(NODE, wanted, FOUND)

    # As somebody else wrote them, with a name that is ours no more.
    theirs = [{"type": "Hostname", "address": "old"}, {"type": "InternalIP", "address": "fd00::9"}]
    assert sent(with_status(addresses=theirs), wanted)["addresses"] == [
        {"type": "InternalIP", "address": "fd00::9"},
        {"type": "Hostname", "address": "n1"},
        {"$patch": "replace"},
    ]


# --- what followers are told ----------------------------------------


def seen(uid: str = "u1", **more: Any) -> dict[str, Any]:
    return {"metadata": {"uid": uid, **more.pop("metadata", {})}, **more}


def test_no_node_is_a_node_that_is_gone() -> None:
    assert fact_of("n1", None) == NodeIsGone(name="n1")


def test_a_node_being_deleted_is_marked() -> None:
    node = seen(metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"})
    assert fact_of("n1", node) == NodeIs(
        name="n1", uid=NodeUid("u1"), is_deleting=True, document=node
    )


@pytest.mark.parametrize(
    "later",
    [
        None,
        seen("u2"),
        seen(metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"}),
        seen(metadata={"labels": {"a": "b"}}),
        seen(metadata={"annotations": {"a": "b"}}),
        seen(spec={"unschedulable": True}),
    ],
    ids=["gone", "uid", "deletion", "labels", "annotations", "spec"],
)
def test_worth_telling(later: Any) -> None:
    assert is_news(fact_of("n1", later), fact_of("n1", seen()))


def test_a_status_and_a_version_are_not_worth_telling() -> None:
    later = seen(status={"conditions": []}, metadata={"resourceVersion": "9", "labels": None})
    assert not is_news(fact_of("n1", later), fact_of("n1", seen()))
    assert not is_news(fact_of("n1", None), fact_of("n1", None))


def test_resources_that_others_count_are_worth_telling() -> None:
    later = seen(status={"allocatable": {"cpu": "9", "example.com/gpu": "2"}})
    assert is_news(fact_of("n1", later), fact_of("n1", seen()))
    more_cores = seen(status={"allocatable": {"cpu": "9"}})
    assert not is_news(fact_of("n1", more_cores), fact_of("n1", seen()))


def test_the_first_word_is_worth_telling() -> None:
    assert is_news(fact_of("n1", None), None)
    assert is_news(fact_of("n1", seen()), None)
