"""What the agent relies on of an API server when it writes the status of pods, as it writes it.

One suite for the real one and those of the tests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.pods.status_writes import (
    DeletePod,
    NoWrite,
    PatchStatus,
    Write,
    WriteSituation,
    next_write,
)
from messages.api import ApiRequest
from messages.pod_runtime import ContainerHistory
from messages.pods import JsonObject, Pod
from messages.statuses import PodFailure, PodStatus
from messages.units import Timestamp
from stores.statuses.status import StatusSituation, status_after
from tests.support.apiserver.subjects import (
    PODS,
    Subject,
    create,
    delete,
    get,
    pod,
    refusal,
    strategic,
)
from tests.support.pods.observations import (
    backing_off,
    exited,
    observation,
    restarted,
    running,
    sandbox,
    waiting,
)

WEB = f"{PODS}/web"
STATUS = f"{WEB}/status"
NOW = Timestamp(1_700_000_100.0)


@pytest.fixture
def web(api_server: Subject) -> JsonObject:
    return api_server.admin.handle(create(PODS, pod()))


def status_of(web: JsonObject, *histories: ContainerHistory, **fields: Any) -> PodStatus:
    box = fields.pop("sandbox", sandbox())
    observed = observation(*histories, sandbox=box) if histories else None
    situation = StatusSituation(
        pod=Pod.of(web), observed=observed, host_ips=("192.0.2.1",), now=NOW
    )
    return status_after(replace(situation, **fields))


def write(web: JsonObject, status: PodStatus, *, is_finished: bool = False) -> Write:
    shown = Pod.of(web)
    return next_write(
        WriteSituation(pod=shown, status=status, is_finished=is_finished, object=shown)
    )


def patch(web: JsonObject, status: PodStatus) -> ApiRequest:
    wanted = write(web, status)
    assert isinstance(wanted, PatchStatus)
    return wanted.request


def by_type(document: JsonObject) -> dict[str, str]:
    return {each["type"]: each["status"] for each in document["status"]["conditions"]}


@pytest.mark.parametrize(
    "history",
    [
        waiting(reason="ErrImagePull", message="no such image"),
        running(),
        restarted(running(attempt=1)),
        backing_off(attempt=2),
        exited(code=1, message="it\nfailed"),
    ],
)
def test_a_status_that_a_node_writes_is_there_and_needs_no_second_write(
    api_server: Subject, web: JsonObject, history: ContainerHistory
) -> None:
    status = status_of(web, history)
    written = api_server.node.handle(patch(web, status))
    assert written["status"]["phase"] == status.phase.value
    assert written["status"]["hostIP"] == "192.0.2.1"
    assert written["status"]["podIPs"] == [{"ip": "10.0.0.7"}]
    assert written["status"]["containerStatuses"][0]["name"] == "main"
    assert write(written, status) is NoWrite.NOTHING


def test_a_later_status_replaces_states_and_addresses(api_server: Subject, web: JsonObject) -> None:
    first = status_of(web, running(), sandbox=sandbox("10.0.0.7", "fd00::7"))
    before = api_server.node.handle(patch(web, first))
    second = status_of(web, backing_off(), sandbox=sandbox("10.0.0.9"), previous=first)
    after = api_server.node.handle(patch(before, second))
    assert after["status"]["podIPs"] == [{"ip": "10.0.0.9"}]
    (container,) = after["status"]["containerStatuses"]
    assert list(container["state"]) == ["waiting"]
    assert by_type(after)["Ready"] == "False"
    assert write(after, second) is NoWrite.NOTHING


def test_conditions_of_others_stay_and_the_nodes_own_can_be_taken_away(
    api_server: Subject, web: JsonObject
) -> None:
    conditions = [
        {"type": "example.com/gate", "status": "True"},
        {"type": "PodResizePending", "status": "True", "reason": "Infeasible"},
    ]
    before = api_server.admin.handle(strategic(STATUS, status={"conditions": conditions}))
    after = api_server.node.handle(patch(before, status_of(web, running())))
    found = by_type(after)
    assert (found["example.com/gate"], found["Ready"]) == ("True", "True")
    assert "PodResizePending" not in found


def test_a_reason_that_is_over_is_taken_away(api_server: Subject, web: JsonObject) -> None:
    given = {"reason": "NodeLost", "message": "it was away"}
    before = api_server.admin.handle(strategic(STATUS, status=given))
    assert before["status"]["reason"] == "NodeLost"
    after = api_server.node.handle(patch(before, status_of(web, running())))
    assert "reason" not in after["status"]
    assert "message" not in after["status"]


def test_a_refused_pod_is_failed_with_its_reason(api_server: Subject, web: JsonObject) -> None:
    failure = PodFailure(reason="OutOfcpu", message="not enough cpu")
    status = status_of(web, failure=failure)
    written = api_server.node.handle(patch(web, status))
    assert (written["status"]["phase"], written["status"]["reason"]) == ("Failed", "OutOfcpu")
    assert write(written, status) is NoWrite.NOTHING


def test_the_status_of_another_pod_of_the_name_is_not_written(
    api_server: Subject, web: JsonObject
) -> None:
    api_server.admin.handle(delete(WEB, gracePeriodSeconds=0))
    api_server.admin.handle(create(PODS, pod()))
    code, _ = refusal(api_server.node, patch(web, status_of(web, running())))
    assert code in {409, 422}
    assert api_server.admin.handle(get(WEB))["status"]["phase"] == "Pending"


def test_a_pod_that_ended_and_is_being_deleted_goes_by_its_node(
    api_server: Subject, web: JsonObject
) -> None:
    deleting = api_server.admin.handle(delete(WEB, gracePeriodSeconds=30))
    status = status_of(web, exited(code=137), is_ended=True)
    ended = api_server.node.handle(patch(deleting, status))
    gone = write(ended, status, is_finished=True)
    assert isinstance(gone, DeletePod)
    api_server.node.handle(gone.request)
    assert refusal(api_server.admin, get(WEB)) == (404, "NotFound")
