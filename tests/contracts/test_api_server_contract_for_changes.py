"""What the agent relies on of an API server: updates, both kinds of patches, and deletions.

One suite for the real one and those of the tests.
"""

from __future__ import annotations

import pytest

from messages.pods import CONFIG_MIRROR, JsonObject
from tests.support.apiserver.subjects import (
    NODES,
    PODS,
    Subject,
    create,
    delete,
    get,
    merge,
    node_object,
    pod,
    refusal,
    strategic,
    update,
)

WEB = f"{PODS}/web"
IMAGES = [{"name": "main", "image": "registry.example/web:2"}]


def with_metadata(document: JsonObject, **metadata: object) -> JsonObject:
    return {**document, "metadata": {**document["metadata"], **metadata}}


# --- changing -----------------------------------------------------------------------------------------


@pytest.fixture
def web(api_server: Subject) -> JsonObject:
    return api_server.admin.handle(create(PODS, pod()))


def test_a_merge_patch_changes_what_it_names_and_removes_nulls(
    api_server: Subject, web: JsonObject
) -> None:
    api_server.admin.handle(merge(WEB, metadata={"labels": {"a": "1", "b": "2"}}))
    changed = api_server.admin.handle(merge(WEB, metadata={"labels": {"a": None, "c": "3"}}))
    assert changed["metadata"]["labels"] == {"b": "2", "c": "3"}
    assert changed["metadata"]["uid"] == web["metadata"]["uid"]
    assert int(changed["metadata"]["resourceVersion"]) > int(web["metadata"]["resourceVersion"])


def test_a_patch_that_changes_nothing_makes_no_new_version(
    api_server: Subject, web: JsonObject
) -> None:
    same = api_server.admin.handle(merge(WEB, spec={"nodeName": "n1"}))
    assert same["metadata"]["resourceVersion"] == web["metadata"]["resourceVersion"]


def test_the_spec_of_a_pod_stays_as_it_is(api_server: Subject, web: JsonObject) -> None:
    assert web["spec"]["nodeName"] == "n1"
    request = merge(WEB, spec={"nodeName": "n2"})
    assert refusal(api_server.admin, request) == (422, "Invalid")


def test_the_image_of_a_pod_may_change(api_server: Subject, web: JsonObject) -> None:
    assert web["spec"]["containers"][0]["image"] == "registry.example/web:1"
    changed = api_server.admin.handle(strategic(WEB, spec={"containers": IMAGES}))
    assert changed["spec"]["containers"][0]["image"] == "registry.example/web:2"


def test_nothing_becomes_a_mirror_pod_later(api_server: Subject, web: JsonObject) -> None:
    assert CONFIG_MIRROR not in web["metadata"].get("annotations", {})
    request = merge(WEB, metadata={"annotations": {CONFIG_MIRROR: "h1"}})
    assert refusal(api_server.admin, request) == (422, "Invalid")


@pytest.mark.parametrize("mark", [None, "h2"])
def test_a_mirror_pod_stays_the_mirror_of_the_same(api_server: Subject, mark: str | None) -> None:
    marked = with_metadata(pod(), annotations={CONFIG_MIRROR: "h1"})
    api_server.admin.handle(create(PODS, marked))
    request = merge(WEB, metadata={"annotations": {CONFIG_MIRROR: mark}})
    assert refusal(api_server.admin, request) == (422, "Invalid")


def test_a_stale_version_is_a_conflict(api_server: Subject, web: JsonObject) -> None:
    fresh = api_server.admin.handle(merge(WEB, metadata={"labels": {"a": "1"}}))
    stale = web["metadata"]["resourceVersion"]
    assert refusal(api_server.admin, update(WEB, web)) == (409, "Conflict")
    patch = merge(WEB, metadata={"labels": {"b": "2"}, "resourceVersion": stale})
    assert refusal(api_server.admin, patch) == (409, "Conflict")
    again = with_metadata(fresh, labels={"a": "2"})
    assert api_server.admin.handle(update(WEB, again))["metadata"]["labels"] == {"a": "2"}


def test_an_update_for_another_uid_is_a_conflict(api_server: Subject, web: JsonObject) -> None:
    request = update(WEB, with_metadata(web, uid="other", labels={"a": "1"}))
    assert refusal(api_server.admin, request) == (409, "Conflict")


def test_a_patch_for_another_uid_is_invalid(api_server: Subject, web: JsonObject) -> None:
    assert web["metadata"]["uid"] != "other"
    request = merge(WEB, metadata={"uid": "other", "labels": {"a": "1"}})
    assert refusal(api_server.admin, request) == (422, "Invalid")


def test_an_update_for_another_name_is_a_bad_request(api_server: Subject, web: JsonObject) -> None:
    request = update(WEB, with_metadata(web, name="other"))
    assert refusal(api_server.admin, request) == (400, "BadRequest")


@pytest.mark.parametrize("send", [update, merge])
def test_what_is_not_there_cannot_be_changed(api_server: Subject, send: object) -> None:
    request = update(WEB, pod()) if send is update else merge(WEB, metadata={})
    assert refusal(api_server.admin, request) == (404, "NotFound")


def test_the_status_is_changed_only_by_its_subresource(
    api_server: Subject, web: JsonObject
) -> None:
    assert web["status"]["phase"] == "Pending"
    main = api_server.admin.handle(merge(WEB, status={"phase": "Running"}))
    assert main["status"]["phase"] == "Pending"
    status = merge(f"{WEB}/status", status={"phase": "Running"}, spec={"containers": IMAGES})
    changed = api_server.admin.handle(status)
    assert changed["status"]["phase"] == "Running"
    assert changed["spec"]["containers"][0]["image"] == "registry.example/web:1"


# --- the two kinds of patches -------------------------------------------------------------------------


READY = {"type": "Ready", "status": "True"}
PRESSED = {"type": "DiskPressure", "status": "False"}
NODE_STATUS = f"{NODES}/n1/status"


def by_type(conditions: list[JsonObject]) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in conditions}


@pytest.fixture
def n1(api_server: Subject) -> JsonObject:
    document = {
        **node_object(),
        "status": {
            "conditions": [READY, PRESSED],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
            "capacity": {"cpu": "2", "pods": "110"},
        },
    }
    return api_server.admin.handle(create(NODES, document))


def test_a_strategic_patch_merges_conditions_by_type(api_server: Subject, n1: JsonObject) -> None:
    assert by_type(n1["status"]["conditions"]) == {"Ready": "True", "DiskPressure": "False"}
    patch = strategic(NODE_STATUS, status={"conditions": [{"type": "Ready", "status": "False"}]})
    changed = api_server.admin.handle(patch)
    assert by_type(changed["status"]["conditions"]) == {"Ready": "False", "DiskPressure": "False"}


def test_a_strategic_patch_can_take_a_condition_away(api_server: Subject, n1: JsonObject) -> None:
    assert len(n1["status"]["conditions"]) == 2
    gone = {"type": "DiskPressure", "$patch": "delete"}
    changed = api_server.admin.handle(strategic(NODE_STATUS, status={"conditions": [gone]}))
    assert by_type(changed["status"]["conditions"]) == {"Ready": "True"}


def test_a_strategic_patch_can_replace_a_list(api_server: Subject, n1: JsonObject) -> None:
    assert len(n1["status"]["addresses"]) == 1
    addresses = [{"$patch": "replace"}, {"type": "Hostname", "address": "n1"}]
    changed = api_server.admin.handle(strategic(NODE_STATUS, status={"addresses": addresses}))
    assert changed["status"]["addresses"] == [{"type": "Hostname", "address": "n1"}]


def test_a_strategic_patch_merges_addresses_by_type(api_server: Subject, n1: JsonObject) -> None:
    assert len(n1["status"]["addresses"]) == 1
    addresses = [{"type": "Hostname", "address": "n1"}]
    changed = api_server.admin.handle(strategic(NODE_STATUS, status={"addresses": addresses}))
    kinds = {address["type"] for address in changed["status"]["addresses"]}
    assert kinds == {"Hostname", "InternalIP"}


def test_a_merge_patch_replaces_lists(api_server: Subject, n1: JsonObject) -> None:
    assert len(n1["status"]["conditions"]) == 2
    changed = api_server.admin.handle(merge(NODE_STATUS, status={"conditions": [READY]}))
    assert by_type(changed["status"]["conditions"]) == {"Ready": "True"}


@pytest.mark.parametrize("send", [merge, strategic])
def test_both_patches_merge_objects(api_server: Subject, n1: JsonObject, send: object) -> None:
    assert n1["status"]["capacity"] == {"cpu": "2", "pods": "110"}
    how = merge if send is merge else strategic
    changed = api_server.admin.handle(how(NODE_STATUS, status={"capacity": {"cpu": "4"}}))
    assert changed["status"]["capacity"] == {"cpu": "4", "pods": "110"}


@pytest.mark.parametrize("send", [merge, strategic])
def test_both_patches_replace_taints(api_server: Subject, n1: JsonObject, send: object) -> None:
    assert len(n1["spec"]["taints"]) == 1
    how = merge if send is merge else strategic
    taints = [{"key": "a", "effect": "NoSchedule"}]
    assert (
        api_server.admin.handle(how(f"{NODES}/n1", spec={"taints": taints}))["spec"]["taints"]
        == taints
    )


# --- deleting -----------------------------------------------------------------------------------------


def test_a_bound_pod_stays_until_its_time_is_over(api_server: Subject, web: JsonObject) -> None:
    marked = api_server.admin.handle(delete(WEB))
    assert marked["metadata"]["uid"] == web["metadata"]["uid"]
    there = api_server.admin.handle(get(WEB))["metadata"]
    assert there["deletionGracePeriodSeconds"] == 30
    assert there["deletionTimestamp"].endswith("Z")


@pytest.mark.parametrize(("second", "left"), [(60, 20), (5, 5)])
def test_a_second_deletion_can_only_shorten_the_time(
    api_server: Subject, web: JsonObject, second: int, left: int
) -> None:
    assert web["spec"]["nodeName"] == "n1"
    api_server.admin.handle(delete(WEB, gracePeriodSeconds=20))
    api_server.admin.handle(delete(WEB, gracePeriodSeconds=second))
    there = api_server.admin.handle(get(WEB))["metadata"]
    assert there["deletionGracePeriodSeconds"] == left


def test_no_time_at_all_removes_a_bound_pod(api_server: Subject, web: JsonObject) -> None:
    assert web["spec"]["nodeName"] == "n1"
    api_server.admin.handle(delete(WEB))
    api_server.admin.handle(delete(WEB, gracePeriodSeconds=0))
    assert refusal(api_server.admin, get(WEB)) == (404, "NotFound")


def test_an_unbound_pod_goes_at_once(api_server: Subject) -> None:
    api_server.admin.handle(create(PODS, pod(node="")))
    api_server.admin.handle(delete(WEB))
    assert refusal(api_server.admin, get(WEB)) == (404, "NotFound")


def test_a_pod_that_is_over_goes_at_once(api_server: Subject, web: JsonObject) -> None:
    assert web["status"]["phase"] == "Pending"
    api_server.admin.handle(merge(f"{WEB}/status", status={"phase": "Succeeded"}))
    api_server.admin.handle(delete(WEB))
    assert refusal(api_server.admin, get(WEB)) == (404, "NotFound")


@pytest.mark.parametrize("precondition", [{"uid": "other"}, {"resourceVersion": "1"}])
def test_another_object_than_the_one_meant_is_not_deleted(
    api_server: Subject, web: JsonObject, precondition: dict[str, str]
) -> None:
    request = delete(WEB, gracePeriodSeconds=0, preconditions=precondition)
    assert refusal(api_server.admin, request) == (409, "Conflict")
    there = api_server.admin.handle(get(WEB))["metadata"]
    assert there["uid"] == web["metadata"]["uid"]
    assert "deletionTimestamp" not in there


def test_the_object_meant_is_deleted(api_server: Subject, web: JsonObject) -> None:
    preconditions = {"uid": web["metadata"]["uid"]}
    api_server.admin.handle(delete(WEB, gracePeriodSeconds=0, preconditions=preconditions))
    assert refusal(api_server.admin, get(WEB)) == (404, "NotFound")


def test_what_is_not_there_cannot_be_deleted(api_server: Subject) -> None:
    assert refusal(api_server.admin, delete(WEB)) == (404, "NotFound")


def test_a_node_goes_at_once(api_server: Subject, n1: JsonObject) -> None:
    api_server.admin.handle(delete(f"{NODES}/n1", preconditions={"uid": n1["metadata"]["uid"]}))
    assert refusal(api_server.admin, get(f"{NODES}/n1")) == (404, "NotFound")


def test_a_finalizer_keeps_a_deleted_node_until_it_is_taken_off(api_server: Subject) -> None:
    held = node_object(finalizers=["example.com/hold"])
    api_server.admin.handle(create(NODES, held))
    api_server.admin.handle(delete(f"{NODES}/n1"))
    there = api_server.admin.handle(get(f"{NODES}/n1"))["metadata"]
    assert there["deletionTimestamp"].endswith("Z")
    api_server.admin.handle(merge(f"{NODES}/n1", metadata={"finalizers": None}))
    assert refusal(api_server.admin, get(f"{NODES}/n1")) == (404, "NotFound")
