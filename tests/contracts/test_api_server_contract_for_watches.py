"""What the agent relies on of an API server's watches, over HTTP: the real one's and the tests' own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice

import pytest

from kube.streams.parsing import is_too_new
from messages.pods import JsonObject
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.subjects import (
    EVENTS,
    NODES,
    PODS,
    WatchedSubject,
    create,
    delete,
    get,
    merge,
    node_object,
    pod,
    real,
)
from tests.support.cluster.cluster import Cluster

WEB = f"{PODS}/web"
ON_N1 = "spec.nodeName=n1"
BOOKMARK = "BOOKMARK"
AT_ONCE = [("MODIFIED", 0), ("DELETED", 0)]


def words(events: Iterator[JsonObject], number: int) -> list[str]:
    """Return what the next ``number`` events say, without bookmarks."""
    said = (event for event in events if event["type"] != BOOKMARK)
    return [
        f"{event['type']} {event['object']['metadata']['name']}" for event in islice(said, number)
    ]


def deletions(events: Iterator[JsonObject], number: int) -> list[tuple[str, int | None]]:
    """Return of the next ``number`` events how long their object has still to live."""
    return [
        (event["type"], event["object"]["metadata"].get("deletionGracePeriodSeconds"))
        for event in islice(events, number)
    ]


@pytest.fixture
def version(watched: WatchedSubject) -> str:
    """Return the version from which on the story happens."""
    found: str = watched.admin.handle(get("/api/v1/pods"))["metadata"]["resourceVersion"]
    return found


def test_events_come_in_the_order_of_the_changes(watched: WatchedSubject, version: str) -> None:
    with watched.node.watch("/api/v1/pods", since=version, selector=ON_N1) as events:
        watched.admin.handle(create(PODS, pod("b")))
        watched.admin.handle(create(PODS, pod("elsewhere", "n2")))
        watched.admin.handle(create(PODS, pod("a")))
        watched.admin.handle(merge(f"{PODS}/b/status", status={"phase": "Running"}))
        watched.admin.handle(delete(f"{PODS}/b", gracePeriodSeconds=0))
        watched.admin.handle(create(PODS, pod("c")))
        assert words(events, 3) == ["ADDED b", "ADDED a", "MODIFIED b"]
        # Marked as being deleted, and deleted.
        assert words(events, 3) == ["MODIFIED b", "DELETED b", "ADDED c"]


def test_a_watch_begins_right_after_its_version(watched: WatchedSubject) -> None:
    watched.admin.handle(create(PODS, pod("a")))
    second = watched.admin.handle(create(PODS, pod("b")))
    watched.admin.handle(create(PODS, pod("c")))
    since = second["metadata"]["resourceVersion"]
    with watched.node.watch("/api/v1/pods", since=since, selector=ON_N1) as events:
        assert words(events, 1) == ["ADDED c"]


@pytest.mark.parametrize("since", ["", "0"])
def test_a_watch_without_a_version_begins_with_what_is_there(
    watched: WatchedSubject, since: str
) -> None:
    watched.admin.handle(create(PODS, pod("a")))
    with watched.node.watch("/api/v1/pods", since=since, selector=ON_N1) as events:
        assert words(events, 1) == ["ADDED a"]
        watched.admin.handle(create(PODS, pod("b")))
        assert words(events, 1) == ["ADDED b"]


def test_versions_of_events_grow(watched: WatchedSubject, version: str) -> None:
    with watched.node.watch("/api/v1/pods", since=version, selector=ON_N1) as events:
        watched.admin.handle(create(PODS, pod()))
        watched.admin.handle(merge(WEB, metadata={"labels": {"a": "1"}}))
        watched.admin.handle(delete(WEB, gracePeriodSeconds=0))
        found = [int(event["object"]["metadata"]["resourceVersion"]) for event in islice(events, 3)]
    assert int(version) < found[0] < found[1] < found[2]


def test_events_say_what_kind_their_object_is(watched: WatchedSubject, version: str) -> None:
    with watched.node.watch("/api/v1/pods", since=version, selector=ON_N1) as events:
        watched.admin.handle(create(PODS, pod()))
        event = next(events)
    assert (event["object"]["kind"], event["object"]["apiVersion"]) == ("Pod", "v1")


def test_a_graceful_deletion_is_a_change_and_then_a_deletion(
    watched: WatchedSubject, version: str
) -> None:
    with watched.node.watch("/api/v1/pods", since=version, selector=ON_N1) as events:
        watched.admin.handle(create(PODS, pod()))
        watched.admin.handle(delete(WEB))
        watched.admin.handle(delete(WEB, gracePeriodSeconds=0))
        assert deletions(events, 4) == [("ADDED", None), ("MODIFIED", 30), *AT_ONCE]


@pytest.mark.parametrize("node", ["n1", ""])
def test_a_deletion_at_once_is_a_change_as_well(
    watched: WatchedSubject, version: str, node: str
) -> None:
    with watched.admin.watch("/api/v1/pods", since=version) as events:
        watched.admin.handle(create(PODS, pod(node=node)))
        watched.admin.handle(delete(WEB, gracePeriodSeconds=0))
        assert deletions(events, 3) == [("ADDED", None), *AT_ONCE]


def test_what_is_no_longer_selected_is_deleted_for_this_watch(
    watched: WatchedSubject, version: str
) -> None:
    selector = "status.phase=Pending"
    with watched.admin.watch("/api/v1/pods", since=version, selector=selector) as events:
        watched.admin.handle(create(PODS, pod()))
        watched.admin.handle(merge(f"{WEB}/status", status={"phase": "Running"}))
        watched.admin.handle(merge(f"{WEB}/status", status={"phase": "Pending"}))
        assert words(events, 3) == ["ADDED web", "DELETED web", "ADDED web"]


def test_a_recreated_node_is_another(watched: WatchedSubject) -> None:
    first = watched.admin.handle(create(NODES, node_object()))
    since = first["metadata"]["resourceVersion"]
    selector = "metadata.name=n1"
    with watched.node.watch(NODES, since=since, selector=selector) as events:
        watched.admin.handle(delete(f"{NODES}/n1"))
        watched.admin.handle(create(NODES, node_object()))
        said = list(islice(events, 2))
    assert [event["type"] for event in said] == ["DELETED", "ADDED"]
    assert said[0]["object"]["metadata"]["uid"] == first["metadata"]["uid"]
    assert said[1]["object"]["metadata"]["uid"] != first["metadata"]["uid"]


def test_a_quiet_watch_has_a_bookmark_before_it_ends(watched: WatchedSubject) -> None:
    made = watched.admin.handle(create(PODS, pod()))
    since = made["metadata"]["resourceVersion"]
    with watched.node.watch("/api/v1/pods", since=since, selector=ON_N1, seconds=4) as events:
        watched.admin.handle(create(PODS, pod("elsewhere", "n2")))
        said = list(events)
    bookmark = said[-1]
    assert bookmark["type"] == BOOKMARK
    assert bookmark["object"]["kind"] == "Pod"
    # It moves the version along although nothing that was selected has changed.
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) > int(since)


def event_named(name: str) -> JsonObject:
    regarding = {"kind": "Pod", "name": "web", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": regarding,
    }


def test_too_old_a_version_is_an_error_event_410(watched: WatchedSubject) -> None:
    # Of events, since the real one keeps the history of everything else in a cache of its own.
    first = watched.admin.handle(create(EVENTS, event_named("a")))
    watched.admin.handle(create(EVENTS, event_named("b")))
    watched.compact()
    since = first["metadata"]["resourceVersion"]
    with watched.admin.watch("/api/v1/events", since=str(int(since) - 1)) as events:
        said = next(events)
    assert said["type"] == "ERROR"
    assert (said["object"]["kind"], said["object"]["code"]) == ("Status", 410)
    assert said["object"]["reason"] == "Expired"


Open = Callable[[WatchedSubject], AbstractContextManager[Iterator[JsonObject]]]


@pytest.mark.parametrize(
    ("open_", "refused_with"),
    [
        pytest.param(
            lambda subject: subject.node.watch("/api/v1/secrets", since="1"), 403, id="forbidden"
        ),
        pytest.param(
            lambda subject: subject.admin.watch(PODS, since="1", selector="spec.hostname=web"),
            400,
            id="unknown field",
        ),
    ],
)
def test_a_watch_that_cannot_be_is_refused_as_a_request(
    watched: WatchedSubject, open_: Open, refused_with: int
) -> None:
    with pytest.raises(StatusError) as refused, open_(watched):
        pass
    assert refused.value.code == refused_with


def test_a_token_that_nobody_knows_is_unauthorized(watched: WatchedSubject) -> None:
    with pytest.raises(StatusError) as refused:
        watched.stranger.handle(get("/api/v1/pods"))
    assert (refused.value.code, refused.value.reason) == (401, "Unauthorized")


# What is listed from a cache, and what such a list promises.


def test_a_list_from_the_cache_is_no_older_than_the_version_it_names(
    watched: WatchedSubject,
) -> None:
    watched.admin.handle(create(PODS, pod("elsewhere", "n2")))
    made = watched.admin.handle(create(PODS, pod()))
    seen = made["metadata"]["resourceVersion"]
    listed = watched.node.handle(
        get(
            "/api/v1/pods",
            fieldSelector=ON_N1,
            resourceVersion=seen,
            resourceVersionMatch="NotOlderThan",
        )
    )
    assert [item["metadata"]["name"] for item in listed["items"]] == ["web"]
    assert int(listed["metadata"]["resourceVersion"]) >= int(seen)


def test_a_list_of_whatever_the_cache_has_can_be_watched_from(watched: WatchedSubject) -> None:
    watched.admin.handle(create(PODS, pod("a")))
    listed = watched.node.handle(get("/api/v1/pods", fieldSelector=ON_N1, resourceVersion="0"))
    since = listed["metadata"]["resourceVersion"]
    assert since not in {"", "0"}
    known = {item["metadata"]["name"] for item in listed["items"]}
    with watched.node.watch("/api/v1/pods", since=since, selector=ON_N1) as events:
        watched.admin.handle(create(PODS, pod("b")))
        # What the cache did not have yet comes as an event: nothing is lost in between.
        missing = [f"ADDED {name}" for name in ("a", "b") if name not in known]
        assert words(events, len(missing)) == missing


@pytest.mark.cluster
@pytest.mark.timeout(120)  # the first test waits until it has started
def test_a_version_that_the_cache_has_not_got_is_refused_in_known_words(cluster: Cluster) -> None:
    with real(cluster) as subject, pytest.raises(StatusError) as refused:
        subject.admin.handle(
            get(
                "/api/v1/pods",
                fieldSelector=ON_N1,
                resourceVersion="999999999",
                resourceVersionMatch="NotOlderThan",
            )
        )
    assert (refused.value.code, refused.value.reason) == (504, "Timeout")
    assert is_too_new(json.dumps(refused.value.status).encode())
