"""How long API pods take from their creation until the API server shows that all their containers run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.pods.times import StartupLatencies
from messages.pods import Pod
from messages.statuses import SLI_BOUNDS, StartLatencies
from messages.units import Seconds, Timestamp
from stores.statuses.status import StatusSituation, status_after
from tests.support.pods.observations import exited, observation, running

CREATED = Timestamp(1_800_000_000.0)
RUNNING = {
    "phase": "Running",
    "startTime": "2027-01-15T08:00:00Z",
    "containerStatuses": [
        {"name": "main", "state": {"running": {"startedAt": "2027-01-15T08:00:01Z"}}}
    ],
}


def pod(status: dict[str, Any], uid: str = "1", **spec: Any) -> Pod:
    metadata = {"uid": uid, "name": "web", "creationTimestamp": "2027-01-15T08:00:00Z"}
    return Pod.of({"metadata": metadata, "spec": spec, "status": status})


def counted(described: StartLatencies) -> dict[str, tuple[int, float, float]]:
    """Return how many pods were counted, and the sums: without preparations, and in all."""
    return {
        first: (sum(described.total[first].buckets), described.sli[first].seconds, total.seconds)
        for first, total in described.total.items()
    }


def known(of: Pod, *histories: Any, pulling: float = 0.0) -> Any:
    observed = replace(observation(*histories, uid=of.uid), pulling=Seconds(pulling))
    return status_after(StatusSituation(pod=of, observed=observed, now=CREATED))


def starts(times: StartupLatencies, uid: str, took: float, **fields: Any) -> None:
    times.note_shown(pod({}, uid, **fields), None, CREATED)
    shown = pod(RUNNING, uid, **fields)
    times.note_shown(shown, known(shown, running()), Timestamp(CREATED + took))


def test_a_pod_is_counted_once_when_all_its_containers_are_shown_to_run() -> None:
    times = StartupLatencies()
    waiting = {**RUNNING, "containerStatuses": [{"name": "main", "state": {"waiting": {}}}]}
    times.note_shown(pod({"phase": "Pending"}), None, CREATED)
    times.note_shown(pod(waiting), known(pod(waiting)), Timestamp(CREATED + 1))
    for later in (2, 3):
        status = known(pod(RUNNING), running())
        times.note_shown(pod(RUNNING), status, Timestamp(CREATED + later))
    assert counted(times.described()) == {"true": (1, 2.0, 2.0), "": (0, 0.0, 0.0)}
    assert times.described().sli["true"].buckets[SLI_BOUNDS.index(2.0)] == 1


def test_the_first_pod_with_a_network_of_its_own_is_counted_by_itself() -> None:
    times = StartupLatencies()
    starts(times, "1", 1.0, hostNetwork=True)
    starts(times, "2", 5.0)
    starts(times, "3", 2.0)
    assert counted(times.described()) == {"true": (1, 5.0, 5.0), "": (2, 3.0, 3.0)}


def test_pulling_images_and_init_containers_count_in_the_total_alone() -> None:
    times = StartupLatencies()
    inits = [{"name": "first"}, {"name": "side", "restartPolicy": "Always"}]
    shown = pod(RUNNING, initContainers=inits)
    times.note_shown(pod({}, initContainers=inits), None, CREATED)
    status = known(shown, exited("first"), exited("side"), running(), pulling=7.0)
    times.note_shown(shown, status, Timestamp(CREATED + 100))
    # An init container of these tests runs for 60 s.
    assert counted(times.described())["true"] == (1, 33.0, 100.0)


@pytest.mark.parametrize("status", [RUNNING, {"phase": "Failed"}])
def test_a_pod_that_had_begun_before_it_was_seen_is_not_counted(status: dict[str, Any]) -> None:
    times = StartupLatencies()
    times.note_shown(pod(status), None, CREATED)
    times.note_shown(pod(RUNNING), known(pod(RUNNING), running()), Timestamp(CREATED + 1))
    assert counted(times.described())["true"][0] == 0


def test_a_pod_that_ends_before_it_is_seen_to_run_is_forgotten() -> None:
    times = StartupLatencies()
    times.note_shown(pod({}), None, CREATED)
    times.note_shown(pod({"phase": "Succeeded"}), None, CREATED)
    times.note_shown(pod(RUNNING), known(pod(RUNNING), running()), Timestamp(CREATED + 1))
    assert counted(times.described())["true"][0] == 0


def test_a_time_that_no_clock_can_have_counts_as_none() -> None:
    times = StartupLatencies()
    starts(times, "1", -5.0)
    assert counted(times.described())["true"] == (1, 0.0, 0.0)
    undated = Pod.of({"metadata": {"uid": "2"}, "spec": {}, "status": {}})
    times.note_shown(undated, None, CREATED)
    shown = Pod.of({"metadata": {"uid": "2"}, "spec": {}, "status": RUNNING})
    times.note_shown(shown, known(shown, running()), CREATED)
    assert counted(times.described())[""][0] == 0
