"""Which pods are served: one source after the other, and again after a crash."""

from __future__ import annotations

import pytest

from messages.pods import API, FILE, HTTP, Pod, SourceName
from messages.units import Timestamp
from stores.pods.served_pods import ServedPods, ServedPodsMemory, Taken
from tests.support.builders import make_mirror, make_pod

NOON = Timestamp(1_900_000_000.0)


class Node:
    """The pods of a node, and the memory that outlives them."""

    def __init__(self) -> None:
        self.memory = ServedPodsMemory()
        self.pods = ServedPods(self.memory)

    def crash(self) -> None:
        self.pods = ServedPods(self.memory)

    def take(self, source: SourceName, *pods: Pod) -> list[str]:
        """Take a listing and return what it changed about the served pods."""
        return spoken(self.pods.take(source, pods, NOON))

    def served(self, source: SourceName) -> list[str]:
        return [pod.name for pod in self.pods.served(source)]


@pytest.fixture
def node() -> Node:
    return Node()


def spoken(taken: Taken) -> list[str]:
    return [f"{change.op} {change.pod.uid} {change.pod.source}" for change in taken.served]


def pod(name: str, uid: str, **fields: str) -> Pod:
    return make_pod(name, uid=uid, image=fields.get("image", "web:1"))


def test_a_pod_is_served_by_the_node_s_own_annotations(node: Node) -> None:
    assert node.take(FILE, pod("web", "u1")) == ["ADD u1 file"]
    assert node.pods.listed == {FILE}
    assert node.pods.waiting(FILE) == {}


def test_the_first_listing_of_a_source_is_marked() -> None:
    pods = ServedPods(ServedPodsMemory())
    assert pods.take(FILE, (), NOON).first
    assert not pods.take(FILE, (), NOON).first


def test_a_pod_whose_name_is_taken_waits_and_follows(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    assert node.take(HTTP, pod("web", "u2")) == []
    assert node.pods.waiting(HTTP) == {
        "u2": "default/web of source file was there first",
    }
    assert node.take(FILE) == ["REMOVE u1 file", "ADD u2 http"]
    assert node.pods.waiting(HTTP) == {}


def test_a_pod_whose_name_is_taken_is_served_for_its_end_when_it_is_deleted(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    assert node.take(API, make_pod("web", uid="u2")) == []
    assert node.take(API, make_pod("web", uid="u2", deleting=True)) == ["ADD u2 api"]
    assert node.pods.waiting(API) == {}
    assert node.pods.index.shadowed() == ()
    # Nobody else tells these two apart by the name.
    assert node.take(API, make_pod("web", uid="u2", deleting=True)) == []
    assert node.take(API) == ["REMOVE u2 api"]
    assert node.served(FILE) == ["web"]


def test_a_pod_that_is_served_for_its_end_stays_so_over_a_crash(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    ending = make_pod("web", uid="u2", deleting=True)
    node.take(API, ending)
    node.crash()
    node.take(API, ending)
    assert node.served(API) == node.served(FILE) == ["web"]
    assert node.take(FILE, pod("web", "u1")) == []
    assert node.served(API) == node.served(FILE) == ["web"]


def test_a_pod_that_is_being_deleted_holds_its_name_until_it_is_gone(node: Node) -> None:
    node.take(API, make_pod("web", uid="u2", deleting=True))
    assert node.take(FILE, pod("web", "u1")) == []
    assert node.take(API) == ["REMOVE u2 api", "ADD u1 file"]


def test_a_pod_that_another_source_tells_too_changes_its_keeper_without_going(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    assert node.take(HTTP, pod("web", "u1")) == []
    assert node.take(FILE) == ["UPDATE u1 http"]


def test_a_change_of_a_version_that_waits_is_nobody_s_business(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u1"))
    assert node.take(HTTP, pod("web", "u1", image="web:2")) == []
    assert node.take(HTTP) == []


def test_a_change_of_a_pod_that_waits_is_nobody_s_business(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u2"))
    assert node.take(HTTP, pod("web", "u2", image="web:2")) == []


def test_a_pod_that_takes_another_name_is_updated_and_reveals_who_waited(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u2"))
    assert node.take(FILE, pod("shop", "u1")) == ["ADD u2 http", "UPDATE u1 file"]


def test_a_pod_that_takes_a_name_that_is_held_goes_and_waits(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("shop", "u2"))
    assert node.take(HTTP, pod("web", "u2")) == ["REMOVE u2 http"]


def test_a_pod_that_moves_to_a_held_name_and_back_again_is_removed_and_added(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("shop", "u2"))
    node.take(HTTP, pod("web", "u2"))
    assert node.take(HTTP, pod("shop", "u2")) == ["ADD u2 http"]


def test_a_refreshed_version_is_served_though_no_change_tells_of_it(node: Node) -> None:
    node.take(API, make_pod(resource_version="1"))
    assert node.take(API, make_pod(resource_version="2")) == []
    (served,) = node.pods.served(API)
    assert served.document["metadata"]["resourceVersion"] == "2"
    assert node.pods.index.holder(served.uid) is served


def test_a_refreshed_version_that_waits_is_not_served(node: Node) -> None:
    node.take(FILE, make_pod(image="web:1"))
    node.take(API, make_pod(resource_version="1"))
    node.take(API, make_pod(resource_version="2"))
    assert node.served(FILE) == ["web"]
    assert node.served(API) == []


def test_a_mirror_and_its_pod_are_served_side_by_side(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    assert node.take(API, make_mirror(pod("web", "u1"))) == ["ADD mirror-of-u1 api"]


def test_of_two_pods_in_one_listing_with_one_name_the_second_says_why_it_waits(node: Node) -> None:
    node.take(HTTP, pod("web", "u1"), pod("web", "u2"))
    assert node.pods.waiting(HTTP) == {
        "u2": "an earlier pod of the same listing has its namespace and name",
    }


def test_of_two_pods_in_one_listing_with_one_uid_nothing_bad_is_said(node: Node) -> None:
    # By the UID alone nobody could tell which of both is meant, and one is served.
    node.take(HTTP, pod("web", "u1"), pod("shop", "u1"))
    assert node.served(HTTP) == ["web"]
    assert node.pods.waiting(HTTP) == {}


def test_after_a_crash_a_name_waits_for_its_former_holder(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u2"))
    node.crash()
    assert node.take(HTTP, pod("web", "u2")) == []
    assert node.pods.waiting(HTTP) == {
        "u2": "its name was held by source file, which has not listed yet",
    }
    assert node.pods.waiting(API) == {}
    assert node.take(FILE, pod("web", "u1")) == []
    assert node.served(FILE) == ["web"]
    assert node.served(HTTP) == []


def test_after_a_crash_a_name_is_free_once_its_former_holder_lists_without_it(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u2"))
    node.crash()
    node.take(HTTP, pod("web", "u2"))
    assert node.take(FILE) == ["REMOVE u1 file", "ADD u2 http"]


def test_a_pod_that_goes_while_it_is_held_back_is_not_waited_for(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u2"))
    node.crash()
    node.take(HTTP, pod("web", "u2"))
    node.take(HTTP)
    assert node.pods.waiting(HTTP) == {}
    assert node.take(FILE) == ["REMOVE u1 file"]


def test_a_name_that_is_freed_waits_for_a_source_next_in_line(node: Node) -> None:
    # Its claim is older than that of the API's pod, but it is down.
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u2"))
    node.take(API, pod("web", "u3"))
    node.crash()
    node.take(API, pod("web", "u3"))
    node.take(FILE, pod("web", "u1"))
    assert node.take(FILE) == ["REMOVE u1 file"]
    assert node.take(HTTP, pod("web", "u2")) == ["ADD u2 http"]


def test_a_name_that_is_left_by_an_edit_waits_for_a_source_next_in_line(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u2"))
    node.take(API, pod("web", "u3"))
    node.crash()
    node.take(API, pod("web", "u3"))
    # The first listing after the crash has the pod under another name already.
    assert node.take(FILE, pod("shop", "u1")) == ["UPDATE u1 file"]
    assert node.take(HTTP, pod("web", "u2")) == ["ADD u2 http"]


def test_who_told_a_uid_first_keeps_it_over_a_crash(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u1"))
    node.crash()
    assert node.take(HTTP, pod("web", "u1")) == []
    assert node.take(FILE, pod("web", "u1")) == []
    assert node.served(FILE) == ["web"]


def test_a_pod_that_a_silent_source_may_tell_still_is_served_as_it_was(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u1"))
    node.crash()
    assert node.take(FILE) == []
    assert node.served(FILE) == ["web"]
    assert node.take(HTTP, pod("web", "u1")) == ["UPDATE u1 http"]
    assert node.served(FILE) == []


def test_a_name_is_not_given_away_while_its_pod_may_be_told_still(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.take(HTTP, pod("web", "u1"))
    node.crash()
    # The manifest was edited, and its UID is a digest of it.
    assert node.take(FILE, pod("web", "u2")) == []
    assert node.pods.waiting(FILE) == {
        "u2": "its name was held by source http, which has not listed yet"
    }
    assert node.take(HTTP) == ["REMOVE u1 file", "ADD u2 file"]


def test_the_time_of_first_sight_outlives_the_pods(node: Node) -> None:
    node.take(FILE, pod("web", "u1"))
    node.crash()
    node.pods.take(FILE, (pod("web", "u1"),), Timestamp(NOON + 60))
    (served,) = node.pods.served(FILE)
    assert served.annotations["kubernetes.io/config.seen"] == "2030-03-17T17:46:40.000000000Z"
