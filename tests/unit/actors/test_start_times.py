"""How long pods took to start, as the metric counts them."""

from __future__ import annotations

from dataclasses import replace

from actors.pods.times import StartTimesMemory
from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    PodObserved,
)
from messages.pods import CONFIG_SEEN, Pod, PodPhase, PodUid
from messages.statuses import PodStatus
from messages.units import Timestamp

SEEN = Timestamp(1_800_000_000.0)
POD = Pod.of(
    {
        "metadata": {
            "uid": "u1",
            "name": "web",
            "namespace": "default",
            "annotations": {CONFIG_SEEN: "2027-01-15T08:00:00Z"},
        },
        "spec": {},
    }
)
PENDING = PodStatus(phase=PodPhase.PENDING, conditions=(), observed=None)


def running(started_at: float) -> PodStatus:
    """Return the status of a pod whose only container started then."""
    container = ContainerObserved(
        id="hollow://1",
        name="main",
        attempt=0,
        state=ContainerState.RUNNING,
        started_at=Timestamp(started_at),
    )
    observed = PodObserved(
        uid=PodUid("u1"),
        mark=NO_MARK,
        containers={"main": ContainerHistory(name="main", current=container)},
    )
    return replace(PENDING, phase=PodPhase.RUNNING, observed=observed)


def counted(before: PodStatus | None, status: PodStatus) -> tuple[int, float]:
    """Return how many starts were counted, and their seconds."""
    times = StartTimesMemory()
    times.note(POD, before, status, Timestamp(SEEN + 3.0))
    described = times.described()
    return sum(described.buckets), described.seconds


def test_a_pod_that_was_pending_counts_from_when_it_was_seen() -> None:
    assert counted(PENDING, running(SEEN + 2.0)) == (1, 3.0)


def test_a_pod_that_starts_so_fast_that_nobody_saw_it_pending_counts() -> None:
    assert counted(None, running(SEEN + 2.0)) == (1, 3.0)


def test_a_pod_that_ran_before_the_agent_started_does_not_count() -> None:
    assert counted(None, running(SEEN - 60.0)) == (0, 0.0)
    assert counted(PENDING, running(SEEN - 60.0)) == (0, 0.0)


def test_a_pod_counts_once() -> None:
    assert counted(running(SEEN + 1.0), running(SEEN + 2.0)) == (0, 0.0)


def test_a_pod_that_waits_does_not_count() -> None:
    assert counted(None, PENDING) == (0, 0.0)
