"""The merge of one source's listings, rule by rule."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from messages.pods import API, CONFIG_SEEN, CONFIG_SOURCE, HTTP, Pod, PodUid
from messages.units import Timestamp
from stores.pods.merge import DropReason
from stores.pods.served_pods import FirstSeen
from tests.support.builders import edited, make_pod
from tests.support.pods.merging_source import MergingSource

WEB = make_pod("web", resource_version="1", labels={"app": "web"})


@pytest.fixture
def source() -> MergingSource:
    return MergingSource()


def with_metadata(pod: Pod, **fields: Any) -> Pod:
    return edited(pod, metadata={**pod.document["metadata"], **fields})


def test_a_kept_pod_carries_the_source_that_told_it() -> None:
    """Rule C7, also against what the pod claims for itself."""
    source = MergingSource(HTTP)
    source.lists(make_pod("web", source="api"), make_pod("bare", source=""))
    assert [pod.source for pod in source.memory.pods] == ["http", "http"]


def test_a_pod_without_annotations_gets_them(source: MergingSource) -> None:
    source.lists(with_metadata(WEB, annotations=None))
    assert source.kept(WEB.uid).annotations.keys() == {CONFIG_SOURCE, CONFIG_SEEN}


@pytest.mark.parametrize(
    ("now", "written"),
    [
        (1_900_000_000.0, "2030-03-17T17:46:40.000000000Z"),
        (1_900_000_000.25, "2030-03-17T17:46:40.250000000Z"),
        (0.000000001, "1970-01-01T00:00:00.000000001Z"),
        (1.9999999999, "1970-01-01T00:00:02.000000000Z"),
    ],
)
@pytest.mark.rule("C8")
def test_the_first_seen_time_is_written_with_nanoseconds(
    source: MergingSource, now: float, written: str
) -> None:
    source.now = Timestamp(now)
    source.lists(WEB)
    assert source.kept(WEB.uid).annotations[CONFIG_SEEN] == written


@pytest.mark.rule("C23")
def test_the_first_seen_time_stays_while_the_pod_is_listed(source: MergingSource) -> None:
    source.lists(WEB)
    first_seen = source.kept(WEB.uid).annotations[CONFIG_SEEN]

    # It is edited later, and once more after whoever keeps the memory crashed.
    source.now = Timestamp(source.now + 60)
    source.lists(make_pod("web", image="registry.example/web:2"))
    source.forgets()
    source.lists(make_pod("web", image="registry.example/web:3"))
    assert source.kept(WEB.uid).annotations[CONFIG_SEEN] == first_seen


def test_a_pod_that_comes_back_has_a_new_first_seen_time(source: MergingSource) -> None:
    source.lists(WEB)
    first_seen = source.kept(WEB.uid).annotations[CONFIG_SEEN]
    source.lists()
    source.now = Timestamp(source.now + 60)
    source.lists(WEB)
    assert source.kept(WEB.uid).annotations[CONFIG_SEEN] > first_seen


@pytest.mark.rule("C8")
def test_a_pod_that_is_deleted_already_when_first_seen_is_added(source: MergingSource) -> None:
    assert source.lists(make_pod("web", deleting=True)) == ["ADD default/web"]


@pytest.mark.rule("C19")
def test_a_change_during_deletion_is_told_as_delete_again(source: MergingSource) -> None:
    source.lists(make_pod("web", deleting=True))
    relabelled = make_pod("web", deleting=True, labels={"a": "b"})
    assert source.lists(relabelled) == ["DELETE default/web"]


@pytest.mark.rule("C15")
def test_a_shorter_grace_period_is_told_as_delete(source: MergingSource) -> None:
    deleting = make_pod("web", deleting=True)
    source.lists(deleting)
    hurried = with_metadata(deleting, deletionGracePeriodSeconds=0)
    assert source.lists(hurried) == ["DELETE default/web"]


def test_a_status_change_during_deletion_is_only_reconciled(source: MergingSource) -> None:
    source.lists(make_pod("web", deleting=True))
    assert source.lists(make_pod("web", deleting=True, phase="Failed")) == ["RECONCILE default/web"]


@pytest.mark.rule("C22")
def test_a_deletion_taken_back_is_an_update(source: MergingSource) -> None:
    source.lists(make_pod("web", deleting=True))
    assert source.lists(make_pod("web")) == ["UPDATE default/web"]


def test_another_name_under_a_fixed_uid_is_an_update(source: MergingSource) -> None:
    source.lists(make_pod("web", uid="fixed"))
    assert source.lists(make_pod("shop", uid="fixed")) == ["UPDATE default/shop"]


def test_another_namespace_under_a_fixed_uid_is_an_update(source: MergingSource) -> None:
    source.lists(make_pod("web", uid="fixed"))
    assert source.lists(make_pod("web", uid="fixed", namespace="b")) == ["UPDATE b/web"]


@pytest.mark.parametrize(
    "fields",
    [
        {"resourceVersion": "2"},
        {"ownerReferences": [{"kind": "Node", "name": "edge", "uid": "n"}]},
        {"finalizers": ["example/keep"]},
        {"generation": 2},
        {"managedFields": [{"manager": "kubectl"}]},
        {"creationTimestamp": "2030-01-01T00:00:00Z"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_the_api_server_notes_for_itself_is_kept_current_in_silence(
    source: MergingSource, fields: dict[str, Any]
) -> None:
    """Rules C20 and C21, with quirk K12 fixed."""
    source.lists(WEB)
    merged = source.merges(with_metadata(WEB, **fields))
    assert merged.changes == ()
    assert merged.refreshed == (source.kept(WEB.uid),)
    assert source.kept(WEB.uid).document["metadata"].items() >= fields.items()


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize("empty", [None, {}], ids=["none", "empty"])
def test_a_missing_map_and_an_empty_one_are_the_same(
    source: MergingSource, field: str, empty: object
) -> None:
    """Rule C15, where a kubelet tells an update for labels."""
    bare = make_pod("web", source="")
    source.lists(bare)
    assert source.lists(with_metadata(bare, **{field: empty})) == []


def test_a_missing_status_and_an_empty_one_are_the_same(source: MergingSource) -> None:
    source.lists(WEB)
    assert source.lists(edited(WEB, status={})) == []


def test_an_equal_document_leaves_the_kept_pod_the_identical_object(source: MergingSource) -> None:
    source.lists(WEB)
    kept = source.kept(WEB.uid)
    twin = Pod.of(copy.deepcopy(dict(WEB.document)))
    merged = source.merges(twin)
    assert (merged.changes, merged.refreshed) == ((), ())
    assert source.kept(WEB.uid) is kept
    assert source.memory.kept[WEB.uid].told is twin


def test_a_listing_of_the_identical_objects_leaves_the_memory_as_it_is(
    source: MergingSource,
) -> None:
    source.lists(WEB, make_pod("shop"))
    memory = source.memory
    source.merges(*memory.listed or ())
    assert source.memory is memory


def test_a_pod_told_by_the_identical_object_is_not_looked_at(source: MergingSource) -> None:
    source.lists(WEB)
    kept = source.memory.kept[WEB.uid]
    assert source.lists(WEB, make_pod("shop")) == ["ADD default/shop"]
    assert source.memory.kept[WEB.uid] is kept


def test_told_documents_are_never_written_to(source: MergingSource) -> None:
    before = copy.deepcopy(dict(WEB.document))
    source.lists(WEB)
    source.lists(edited(WEB, status={"phase": "Running"}))
    assert WEB.document == before


@pytest.mark.rule("C6")
def test_a_pod_without_a_uid_is_dropped_and_claims_nothing(source: MergingSource) -> None:
    nobody, web = make_pod("web", uid=""), make_pod("web")
    merged = source.merges(nobody, web)
    assert [change.pod.uid for change in merged.changes] == [web.uid]
    assert merged.memory.dropped == ((nobody, DropReason.NO_UID),)


@pytest.mark.rule("C6")
def test_the_second_pod_of_one_uid_is_dropped_and_claims_no_name(source: MergingSource) -> None:
    first, twin = make_pod("web", uid="u"), make_pod("shop", uid="u")
    shop = make_pod("shop")
    merged = source.merges(first, twin, shop)
    assert [change.pod.name for change in merged.changes] == ["web", "shop"]
    assert merged.memory.dropped == ((twin, DropReason.UID_TAKEN),)


@pytest.mark.rule("C12")
def test_a_known_pod_that_loses_its_name_within_a_listing_is_removed(source: MergingSource) -> None:
    source.lists(make_pod("web", uid="old"))
    merged = source.merges(make_pod("web", uid="new"), make_pod("web", uid="old"))
    assert [(change.op, change.pod.uid) for change in merged.changes] == [
        ("REMOVE", "old"),
        ("ADD", "new"),
    ]


def test_what_was_dropped_is_remembered_through_an_unchanged_listing(source: MergingSource) -> None:
    pods = make_pod("web", uid="a"), make_pod("web", uid="b")
    source.merges(*pods)
    assert [dropped.pod.uid for dropped in source.merges(*pods).memory.dropped] == ["b"]


def test_changes_of_one_kind_keep_the_order_of_the_listing(source: MergingSource) -> None:
    assert source.lists(make_pod("c"), make_pod("a"), make_pod("b")) == [
        "ADD default/c",
        "ADD default/a",
        "ADD default/b",
    ]
    assert source.lists() == ["REMOVE default/c", "REMOVE default/a", "REMOVE default/b"]


def test_one_listing_can_say_everything_at_once(source: MergingSource) -> None:
    """Rule C4: the order is REMOVE, ADD, UPDATE, DELETE, RECONCILE."""
    source.lists(make_pod("gone"), make_pod("edited"), make_pod("ending"), make_pod("running"))
    assert source.lists(
        make_pod("running", phase="Running"),
        make_pod("ending", deleting=True),
        make_pod("edited", image="registry.example/web:2"),
        make_pod("new"),
    ) == [
        "REMOVE default/gone",
        "ADD default/new",
        "UPDATE default/edited",
        "DELETE default/ending",
        "RECONCILE default/running",
    ]


def test_first_seen_times_of_two_sources_are_apart() -> None:
    first_seen = FirstSeen()
    uid = PodUid("u")
    assert first_seen.seen_at(HTTP, uid, Timestamp(1.0)) == 1.0
    assert first_seen.seen_at(API, uid, Timestamp(2.0)) == 2.0
    first_seen.retain(API, set())
    assert first_seen.seen_at(HTTP, uid, Timestamp(3.0)) == 1.0
    assert first_seen.seen_at(API, uid, Timestamp(3.0)) == 3.0


def test_first_seen_times_are_kept_of_retained_pods_only() -> None:
    first_seen = FirstSeen()
    stays, goes = PodUid("stays"), PodUid("goes")
    first_seen.seen_at(HTTP, stays, Timestamp(1.0))
    first_seen.seen_at(HTTP, goes, Timestamp(1.0))
    first_seen.retain(HTTP, {stays, PodUid("unknown")})
    assert first_seen.seen_at(HTTP, stays, Timestamp(2.0)) == 1.0
    assert first_seen.seen_at(HTTP, goes, Timestamp(2.0)) == 2.0
