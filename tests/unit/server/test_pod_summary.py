"""How a pod is: in one word, as kubectl's table has it, and whether somebody should look at it."""

from __future__ import annotations

from typing import Any

import pytest

from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    PodObserved,
)
from messages.pods import Pod, PodPhase, PodUid
from messages.statuses import PodCondition, PodStatus
from messages.units import Timestamp
from server.pod_summary import is_well, pod_summary
from server.reasons.ends import LATELY
from tests.support.command.agents import pod

NOW = Timestamp(10_000.0)


def summary(document: Any) -> Any:
    """Return the summary of a pod to which the node gives no status of its own."""
    return pod_summary(Pod.of(document), None, document, NOW)


def made(phase: str, *containers: Any, inits: Any = (), **more: Any) -> dict[str, Any]:
    """Return a pod whose containers are in the states given."""
    status = {
        "phase": phase,
        "containerStatuses": [_named(f"c{n}", each) for n, each in enumerate(containers)],
        "initContainerStatuses": [_named(f"i{n}", each) for n, each in enumerate(inits)],
    }
    spec = {
        "containers": [{"name": f"c{n}"} for n, _ in enumerate(containers)],
        "initContainers": [{"name": f"i{n}"} for n, _ in enumerate(inits)],
    }
    metadata = {"name": "web", "namespace": "shop", "uid": "1"}
    return {"metadata": metadata, "spec": spec, "status": {**status, **more}}


def _named(name: str, given: Any) -> dict[str, Any]:
    return {"name": name, "state": given, "ready": "running" in given}


RUNS = {"running": {"startedAt": "2026-11-22T23:00:00Z"}}
CREATED = {"waiting": {"reason": "ContainerCreating"}}
WAITS = {"waiting": {"reason": "PodInitializing"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
BROKEN = {"terminated": {"exitCode": 3, "reason": "Error"}}
KILLED = {"terminated": {"exitCode": 137, "signal": 9}}
NO_IMAGE = {"waiting": {"reason": "ImagePullBackOff"}}


@pytest.mark.parametrize(
    ("given", "word", "ready"),
    [
        (made("Running", RUNS), "Running", "1/1"),
        (made("Pending", CREATED), "ContainerCreating", "0/1"),
        (made("Pending"), "Pending", "0/0"),
        (made("Succeeded", DONE), "Completed", "0/1"),
        (made("Failed", BROKEN), "Error", "0/1"),
        (made("Failed", DONE), "Failed", "0/1"),
        (made("Failed", reason="Evicted"), "Evicted", "0/0"),
        (made("Running", RUNS, NO_IMAGE), "ImagePullBackOff", "1/2"),
        (made("Running", KILLED), "Signal:9", "0/1"),
        (made("Running", RUNS, DONE), "NotReady", "1/2"),
        (made("Pending", WAITS, inits=[DONE, RUNS]), "Init:1/2", "0/1"),
        (made("Pending", WAITS, inits=[WAITS]), "Init:0/1", "0/1"),
        (made("Pending", WAITS, inits=[NO_IMAGE]), "Init:ImagePullBackOff", "0/1"),
        (made("Pending", WAITS, inits=[BROKEN]), "Init:Error", "0/1"),
        (made(""), "Pending", "0/0"),
    ],
)
def test_a_pod_has_the_word_that_kubectl_has_for_it(given: Any, word: str, ready: str) -> None:
    told = summary(given)
    assert (told["state"], told["ready"]) == (word, ready)


def test_a_pod_that_is_being_deleted_is_terminating_whatever_else_it_is() -> None:
    given = made("Running", RUNS)
    given["metadata"]["deletionTimestamp"] = "2026-11-22T23:00:00Z"
    assert summary(given)["state"] == "Terminating"


def test_a_sidecar_counts_among_the_containers_that_have_to_be_ready() -> None:
    given = made("Running", RUNS, inits=[RUNS])
    given["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    given["status"]["initContainerStatuses"][0]["started"] = True
    told = summary(given)
    assert (told["state"], told["ready"]) == ("Running", "2/2")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("loop-edge-1", ("CrashLoopBackOff", False, 8, "2026-11-22T23:57:28Z")),
        ("shop-edge-1", ("ContainerCreating", False, 0, None)),
        ("web-edge-1", ("Running", True, 0, None)),
        ("nightly-checksum-edge-1", ("Completed", True, 0, None)),
    ],
)
def test_pods_of_a_real_agent_have_their_word(name: str, expected: Any) -> None:
    told = summary(pod(name))
    assert (told["state"], told["isWell"], told["restarts"], told.get("lastEnd")) == expected


def ended(name: str, at: str) -> dict[str, Any]:
    """Return a container that was started again after an end."""
    return {"name": name, "restartCount": 2, "lastState": {"terminated": {"finishedAt": at}}}


def test_restarts_are_those_of_init_containers_until_another_container_has_begun() -> None:
    given = made("Pending", WAITS, inits=[DONE])
    given["status"]["initContainerStatuses"][0] |= ended("i0", "2026-11-22T23:00:00Z")
    assert (summary(given)["restarts"], summary(given)["lastEnd"]) == (2, "2026-11-22T23:00:00Z")
    given["status"]["containerStatuses"][0] |= {"state": RUNS, "restartCount": 0}
    assert (summary(given)["restarts"], summary(given).get("lastEnd")) == (0, None)


def status(phase: PodPhase = PodPhase.RUNNING, ready: str = "True", **more: Any) -> PodStatus:
    last = more.pop("last", None)
    seen = {"main": ContainerHistory(name="main", last=last)} if last else {}
    held = more.pop("released", "True")
    return PodStatus(
        phase=phase,
        conditions=(
            PodCondition(type="Ready", status=ready, since=Timestamp(1.0)),
            PodCondition(type="actorlet/VolumesReleased", status=held, since=Timestamp(1.0)),
        ),
        observed=PodObserved(uid=PodUid("u"), mark=NO_MARK, containers=seen),
        **more,
    )


def end(code: int, at: float) -> ContainerObserved:
    return ContainerObserved(
        id="x://1",
        name="main",
        attempt=1,
        state=ContainerState.EXITED,
        exit_code=code,
        finished_at=Timestamp(at),
    )


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (status(), True),
        (status(ready="False"), False),
        (status(reason="NodeLost"), False),
        (status(PodPhase.PENDING, "False"), False),
        (status(PodPhase.SUCCEEDED, "False"), True),
        (status(PodPhase.SUCCEEDED, "False", released="False"), False),
        (status(PodPhase.FAILED, "False"), False),
        (status(released="False"), False),
        (status(last=end(1, NOW - LATELY + 1)), False),
        (status(last=end(1, NOW - LATELY)), True),
        (status(last=end(0, NOW - 1)), True),
    ],
)
def test_pods_are_in_trouble_that_do_not_run_are_held_or_failed_lately(
    seen: PodStatus, *, expected: bool
) -> None:
    assert is_well(Pod.of(made("Failed")), seen, NOW) is expected


@pytest.mark.parametrize(
    ("phase", "conditions", "expected"),
    [
        ("", [], False),
        ("Running", [{"type": "Ready", "status": "True"}], True),
        ("Running", [{"type": "Ready", "status": "False"}], False),
        ("Succeeded", [], True),
        ("Failed", [{"type": "Ready", "status": "True"}], False),
    ],
)
def test_without_a_status_of_the_node_it_is_the_source_that_says_whether_a_pod_is_well(
    phase: str, conditions: Any, *, expected: bool
) -> None:
    assert is_well(Pod.of(made(phase, conditions=conditions)), None, NOW) is expected
