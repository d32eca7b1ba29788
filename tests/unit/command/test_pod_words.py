"""A pod in one word, as kubectl's table has it."""

from __future__ import annotations

from typing import Any

import pytest

from command.pod_words import is_well, readiness, restarts, since, state
from command.wording import moment
from tests.support.command.agents import pod

NOW = moment("2026-11-22T23:59:28Z") or 0.0


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
    return {"metadata": {}, "spec": spec, "status": {**status, **more}}


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
        ({}, "unknown", "0/0"),
    ],
)
def test_a_pod_has_the_word_that_kubectl_has_for_it(given: Any, word: str, ready: str) -> None:
    assert (state(given), readiness(given)) == (word, ready)


def test_a_pod_that_is_being_deleted_is_terminating_whatever_else_it_is() -> None:
    given = made("Running", RUNS)
    given["metadata"]["deletionTimestamp"] = "2026-11-22T23:00:00Z"
    assert state(given) == "Terminating"


def test_a_sidecar_counts_among_the_containers_that_have_to_be_ready() -> None:
    given = made("Running", RUNS, inits=[RUNS])
    given["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    given["status"]["initContainerStatuses"][0]["started"] = True
    assert (state(given), readiness(given)) == ("Running", "2/2")


@pytest.mark.parametrize(
    ("name", "word", "how_often"),
    [
        ("loop-edge-1", "CrashLoopBackOff", "8 (2m ago)"),
        ("shop-edge-1", "ContainerCreating", "0"),
        ("web-edge-1", "Running", "0"),
        ("nightly-checksum-edge-1", "Completed", "0"),
    ],
)
def test_pods_of_a_real_agent_have_their_word(name: str, word: str, how_often: str) -> None:
    given = pod(name)
    assert (state(given), restarts(given, NOW)) == (word, how_often)
    assert since(given).startswith("2026-11-22T23:42:18")
    assert is_well(given) == (word in {"Running", "Completed"})


@pytest.mark.parametrize(
    ("created", "started", "expected"),
    [
        ("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "2026-11-20T00:00:00Z"),
        (None, "2026-11-21T00:00:00Z", "2026-11-21T00:00:00Z"),
        (None, None, "2026-11-22T00:00:00Z"),
    ],
    ids=["of the API server", "static", "not begun"],
)
def test_a_pod_is_as_old_as_the_node_has_had_it_whenever_its_agent_was_started(
    created: str | None, started: str | None, expected: str
) -> None:
    seen = {"kubernetes.io/config.seen": "2026-11-22T00:00:00Z"}
    metadata = {"annotations": seen, "creationTimestamp": created}
    assert since({"metadata": metadata, "status": {"startTime": started}}) == expected
