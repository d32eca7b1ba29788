"""What is written of a pod's status: only what differs, and only what is the node's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.pods.status_writes import (
    DeletePod,
    NoWrite,
    PatchStatus,
    WriteSituation,
    accepted,
    asked_by,
    is_answered,
    next_write,
    own_digest,
    status_patch,
)
from messages.api import Patch, Verb
from messages.pods import Pod
from messages.statuses import PodFailure, PodStatus
from messages.units import Timestamp
from stores.statuses.rendering import with_status
from stores.statuses.status import StatusSituation, status_after
from tests.support.builders import edited, make_mirror, make_pod
from tests.support.pods.observations import exited, observation, running, sandbox, waiting

NOW = Timestamp(1_700_000_100.0)
WEB = make_pod("web", source="api", phase="Pending")


def status(*histories: Any, pod: Pod = WEB, **fields: Any) -> PodStatus:
    observed = observation(*histories, sandbox=fields.pop("sandbox", sandbox()))
    situation = StatusSituation(pod=pod, observed=observed, now=NOW, host_ips=("192.0.2.1",))
    return status_after(replace(situation, **fields))


RUNNING = status(running())


def shown(status: PodStatus, pod: Pod = WEB, **changes: Any) -> Pod:
    """Return the object that shows ``status``, changed by somebody."""
    document = with_status(pod, status)
    return edited(pod, status={**document["status"], **changes})


def changes(status: PodStatus, object_: Pod) -> Any:
    patch = status_patch(WEB, status, object_)
    return None if patch is None else patch["status"]


def situation(**fields: Any) -> WriteSituation:
    return WriteSituation(
        **{"pod": WEB, "status": RUNNING, "is_finished": False, "object": WEB, **fields}
    )


def test_nothing_is_written_when_it_is_there() -> None:
    assert changes(RUNNING, shown(RUNNING)) is None
    assert next_write(situation(object=shown(RUNNING))) is NoWrite.NOTHING


def test_without_an_object_nothing_can_be_written() -> None:
    assert next_write(situation(object=None)) is NoWrite.NO_OBJECT


def test_a_status_is_written_for_one_uid() -> None:
    write = next_write(situation())
    assert isinstance(write, PatchStatus)
    request = write.request
    assert (request.verb, request.patch) == (Verb.PATCH, Patch.STRATEGIC)
    assert request.path == "/api/v1/namespaces/default/pods/web/status"
    assert (request.body or {})["metadata"] == {"uid": WEB.uid}


def test_only_what_differs_is_written() -> None:
    assert changes(RUNNING, shown(RUNNING, phase="Pending")) == {"phase": "Running"}
    assert changes(RUNNING, shown(RUNNING, reason="NodeLost")) == {"reason": None}


def test_the_class_of_service_and_fields_of_others_are_not_named() -> None:
    others: dict[str, Any] = {
        "qosClass": "Guaranteed",
        "nominatedNodeName": "n2",
        "resourceClaimStatuses": [],
    }
    assert changes(RUNNING, shown(RUNNING, **others)) is None


def test_start_time_is_written_once() -> None:
    # Rule V4.
    assert changes(RUNNING, shown(RUNNING, startTime="2001-01-01T00:00:00Z")) is None
    assert changes(RUNNING, shown(RUNNING, startTime=None)) == {"startTime": "2023-11-14T22:15:00Z"}


def test_addresses_replace_those_before() -> None:
    before = shown(RUNNING)
    later = status(running(), sandbox=sandbox("10.0.0.9"))
    assert changes(later, before) == {
        "podIP": "10.0.0.9",
        "podIPs": [{"$patch": "replace"}, {"ip": "10.0.0.9"}],
    }
    none = status(waiting(), sandbox=replace(sandbox(), ips=()))
    assert changes(none, before)["podIPs"] is None


def test_a_nodes_address_is_never_taken_away() -> None:
    assert changes(replace(RUNNING, host_ips=()), shown(RUNNING)) is None


def test_a_pod_that_was_shown_before_it_is_refused_loses_what_only_pods_of_this_node_have() -> None:
    refused = status_after(
        StatusSituation(
            pod=WEB,
            observed=None,
            failure=PodFailure(reason="NoGpu", message="there is none").as_rejection(),
            is_ended=True,
            now=Timestamp(1.0),
        )
    )
    before = shown(status(waiting(), sandbox=None, host_ips=("10.0.0.1",)))
    assert {"hostIP", "containerStatuses"} <= before.document["status"].keys()
    made = changes(refused, before)
    assert [name for name, value in made.items() if value is None] == [
        "containerStatuses",
        "hostIPs",
        "hostIP",
    ]
    assert made["message"] == "Pod was rejected: there is none"


def test_an_api_server_that_knows_one_address_of_a_node_has_all() -> None:
    document = shown(RUNNING).document["status"]
    old = edited(WEB, status={key: document[key] for key in document if key != "hostIPs"})
    assert changes(RUNNING, old) is None
    two = replace(RUNNING, host_ips=("192.0.2.1", "fd00::1"))
    assert list(changes(two, old)) == ["hostIPs"]


def ready(**fields: Any) -> Any:
    return {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "2001-01-01T00:00:00Z",
        **fields,
    }


def with_conditions(*conditions: Any) -> Pod:
    others = [
        each
        for each in with_status(WEB, RUNNING)["status"]["conditions"]
        if each["type"] not in {one["type"] for one in conditions}
    ]
    return shown(RUNNING, conditions=[*others, *conditions])


def test_a_time_is_not_written_without_another_status() -> None:
    # Rule V4.
    assert changes(RUNNING, with_conditions(ready())) is None
    assert changes(RUNNING, with_conditions(ready(reason="x"))) == {
        "conditions": [{"type": "Ready", "status": "True", "reason": None, "message": None}]
    }
    (changed,) = changes(RUNNING, with_conditions(ready(status="False")))["conditions"]
    assert changed["lastTransitionTime"] == "2023-11-14T22:15:00Z"


def test_conditions_that_are_over_are_taken_away_and_those_of_others_are_not() -> None:
    # Rule V8.
    given = with_conditions(
        {"type": "PodResizePending", "status": "True"},
        {"type": "example.com/gate", "status": "True"},
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
    )
    assert changes(RUNNING, given) == {
        "conditions": [{"type": "PodResizePending", "$patch": "delete"}]
    }


def test_what_the_api_server_made_of_a_status_counts_as_written() -> None:
    # One that does not know a field drops it: writing it again would never end.
    answer = shown(RUNNING, containerStatuses=[])
    assert changes(RUNNING, answer) is not None
    taken = accepted(RUNNING, answer.document)
    assert next_write(situation(object=answer, accepted=taken)) is NoWrite.NOTHING
    changed = shown(RUNNING, containerStatuses=[], phase="Unknown")
    assert isinstance(next_write(situation(object=changed, accepted=taken)), PatchStatus)
    other = replace(taken, status=status(exited()))
    assert isinstance(next_write(situation(object=answer, accepted=other)), PatchStatus)


def test_conditions_of_others_do_not_change_the_digest() -> None:
    gate = {"type": "example.com/gate", "status": "True"}
    assert own_digest(with_conditions(gate).document) == own_digest(shown(RUNNING).document)
    assert own_digest(shown(RUNNING).document) != own_digest(shown(RUNNING, reason="x").document)


# --- deletion ------------------------------------------------------------------------------------------

ENDED = status(exited(code=137), is_ended=True)
DELETING = make_pod("web", source="api", deleting=True)


def test_a_finished_pod_that_is_being_deleted_is_deleted_by_its_uid() -> None:
    # Rule V9.
    given = situation(status=ENDED, is_finished=True, object=shown(ENDED, DELETING))
    write = next_write(given)
    assert isinstance(write, DeletePod)
    assert write.request.verb is Verb.DELETE
    assert write.request.path == "/api/v1/namespaces/default/pods/web"
    assert (write.request.body or {})["preconditions"] == {"uid": WEB.uid}
    assert (write.request.body or {})["gracePeriodSeconds"] == 0
    assert next_write(replace(given, is_deletion_asked=True)) is NoWrite.NOTHING


@pytest.mark.parametrize(
    "fields",
    [
        {"is_finished": False, "object": shown(ENDED, DELETING)},
        {"is_finished": True, "object": shown(ENDED)},
        {"is_finished": True, "object": shown(ENDED, make_mirror(WEB, deleting=True))},
    ],
    ids=["not finished", "not deleted", "a mirror"],
)
def test_otherwise_it_stays(fields: dict[str, Any]) -> None:
    assert next_write(situation(status=ENDED, **fields)) is NoWrite.NOTHING


def test_the_last_status_comes_before_the_deletion_unless_it_is_refused() -> None:
    given = situation(status=ENDED, is_finished=True, object=DELETING)
    assert isinstance(next_write(given), PatchStatus)
    assert isinstance(next_write(replace(given, is_refused=True)), DeletePod)


def test_an_answer_that_shows_what_others_wrote_meanwhile_is_no_answer_to_the_patch() -> None:
    patch = status_patch(WEB, RUNNING, shown(RUNNING, podIP="10.1.2.3"))
    assert patch is not None
    assert is_answered(asked_by(patch), WEB, RUNNING, shown(RUNNING))
    assert not is_answered(asked_by(patch), WEB, RUNNING, shown(RUNNING, phase="Unknown"))


def test_an_answer_without_what_the_api_server_does_not_take_is_one() -> None:
    patch = status_patch(WEB, RUNNING, WEB)
    assert patch is not None
    assert is_answered(asked_by(patch), WEB, RUNNING, shown(RUNNING, podIP=""))


def test_what_was_asked_for_before_and_differs_again_is_what_the_api_server_makes_of_it() -> None:
    one, other = shown(RUNNING, podIP="10.1.2.3"), shown(RUNNING, podIPs=[{"ip": "10.1.2.3"}])
    first, then = (status_patch(WEB, RUNNING, each) for each in (one, other))
    assert first is not None
    assert then is not None
    assert not is_answered(asked_by(first), WEB, RUNNING, other)
    assert is_answered(asked_by(first) | asked_by(then), WEB, RUNNING, one)
