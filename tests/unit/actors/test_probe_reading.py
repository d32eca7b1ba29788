"""What counts of containers before any probe has answered, by what is observed and was shown."""

from __future__ import annotations

from typing import Any

import pytest

from actors.pods.worker.probe_reading import (
    running_instances,
    verdicts_about,
    verdicts_before,
    verdicts_shown,
)
from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    ContainerWait,
    PodObserved,
    ProbeVerdict,
)
from messages.pods import Pod
from messages.probing import RunningInstance
from messages.units import Timestamp
from tests.support.builders import make_pod

PAGE = {"httpGet": {"port": 80}}
WEB = make_pod(
    spec={
        "initContainers": [{"name": "proxy", "restartPolicy": "Always", "startupProbe": PAGE}],
        "containers": [{"name": "main", "readinessProbe": PAGE}, {"name": "plain"}],
    }
)


def observed(
    state: ContainerState = ContainerState.RUNNING, wait: ContainerWait | None = None
) -> PodObserved:
    current = ContainerObserved(
        id="c1", name="main", attempt=0, state=state, created_at=Timestamp(5.0)
    )
    history = ContainerHistory(name="main", current=current, wait=wait)
    return PodObserved(uid=WEB.uid, mark=NO_MARK, containers={"main": history})


def test_what_runs_and_has_probes_can_be_probed() -> None:
    assert running_instances(WEB, observed()) == {"main": RunningInstance("c1", Timestamp(5.0))}
    assert running_instances(WEB, observed(ContainerState.EXITED)) == {}
    assert running_instances(WEB, None) == {}


def test_what_waits_for_its_hook_is_not_probed() -> None:
    wait = ContainerWait(reason="ContainerCreating")
    assert running_instances(WEB, observed(wait=wait)) == {}


def test_nothing_said_means_not_ready_and_not_started() -> None:
    assert verdicts_about(WEB, None, {}) == {
        "proxy": ProbeVerdict(is_started=False, is_ready=False),
        "main": ProbeVerdict(is_ready=False),
    }


def test_what_was_said_counts_for_its_instance_alone() -> None:
    found = {
        about: verdicts_about(WEB, observed(), {"main": ProbeVerdict(container_id=about)})
        for about in ("c1", "", "c0")
    }
    assert {about: each["main"].is_ready for about, each in found.items()} == {
        "c1": True,
        "": True,
        "c0": False,
    }


def shown(pod: Pod, **fields: Any) -> dict[str, ProbeVerdict]:
    status = {"name": "main", "containerID": "c1", "state": {"running": {}}, **fields}
    return verdicts_shown(pod, {"status": {"containerStatuses": [status]}})


def test_a_status_of_the_api_says_what_counted() -> None:
    assert shown(WEB, ready=True, started=True) == {"main": ProbeVerdict(container_id="c1")}
    assert shown(WEB, ready=False, started=True)["main"].is_ready is False
    assert shown(WEB, name="plain", ready=True) == {}
    assert shown(WEB, state={"terminated": {}}) == {}


def before(
    kept: ProbeVerdict, *, started: bool = True, ready: bool = True
) -> dict[str, ProbeVerdict]:
    status = {
        "name": "main",
        "containerID": "c1",
        "state": {"running": {}},
        "started": started,
        "ready": ready,
    }
    return verdicts_before(WEB, {"status": {"containerStatuses": [status]}}, {"main": kept})


def test_what_was_shown_counts_although_the_record_of_it_was_not_on_disk_yet() -> None:
    late = ProbeVerdict(is_ready=False, container_id="c1")
    assert before(late)["main"].is_ready
    assert not before(late._replace(is_ready=True), ready=False)["main"].is_ready


def test_what_has_started_by_the_record_or_by_the_status_has_started() -> None:
    started = ProbeVerdict(container_id="c1")
    assert before(started, started=False)["main"].is_started
    assert before(started._replace(is_started=False))["main"].is_started
    neither = before(started._replace(is_started=False), started=False)
    assert not neither["main"].is_started


def test_a_record_of_another_instance_than_the_shown_one_counts() -> None:
    newer = ProbeVerdict(is_ready=False, container_id="c2")
    assert before(newer) == {"main": newer}
    assert verdicts_before(WEB, None, {"main": newer}) == {"main": newer}


@pytest.mark.parametrize(
    "document",
    [None, {}, {"status": 7}, {"status": {"containerStatuses": 7}}],
)
def test_a_status_that_says_nothing_is_no_knowledge(document: Any) -> None:
    assert verdicts_shown(WEB, document) == {}


@pytest.mark.parametrize("field", ["name", "containerID", "state"])
def test_a_status_with_nonsense_is_no_knowledge(field: str) -> None:
    assert shown(WEB, **{field: 7}) == {}
    assert verdicts_shown(WEB, {"status": {"containerStatuses": [7]}}) == {}
