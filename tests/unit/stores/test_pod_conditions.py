"""The conditions of a pod: each rule of the kubelet by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from messages.pod_runtime import PodObserved, PodTrouble, ProbeVerdict
from messages.pods import Pod
from messages.statuses import PodCondition, PodFailure, PodStatus
from messages.units import Timestamp
from stores.statuses.status import StatusSituation, status_after
from tests.support.builders import make_pod
from tests.support.pods.observations import (
    created,
    exited,
    observation,
    restarted,
    running,
    sandbox,
    waiting,
)

NOW = Timestamp(1_700_000_100.0)
IMAGE = "registry.example/web:1"
TYPES = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]


def pod_of(*names: str, status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    containers = [{"name": name, "image": IMAGE} for name in names or ("main",)]
    return make_pod("web", spec={"containers": containers, **spec}, status=status or {})


def after(pod: Pod, observed: PodObserved | None, **fields: Any) -> PodStatus:
    return status_after(replace(StatusSituation(pod=pod, observed=observed, now=NOW), **fields))


def conditions(pod: Pod, observed: PodObserved | None, **fields: Any) -> dict[str, PodCondition]:
    return {each.type: each for each in after(pod, observed, **fields).conditions}


def told(condition: PodCondition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message


def test_a_pod_has_a_kubelets_conditions_in_their_order() -> None:
    status = after(pod_of(), observation(running()))
    assert [each.type for each in status.conditions] == TYPES
    assert {told(each) for each in status.conditions} == {("True", "", "")}


def test_a_pod_whose_containers_are_not_ready_names_them() -> None:
    found = conditions(pod_of("a", "b", "c"), observation(running("a"), waiting("b")))
    unready = ("False", "ContainersNotReady", "containers with unready status: [b c]")
    assert told(found["ContainersReady"]) == unready
    assert told(found["Ready"]) == unready


@pytest.mark.parametrize(
    "verdict",
    [ProbeVerdict(is_ready=False), ProbeVerdict(is_started=False)],
    ids=["readiness", "startup"],
)
def test_a_probe_that_has_not_passed_makes_a_pod_unready(verdict: ProbeVerdict) -> None:
    found = conditions(pod_of(), observation(running()), verdicts={"main": verdict})
    assert found["Ready"].status == "False"


def test_a_runtime_that_knows_a_container_cannot_serve_makes_the_pod_unready() -> None:
    found = conditions(pod_of(), observation(running(is_ready=False)))
    assert told(found["Ready"])[1] == "ContainersNotReady"


def test_a_sidecar_that_is_not_ready_makes_the_pod_unready() -> None:
    pod = pod_of(initContainers=[{"name": "side", "image": IMAGE, "restartPolicy": "Always"}])
    found = conditions(pod, observation(exited("side", code=1), running()))
    assert told(found["Ready"])[2] == "containers with unready status: [side]"


def test_a_pod_that_has_succeeded_is_completed() -> None:
    pod = pod_of(restartPolicy="Never", initContainers=[{"name": "init", "image": IMAGE}])
    found = conditions(pod, observation(exited("init"), exited()))
    assert told(found["Ready"]) == ("False", "PodCompleted", "")
    assert told(found["ContainersReady"]) == ("False", "PodCompleted", "")
    assert told(found["Initialized"]) == ("True", "PodCompleted", "")


def test_a_pod_that_has_failed_is_not_ready_for_that_reason() -> None:
    found = conditions(pod_of(restartPolicy="Never"), observation(exited(code=1)))
    assert told(found["Ready"]) == ("False", "PodFailed", "")
    assert told(found["ContainersReady"]) == ("False", "PodFailed", "")


INITS = [
    {"name": "one", "image": IMAGE},
    {"name": "side", "image": IMAGE, "restartPolicy": "Always"},
]


def test_init_containers_that_are_not_done_are_named() -> None:
    pod = pod_of(initContainers=INITS)
    found = conditions(pod, observation(running("one")))["Initialized"]
    assert told(found) == (
        "False",
        "ContainersNotInitialized",
        "containers with incomplete status: [one side]",
    )
    found = conditions(pod, observation(exited("one"), created("side")))["Initialized"]
    assert told(found)[2] == "containers with incomplete status: [side]"


def test_a_pod_is_initialized_when_init_containers_are_done_and_sidecars_have_started() -> None:
    pod = pod_of(initContainers=INITS)
    seen = observation(exited("one"), running("side"))
    assert conditions(pod, seen)["Initialized"].status == "True"
    late = {"side": ProbeVerdict(is_started=False)}
    assert conditions(pod, seen, verdicts=late)["Initialized"].status == "False"


def test_a_pod_whose_regular_container_has_started_stays_initialized() -> None:
    pod = pod_of(initContainers=INITS)
    seen = observation(running("one"), restarted(waiting()))
    assert conditions(pod, seen)["Initialized"].status == "True"


@pytest.mark.parametrize(
    ("box", "on_host", "state"),
    [
        (None, False, "False"),
        (sandbox(is_ready=False), False, "False"),
        (replace(sandbox(), ips=()), False, "False"),
        (replace(sandbox(), ips=()), True, "True"),
        (sandbox(), False, "True"),
    ],
)
def test_containers_can_start_once_the_sandbox_is_ready_and_has_an_address(
    box: Any, *, on_host: bool, state: str
) -> None:
    found = conditions(pod_of(hostNetwork=on_host), observation(sandbox=box))
    assert found["PodReadyToStartContainers"].status == state


def test_a_pod_that_has_ended_has_no_sandbox_any_more() -> None:
    found = conditions(pod_of(), observation(exited()), is_ended=True)
    assert found["PodReadyToStartContainers"].status == "False"


# --- readiness gates ---------------------------------------------------------------------------------

GATES = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]


def gated(*states: tuple[str, str]) -> Pod:
    shown = [{"type": type_, "status": state} for type_, state in states]
    return pod_of(readinessGates=GATES, status={"conditions": shown})


def test_readiness_gates_that_are_missing_or_false_are_named() -> None:
    found = conditions(gated(("example.com/b", "False")), observation(running()))
    assert found["ContainersReady"].status == "True"
    assert told(found["Ready"]) == (
        "False",
        "ReadinessGatesNotReady",
        (
            'corresponding condition of pod readiness gate "example.com/a" does not exist., '
            'the status of pod readiness gate "example.com/b" is not "True", but False'
        ),
    )


def test_readiness_gates_that_are_true_make_a_pod_ready() -> None:
    pod = gated(("example.com/a", "True"), ("example.com/b", "True"))
    assert conditions(pod, observation(running()))["Ready"].status == "True"


def test_readiness_gates_are_not_asked_while_a_container_is_not_ready() -> None:
    assert conditions(gated(), observation(waiting()))["Ready"].reason == "ContainersNotReady"


# --- troubles and disruptions ----------------------------------------------------------------------------


def test_a_resize_that_the_runtime_refuses_is_infeasible() -> None:
    troubles = (
        PodTrouble(reason="ResizeRefused", message="container a: no"),
        PodTrouble(reason="ResizeRefused", message="container b: no"),
    )
    found = conditions(pod_of(), observation(running(), troubles=troubles))
    assert told(found["PodResizePending"]) == (
        "True",
        "Infeasible",
        "container a: no; container b: no",
    )
    assert "PodResizePending" not in conditions(pod_of(), observation(running()))


@pytest.mark.parametrize("reason", ["NotSupported", "UnsupportedVolume"])
def test_what_the_runtime_cannot_do_is_a_condition_while_that_lasts(reason: str) -> None:
    troubles = (PodTrouble(reason=reason, message="no probes here"),)
    status = after(pod_of(), observation(running(), troubles=troubles))
    shown = {each.type: each for each in status.conditions}["actorlet/Supported"]
    assert told(shown) == ("False", reason, "no probes here")
    over = conditions(pod_of(), observation(running()), previous=status)
    assert over["actorlet/Supported"].status == "True"


EVICTED = PodFailure(reason="Evicted", message="The node was low on memory")


def test_a_disruption_is_told_together_with_the_end_that_it_brought() -> None:
    # Rule V8.
    early = after(pod_of(), observation(running()), failure=EVICTED)
    assert all(each.type != "DisruptionTarget" for each in early.conditions)
    late = conditions(pod_of(), observation(exited(code=137)), failure=EVICTED, previous=early)
    assert told(late["DisruptionTarget"]) == ("True", "TerminationByKubelet", EVICTED.message)
    again = conditions(
        pod_of(),
        observation(exited(code=137)),
        previous=after(pod_of(), observation(exited(code=137)), failure=EVICTED),
    )
    assert again["DisruptionTarget"].status == "True"


def test_a_pod_that_runs_too_long_was_not_disrupted() -> None:
    failure = PodFailure(reason="DeadlineExceeded", message="too long")
    found = conditions(pod_of(), observation(exited(code=137)), failure=failure)
    assert "DisruptionTarget" not in found


def test_a_refused_pod_keeps_the_conditions_that_it_had_and_gets_no_others() -> None:
    # Rule Y12.
    failure = PodFailure(reason="OutOfcpu", message="not enough cpu")
    assert conditions(pod_of(), None, failure=failure) == {}
    scheduled = PodCondition(type="PodScheduled", status="True", since=Timestamp(1.0))
    ready = PodCondition(type="Ready", status="True", since=Timestamp(1.0))
    before = replace(after(pod_of(), None), conditions=(scheduled, ready))
    found = conditions(pod_of(), None, failure=failure, previous=before)
    assert found["PodScheduled"] == scheduled
    assert told(found["Ready"]) == ("False", "PodFailed", "")


def test_a_pod_that_an_earlier_life_of_the_agent_refused_stays_as_it_is() -> None:
    failure = PodFailure(reason="OutOfcpu", message="not enough cpu")
    refused = after(pod_of(), None, failure=failure)
    again = after(pod_of(), None, previous=refused)
    assert again == refused
