"""Which pods a node takes, and with which words it refuses others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from actors.pods.admission import Admission, AdmissionVerdict, Admitted, Preempt, Rejected
from actors.pods.node_fit import NodeView, view_of
from messages.node import NodeIs, NodeUid
from messages.pods import Pod, PodUid
from tests.support.builders import make_pod, uid_of

GI = 2**30
NODE = NodeView(
    name="edge-1",
    labels={"kubernetes.io/os": "linux", "zone": "a", "cores": "8"},
    allocatable={"cpu": 2000, "memory": 4 * GI, "ephemeral-storage": 10**9, "pods": 3},
)
ADMITTED = Admitted()
AFFINITY = Rejected(
    reason="NodeAffinity",
    message="Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
)


def api_pod(name: str = "web", priority: int | None = None, **spec: Any) -> Pod:
    """Return a pod of the API server, which preempts nothing."""
    more = {} if priority is None else {"priority": priority}
    return make_pod(name, source="api", spec={**spec, **more})


def wanting(name: str = "web", priority: int | None = None, **requests: str) -> Pod:
    named = {key.replace("_", "-"): text for key, text in requests.items()}
    return api_pod(name, priority, containers=[container(named)])


def static(name: str, **requests: str) -> Pod:
    return make_pod(name, spec={"containers": [container(requests)]})


def container(
    requests: Mapping[str, str] | None = None, limits: Mapping[str, str] | None = None
) -> dict[str, Any]:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": "main", "image": "registry.example/web:1", "resources": resources}


def with_port(name: str, port: int, ip: str = "", protocol: str = "TCP") -> Pod:
    wanted = {"containerPort": 80, "hostPort": port, "hostIP": ip, "protocol": protocol}
    return api_pod(name, containers=[{"name": "main", "ports": [wanted]}])


def admission(*taken: Pod, node: NodeView = NODE) -> Admission:
    made = Admission(node)
    for pod in taken:
        made.take(pod)
    return made


def reason(verdict: AdmissionVerdict) -> str:
    return verdict.reason if isinstance(verdict, Rejected) else ""


def on(pod: Pod, **view: Any) -> AdmissionVerdict:
    return Admission(NodeView(**{"name": "edge-1", **view})).admit(pod)


# Size.


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_pod_of_too_many_containers_is_refused_whatever_else_holds(kind: str) -> None:
    crowd = [{"name": f"c{number}", "image": "web:1"} for number in range(999)]
    assert admission().admit(api_pod(initContainers=crowd)) == ADMITTED
    spec: dict[str, Any] = {"containers": [], kind: [*crowd, *crowd[:2]]}
    assert reason(admission().admit(api_pod(**spec))) == "TooManyContainers"


# Resources.


def test_a_pod_without_requests_is_admitted() -> None:
    assert admission().admit(api_pod()) == ADMITTED


@pytest.mark.parametrize(
    ("requests", "resource", "amounts"),
    [
        ({"cpu": "1500m"}, "cpu", (1500, 1000, 2000)),
        ({"memory": "4Gi"}, "memory", (4 * GI, GI, 4 * GI)),
        ({"ephemeral_storage": "2G"}, "ephemeral-storage", (2 * 10**9, 0, 10**9)),
        ({"hugepages_2Mi": "2Mi"}, "hugepages-2Mi", (2 * 2**20, 0, 0)),
    ],
)
def test_a_resource_that_lacks_is_named_with_its_amounts(
    requests: dict[str, str], resource: str, amounts: tuple[int, int, int]
) -> None:
    requested, used, capacity = amounts
    node = admission(wanting("other", cpu="1", memory="1Gi"))
    assert node.admit(wanting("web", None, **requests)) == Rejected(
        reason=f"OutOf{resource}",
        message=f"Node didn't have enough resource: {resource}, "
        f"requested: {requested}, used: {used}, capacity: {capacity}",
    )


def test_the_status_of_a_refused_pod_says_that_it_was_rejected() -> None:
    failure = AFFINITY.failure
    assert failure.reason == "NodeAffinity"
    assert failure.message == f"Pod was rejected: {AFFINITY.message}"


def test_too_many_pods_are_told_before_any_other_resource() -> None:
    node = admission(*(wanting(name) for name in "abc"))
    assert node.admit(wanting(cpu="8")) == Rejected(
        reason="OutOfpods",
        message="Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
    )


def test_a_pod_that_was_taken_does_not_count_against_itself() -> None:
    big = wanting(cpu="2")
    assert admission(big).admit(big) == ADMITTED


def test_what_is_released_is_free_again() -> None:
    node = admission(wanting("other", cpu="2"))
    assert reason(node.admit(wanting(cpu="1"))) == "OutOfcpu"
    node.release(uid_of("other"))
    assert node.admit(wanting(cpu="1")) == ADMITTED
    assert node.used == {}


def test_a_pod_that_is_taken_again_counts_as_it_is_now() -> None:
    node = admission(wanting(cpu="2"), wanting(cpu="1"))
    assert node.used == {"cpu": 1000, "pods": 1}


def test_releasing_a_pod_that_was_never_taken_changes_nothing() -> None:
    node = admission(wanting(cpu="1"))
    node.release(PodUid("nobody"))
    node.vacate(PodUid("nobody"))
    assert node.used == {"cpu": 1000, "pods": 1}


def test_init_containers_count_with_the_greatest_and_sidecars_with_the_rest() -> None:
    sidecar = {**container({"cpu": "300m"}), "restartPolicy": "Always"}
    pod = api_pod(
        initContainers=[sidecar, container({"cpu": "1"})],
        containers=[container({"cpu": "500m"}), container({"cpu": "100m"})],
        overhead={"cpu": "50m", "memory": "1Mi"},
    )
    assert admission(pod).used == {"cpu": 1350, "memory": 2**20, "pods": 1}


def test_what_a_pod_requests_as_a_whole_replaces_what_its_containers_request() -> None:
    pod = api_pod(
        resources={"requests": {"cpu": "3"}}, containers=[container({"cpu": "1", "memory": "1Ki"})]
    )
    assert admission(pod).used == {"cpu": 3000, "memory": 1024, "pods": 1}


def test_amounts_that_nobody_can_read_do_not_count() -> None:
    assert admission(wanting(cpu="much", memory="1Ki")).used == {"memory": 1024, "pods": 1}


def test_an_absurd_amount_is_as_large_as_an_amount_can_be() -> None:
    assert admission(wanting(memory="1e90")).used["memory"] == 2**63 - 1


def test_a_node_without_an_amount_has_no_limit_of_it() -> None:
    node = NodeView(name="edge-1", allocatable={"pods": 3})
    assert admission(node=node).admit(wanting(cpu="1000", memory="1Pi")) == ADMITTED


def test_extended_resources_that_the_node_does_not_know_are_not_its_concern() -> None:
    pod = api_pod(containers=[container({"example.com/gpu": "1"})])
    assert admission().admit(pod) == ADMITTED
    assert reason(on(pod, allocatable={"example.com/gpu": 0})) == "OutOfexample.com/gpu"
    assert on(pod, allocatable={"example.com/gpu": 1}) == ADMITTED


# The node.


def test_a_selector_must_match_the_labels() -> None:
    assert admission().admit(api_pod(nodeSelector={"zone": "a"})) == ADMITTED
    assert admission().admit(api_pod(nodeSelector={"zone": "b"})) == AFFINITY
    assert admission().admit(api_pod(nodeSelector={"disk": ""})) == AFFINITY


def required(*terms: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": chosen}


def expressed(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("term", "fits"),
    [
        (expressed("zone", "In", "a", "b"), True),
        (expressed("zone", "In", "b"), False),
        (expressed("disk", "In", "ssd"), False),
        (expressed("zone", "NotIn", "b"), True),
        (expressed("zone", "NotIn", "a"), False),
        (expressed("disk", "NotIn", "ssd"), True),
        (expressed("zone", "Exists"), True),
        (expressed("disk", "Exists"), False),
        (expressed("disk", "DoesNotExist"), True),
        (expressed("zone", "DoesNotExist"), False),
        (expressed("cores", "Gt", "7"), True),
        (expressed("cores", "Gt", "8"), False),
        (expressed("cores", "Lt", "9"), True),
        (expressed("cores", "Lt", "-9"), False),
        (expressed("zone", "Gt", "1"), False),
        (expressed("cores", "Gt", "few"), False),
        (expressed("cores", "Gt"), False),
        (expressed("memory", "Gt", "1"), False),
        (expressed("zone", "Near", "a"), False),
        ({}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["edge-1"]}]}, True),
        (
            {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["edge-1"]}]},
            False,
        ),
    ],
)
def test_a_required_term_is_held_against_the_node(term: dict[str, Any], *, fits: bool) -> None:
    verdict = admission().admit(api_pod(affinity=required(term)))
    assert verdict == (ADMITTED if fits else AFFINITY)


def test_one_of_several_terms_is_enough_and_none_at_all_is_not() -> None:
    terms = [expressed("zone", "In", "b"), expressed("zone", "In", "a")]
    assert admission().admit(api_pod(affinity=required(*terms))) == ADMITTED
    assert admission().admit(api_pod(affinity=required())) == AFFINITY


def test_all_conditions_of_a_term_must_hold() -> None:
    term = {
        **expressed("zone", "In", "a"),
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["edge-2"]}],
    }
    assert admission().admit(api_pod(affinity=required(term))) == AFFINITY


def test_a_pod_for_another_node_is_refused() -> None:
    assert admission().admit(api_pod(nodeName="edge-1")) == ADMITTED
    assert admission().admit(api_pod(nodeName="edge-2")) == Rejected(
        reason="NodeName",
        message="Predicate NodeName failed: node(s) didn't match the requested node name",
    )


def test_a_pod_for_another_operating_system_is_refused() -> None:
    labelled = make_pod(source="api", labels={"kubernetes.io/os": "windows"})
    assert on(labelled) == Rejected(
        reason="PodOSSelectorNodeLabelDoesNotMatch",
        message="Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    )
    assert on(api_pod(os={"name": "windows"})) == Rejected(
        reason="PodOSNotSupported",
        message="Failed to admit pod as the OS field doesn't match node OS",
    )
    assert on(api_pod(os={"name": "linux"})) == ADMITTED


NO_EXECUTE = {"key": "broken", "value": "disk", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "broken", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "broken", "value": "disk"}, True),
        ({"key": "broken", "operator": "Equal", "value": "disk"}, True),
        ({"key": "broken", "value": "fan"}, False),
        ({"key": "broken", "operator": "Near", "value": "disk"}, False),
        ({"key": "broken", "operator": "Gt", "value": "3"}, False),
    ],
)
def test_a_pod_must_tolerate_what_executes_pods(toleration: dict[str, str], *, fits: bool) -> None:
    verdict = on(api_pod(tolerations=[toleration]), taints=(NO_EXECUTE,))
    refused = Rejected(
        reason="TaintToleration",
        message="Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    )
    assert verdict == (ADMITTED if fits else refused)


def test_numbers_of_taints_are_compared() -> None:
    taint = {"key": "sla", "value": "90", "effect": "NoExecute"}
    tolerated = {"key": "sla", "operator": "Gt", "value": "80"}
    assert on(api_pod(tolerations=[tolerated]), taints=(taint,)) == ADMITTED


def test_taints_that_only_schedulers_heed_do_not_count() -> None:
    assert on(api_pod(), taints=({"key": "hollow", "effect": "NoSchedule"},)) == ADMITTED


def test_static_pods_run_whatever_the_taints() -> None:
    assert on(make_pod(), taints=(NO_EXECUTE,)) == ADMITTED


# Ports of the host.


@pytest.mark.parametrize(
    ("taken", "wanted", "fits"),
    [
        (("", "TCP"), ("", "TCP"), False),
        (("", "TCP"), ("", "UDP"), True),
        (("", "TCP"), ("10.0.0.1", "TCP"), False),
        (("10.0.0.1", "TCP"), ("", "TCP"), False),
        (("10.0.0.1", "TCP"), ("0.0.0.0", "TCP"), False),
        (("10.0.0.1", "TCP"), ("10.0.0.1", "TCP"), False),
        (("10.0.0.1", "TCP"), ("10.0.0.2", "TCP"), True),
    ],
)
def test_a_port_is_for_one_pod(
    taken: tuple[str, str], wanted: tuple[str, str], *, fits: bool
) -> None:
    node = admission(with_port("first", 80, *taken))
    refused = Rejected(
        reason="NodePorts",
        message="Predicate NodePorts failed: "
        "node(s) didn't have free ports for the requested pod ports",
    )
    assert node.admit(with_port("second", 80, *wanted)) == (ADMITTED if fits else refused)
    assert node.admit(with_port("third", 81, *wanted)) == ADMITTED
    node.release(uid_of("first"))
    assert node.admit(with_port("second", 80, *wanted)) == ADMITTED


def test_a_pod_keeps_its_own_ports() -> None:
    web = with_port("web", 80)
    assert admission(web).admit(web) == ADMITTED
    moved = with_port("web", 80, "10.0.0.1")
    assert admission(web).admit(moved) == ADMITTED


def test_ports_of_sidecars_count_and_those_of_other_init_containers_do_not() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    init = {"name": "init", "ports": ports}
    web = with_port("web", 80)
    once = api_pod("once", initContainers=[init])
    beside = api_pod("beside", initContainers=[{**init, "restartPolicy": "Always"}])
    assert admission(web).admit(once) == ADMITTED
    assert reason(admission(web).admit(beside)) == "NodePorts"


# Making room.


def test_a_static_pod_makes_room_for_itself() -> None:
    node = admission(wanting("small", cpu="500m"), wanting("large", cpu="1500m"))
    assert node.admit(static("web", cpu="1")) == Preempt(victims=(uid_of("large"),))


def test_a_critical_pod_makes_room_for_itself() -> None:
    node = admission(wanting("other", cpu="2"))
    assert node.admit(wanting(priority=1_000, cpu="1")) == Rejected(
        reason="OutOfcpu",
        message="Node didn't have enough resource: cpu, requested: 1000, used: 2000, capacity: 2000",
    )
    assert node.admit(wanting(priority=2_000_000_000, cpu="1")) == Preempt(
        victims=(uid_of("other"),)
    )


def test_nobody_goes_for_a_pod_that_does_not_fit_anyhow() -> None:
    node = admission(wanting("other", cpu="2"))
    pod = make_pod(spec={"nodeSelector": {"zone": "b"}, "containers": [container({"cpu": "1"})]})
    assert node.admit(pod) == AFFINITY


def test_a_static_pod_for_which_nobody_can_go_is_refused_as_any_other() -> None:
    node = admission(static("other", cpu="2"))
    assert reason(node.admit(static("web", cpu="1"))) == "OutOfcpu"
    assert reason(admission().admit(static("web", cpu="3"))) == "OutOfcpu"


def test_room_that_was_promised_is_not_promised_twice() -> None:
    node = admission(wanting("old", cpu="2"))
    first, second = static("first", cpu="1"), static("second", cpu="2")
    assert node.admit(first) == Preempt(victims=(uid_of("old"),))
    node.vacate(uid_of("old"))
    node.take(first)
    assert reason(node.admit(second)) == "OutOfcpu"
    assert node.admit(wanting(cpu="1")) == ADMITTED
    node.release(uid_of("old"))
    assert node.used == {"cpu": 1000, "pods": 1}


def test_the_port_of_a_pod_that_leaves_is_taken_until_it_is_gone() -> None:
    node = admission(with_port("old", 80))
    node.vacate(uid_of("old"))
    assert reason(node.admit(with_port("new", 80))) == "NodePorts"
    node.release(uid_of("old"))
    assert node.admit(with_port("new", 80)) == ADMITTED


# The Node of the API server.


def test_labels_and_taints_come_from_the_api_server_and_own_amounts_do_not() -> None:
    fact = NodeIs(
        name="edge-1",
        uid=NodeUid("n"),
        is_deleting=False,
        document={
            "metadata": {"labels": {"zone": "b"}},
            "spec": {"taints": [NO_EXECUTE]},
            "status": {"allocatable": {"cpu": "64", "example.com/gpu": "2"}},
        },
    )
    view = view_of(fact, NODE)
    assert view.labels == {"zone": "b"}
    assert view.taints == (NO_EXECUTE,)
    assert view.allocatable == {**NODE.allocatable, "example.com/gpu": 2}
    assert (
        view_of(NodeIs(name="x", uid=NodeUid("n"), is_deleting=False, document={}), NODE).labels
        == {}
    )


def test_a_node_that_changes_counts_for_the_next_pod_only() -> None:
    node = admission(wanting("old", cpu="2"))
    node.note_node(NodeView(name="edge-1", allocatable={"cpu": 1000, "pods": 10}))
    assert node.node.allocatable["cpu"] == 1000
    assert node.used["cpu"] == 2000
    assert reason(node.admit(wanting(cpu="1"))) == "OutOfcpu"
