"""The phase of a pod: each rule of the kubelet by name."""

from __future__ import annotations

from typing import Any

import pytest

from messages.pod_runtime import ContainerHistory, ProbeVerdict
from messages.pods import Pod, PodPhase
from stores.statuses.phase import phase_of
from tests.support.builders import make_pod
from tests.support.pods.observations import (
    backing_off,
    created,
    exited,
    lost,
    observation,
    restarted,
    running,
    waiting,
)

IMAGE = "registry.example/web:1"


def pod_of(
    *names: str, policy: str = "Always", inits: tuple[dict[str, Any], ...] = (), **fields: Any
) -> Pod:
    regular = [{"name": name, "image": IMAGE, **fields} for name in names or ("main",)]
    init = [{"image": IMAGE, **each} for each in inits]
    return make_pod(
        "web", spec={"containers": regular, "initContainers": init, "restartPolicy": policy}
    )


def test_a_pod_that_nobody_has_seen_yet_is_pending() -> None:
    assert phase_of(pod_of(), None) is PodPhase.PENDING
    assert phase_of(pod_of(), observation()) is PodPhase.PENDING


@pytest.mark.parametrize(
    ("policy", "history", "phase"),
    [
        ("Always", running(), PodPhase.RUNNING),
        ("Never", running(), PodPhase.RUNNING),
        ("Always", waiting(), PodPhase.PENDING),
        ("Always", created(), PodPhase.PENDING),
        ("Always", exited(code=0), PodPhase.RUNNING),
        ("Always", exited(code=1), PodPhase.RUNNING),
        ("Always", backing_off(), PodPhase.RUNNING),
        ("Always", restarted(waiting()), PodPhase.RUNNING),
        ("OnFailure", exited(code=0), PodPhase.SUCCEEDED),
        ("OnFailure", exited(code=1), PodPhase.RUNNING),
        ("OnFailure", backing_off(), PodPhase.RUNNING),
        ("Never", exited(code=0), PodPhase.SUCCEEDED),
        ("Never", exited(code=1), PodPhase.FAILED),
        ("Never", lost(), PodPhase.FAILED),
        ("Always", lost(), PodPhase.RUNNING),
    ],
)
def test_the_phase_of_a_pod_with_one_container(
    policy: str, history: ContainerHistory, phase: PodPhase
) -> None:
    assert phase_of(pod_of(policy=policy), observation(history)) is phase


@pytest.mark.parametrize(
    ("policy", "first", "second", "phase"),
    [
        ("Always", running("a"), waiting("b"), PodPhase.PENDING),
        ("Always", running("a"), backing_off("b"), PodPhase.RUNNING),
        ("Never", running("a"), exited("b", code=1), PodPhase.RUNNING),
        ("Never", exited("a"), exited("b", code=1), PodPhase.FAILED),
        ("Never", exited("a"), exited("b"), PodPhase.SUCCEEDED),
        ("OnFailure", exited("a"), exited("b", code=1), PodPhase.RUNNING),
        ("OnFailure", exited("a"), exited("b"), PodPhase.SUCCEEDED),
    ],
)
def test_the_phase_of_a_pod_with_two_containers(
    policy: str, first: ContainerHistory, second: ContainerHistory, phase: PodPhase
) -> None:
    assert phase_of(pod_of("a", "b", policy=policy), observation(first, second)) is phase


def test_an_own_policy_of_a_container_is_stronger_than_the_pods() -> None:
    pod = pod_of(policy="Always", restartPolicy="Never")
    assert phase_of(pod, observation(exited(code=1))) is PodPhase.FAILED
    assert phase_of(pod, observation(exited(code=0))) is PodPhase.SUCCEEDED


def test_a_container_whose_rules_restart_it_keeps_the_pod_running() -> None:
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
    pod = pod_of(policy="Never", restartPolicy="Never", restartPolicyRules=rules)
    assert phase_of(pod, observation(exited(code=42))) is PodPhase.RUNNING
    assert phase_of(pod, observation(exited(code=1))) is PodPhase.FAILED


INIT = ({"name": "init"},)
SIDECAR = ({"name": "side", "restartPolicy": "Always"},)


@pytest.mark.parametrize(
    ("policy", "histories", "phase"),
    [
        ("Always", (), PodPhase.PENDING),
        ("Always", (running("init"),), PodPhase.PENDING),
        ("Always", (waiting("init"),), PodPhase.PENDING),
        ("Never", (exited("init", code=1),), PodPhase.FAILED),
        ("OnFailure", (exited("init", code=1),), PodPhase.PENDING),
        ("Always", (backing_off("init"),), PodPhase.PENDING),
        ("Always", (exited("init"),), PodPhase.PENDING),
        ("Always", (exited("init"), running()), PodPhase.RUNNING),
        ("Always", (running(),), PodPhase.RUNNING),
        ("Always", (running("init"), restarted(waiting())), PodPhase.PENDING),
        ("Always", (exited("init"), restarted(waiting())), PodPhase.RUNNING),
        ("Never", (exited("init"), exited()), PodPhase.SUCCEEDED),
    ],
)
def test_the_phase_of_a_pod_with_an_init_container(
    policy: str, histories: tuple[ContainerHistory, ...], phase: PodPhase
) -> None:
    assert phase_of(pod_of(policy=policy, inits=INIT), observation(*histories)) is phase


@pytest.mark.parametrize(
    ("policy", "histories", "phase"),
    [
        ("Always", (waiting("side"),), PodPhase.PENDING),
        ("Always", (running("side"),), PodPhase.PENDING),
        ("Always", (running("side"), running()), PodPhase.RUNNING),
        ("Always", (backing_off("side"), running()), PodPhase.RUNNING),
        ("Never", (running("side"), exited()), PodPhase.RUNNING),
        ("Never", (exited("side", code=137), exited()), PodPhase.SUCCEEDED),
        ("Never", (exited("side"), exited(code=1)), PodPhase.FAILED),
    ],
)
def test_the_phase_of_a_pod_with_a_sidecar(
    policy: str, histories: tuple[ContainerHistory, ...], phase: PodPhase
) -> None:
    assert phase_of(pod_of(policy=policy, inits=SIDECAR), observation(*histories)) is phase


def test_a_sidecar_whose_startup_probe_has_not_passed_keeps_the_pod_pending() -> None:
    verdicts = {"side": ProbeVerdict(is_started=False)}
    pod = pod_of(inits=SIDECAR)
    assert phase_of(pod, observation(running("side"), waiting()), verdicts) is PodPhase.PENDING
    assert phase_of(pod, observation(running("side"), running()), verdicts) is PodPhase.RUNNING


def test_a_pod_that_has_ended_is_succeeded_only_if_all_its_containers_are() -> None:
    assert phase_of(pod_of(), observation(exited()), is_ended=True) is PodPhase.SUCCEEDED
    assert phase_of(pod_of(), observation(exited(code=137)), is_ended=True) is PodPhase.FAILED
    assert phase_of(pod_of(), observation(backing_off()), is_ended=True) is PodPhase.FAILED
    assert phase_of(pod_of(), None, is_ended=True) is PodPhase.FAILED


def test_a_runtime_that_tells_a_phase_is_believed_until_the_pod_has_ended() -> None:
    told = observation(phase=PodPhase.RUNNING)
    assert phase_of(pod_of(), told) is PodPhase.RUNNING
    assert phase_of(pod_of(), told, is_ended=True) is PodPhase.FAILED
