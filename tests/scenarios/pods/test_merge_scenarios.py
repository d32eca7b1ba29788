"""What becomes of a source's listings.

A kubelet of old took partial messages (ADD, UPDATE, REMOVE of single pods); sources here tell
complete listings only, as newer kubelets do, so each partial message stands as the listing it leads to.
"""

from __future__ import annotations

import pytest

from messages.pods import (
    API,
    CONFIG_MIRROR,
    CONFIG_SEEN,
    CONFIG_SOURCE,
    FILE,
    Pod,
)
from stores.pods.merge import DropReason
from tests.support.builders import edited, make_pod, uid_of
from tests.support.pods.merging_source import MergingSource, spoken

FOO = make_pod("foo", image="registry.example/foo:1")
FOO_EDITED = make_pod("foo", image="registry.example/foo:2")
FOO2 = make_pod("foo2", annotations={"a": "blah"}, labels={"key": "value"})
FOO3 = make_pod("foo3")
FOO4 = make_pod("foo4")


@pytest.fixture
def source() -> MergingSource:
    return MergingSource()


def test_a_new_pod_is_added_and_then_part_of_the_whole(source: MergingSource) -> None:
    foo = make_pod("foo", namespace="new")
    assert source.lists(foo) == ["ADD new/foo"]

    # The full synchronisation of old kubelets, a SET from "*", is a look at the memory.
    assert [pod.display_name for pod in source.memory.pods] == ["new/foo"]


def test_the_namespace_is_not_validated_by_the_merge(source: MergingSource) -> None:
    assert source.lists(make_pod("foo", namespace="")) == ["ADD /foo"]


def test_one_name_in_two_namespaces_is_two_pods(source: MergingSource) -> None:
    source.lists(FOO)
    assert source.lists(FOO, make_pod("foo", namespace="new")) == ["ADD new/foo"]


@pytest.mark.parametrize("again", [FOO, edited(FOO)], ids=["same object", "equal object"])
def test_an_unchanged_pod_is_not_told_again(source: MergingSource, again: Pod) -> None:
    source.lists(FOO)
    assert source.lists(again) == []


def test_an_edited_pod_is_updated_and_removed_as_it_was_kept(source: MergingSource) -> None:
    source.lists(FOO)
    assert source.lists(FOO_EDITED) == ["UPDATE default/foo"]
    kept = source.kept(FOO.uid)

    # The removal carries the edited version, with the annotations of this node.
    (removal,) = source.merges().changes
    assert removal.op == "REMOVE"
    assert removal.pod is kept
    assert removal.pod.document["spec"] == FOO_EDITED.document["spec"]


def test_a_pod_whose_deletion_began_is_told_as_delete(source: MergingSource) -> None:
    source.lists(FOO)
    assert source.lists(make_pod("foo", deleting=True, image="registry.example/foo:1")) == [
        "DELETE default/foo"
    ]


def test_a_listing_removes_adds_and_updates_in_this_order(source: MergingSource) -> None:
    source.lists(FOO, FOO2, FOO3)
    assert source.lists(make_pod("foo2", image="registry.example/other:1"), FOO3, FOO4) == [
        "REMOVE default/foo",
        "ADD default/foo4",
        "UPDATE default/foo2",
    ]


def test_a_change_of_status_alone_is_reconciled(source: MergingSource) -> None:
    source.lists(FOO, FOO2, FOO3)
    assert source.lists(FOO, FOO2, FOO3) == []

    # Only the status of foo2 changes.
    running = edited(FOO2, status={"phase": "Running"})
    assert source.lists(FOO, running, FOO3) == ["RECONCILE default/foo2"]

    # Its status and its specification change: one update carries both.
    done = edited(FOO2, spec={"containers": []}, status={"phase": "Succeeded"})
    assert source.lists(FOO, done, FOO3) == ["UPDATE default/foo2"]
    assert source.kept(FOO2.uid).phase == "Succeeded"


def test_the_first_listing_is_told_apart_even_when_it_is_empty(source: MergingSource) -> None:
    """Ours: the merge says that it was the first, in place of a kubelet's empty ADD."""
    first = source.merges()
    assert (first.first, first.changes) == (True, ())
    second = source.merges()
    assert (second.first, second.changes) == (False, ())
    third = source.merges(FOO)
    assert (third.first, spoken(third)) == (False, ["ADD default/foo"])


def test_every_change_of_an_annotation_is_an_update(source: MergingSource) -> None:
    source.lists(FOO, FOO2, FOO3)

    def annotated(**annotations: str) -> Pod:
        return make_pod("foo2", labels={"key": "value"}, annotations=annotations)

    # Changed; one more; one less.
    assert source.lists(FOO, annotated(a="blub"), FOO3) == ["UPDATE default/foo2"]
    assert source.lists(FOO, annotated(a="blub", b="new"), FOO3) == ["UPDATE default/foo2"]
    assert source.lists(FOO, annotated(b="new"), FOO3) == ["UPDATE default/foo2"]


def test_a_change_of_a_label_is_an_update(source: MergingSource) -> None:
    source.lists(FOO, FOO2)
    relabelled = make_pod("foo2", annotations={"a": "blah"}, labels={"key": "another"})
    assert source.lists(FOO, relabelled) == ["UPDATE default/foo2"]


@pytest.mark.parametrize("annotation", [CONFIG_SEEN, CONFIG_SOURCE])
def test_what_a_source_says_in_this_nodes_annotations_changes_nothing(
    source: MergingSource, annotation: str
) -> None:
    source.lists(FOO)
    kept = source.kept(FOO.uid)
    pretender = make_pod(
        "foo", image="registry.example/foo:1", annotations={annotation: "something else"}
    )
    assert source.lists(pretender) == []
    assert source.kept(FOO.uid) is kept


def test_another_config_mirror_is_seen(source: MergingSource) -> None:
    """A kubelet says nothing and goes by the old value for ever (quirk K13).

    Ours: the annotation decides whether a pod is a mirror and of what, so a change is an update.
    """
    source.lists(make_pod("foo", mirror="hash-1"))
    assert source.lists(make_pod("foo", mirror="hash-2")) == ["UPDATE default/foo"]
    assert source.kept(FOO.uid).annotations[CONFIG_MIRROR] == "hash-2"


def test_another_uid_under_the_same_name_is_another_pod(source: MergingSource) -> None:
    source.lists(make_pod("a", uid="uid1"))
    merged = source.merges(make_pod("a", uid="uid2"))
    assert [(change.op, change.pod.uid) for change in merged.changes] == [
        ("REMOVE", "uid1"),
        ("ADD", "uid2"),
    ]


def test_of_two_pods_with_one_full_name_the_first_is_taken(source: MergingSource) -> None:
    """Ours: the other one is returned with the reason, in place of an event."""
    taken, other = make_pod("a", uid="uid1"), make_pod("a", uid="uid2")
    merged = source.merges(taken, other)
    assert [change.pod.uid for change in merged.changes] == ["uid1"]
    assert merged.memory.dropped == ((other, DropReason.NAME_TAKEN),)


def test_a_change_of_status_in_the_first_listing_comes_with_its_pod(source: MergingSource) -> None:
    """Ours: nothing is known before the first listing, so it can only add.

    A kubelet tells an empty ADD and a RECONCILE when partial messages came before the first SET.
    """
    running = edited(FOO, status={"phase": "Running"})
    first = source.merges(running)
    assert (first.first, spoken(first)) == (True, ["ADD default/foo"])

    # After a crash of whoever keeps the memory, the same listing is a first one again.
    source.forgets()
    again = source.merges(running)
    assert (again.first, spoken(again)) == (True, ["ADD default/foo"])


def test_each_source_is_ready_by_itself() -> None:
    """Ours: a source that never lists keeps no other one waiting (quirk K27)."""
    file, api = MergingSource(FILE), MergingSource(API)
    file.lists(FOO)
    assert (file.memory.ready, api.memory.ready) == (True, False)
    api.lists()
    assert (file.memory.ready, api.memory.ready) == (True, True)


def test_changes_and_the_whole_are_both_at_hand(source: MergingSource) -> None:
    """Ours: no notification modes; each merge has the changes, its memory the whole."""
    assert source.lists(FOO) == ["ADD default/foo"]
    assert source.lists(FOO_EDITED) == ["UPDATE default/foo"]
    assert source.memory.pods == (source.kept(FOO.uid),)
    assert source.kept(uid_of("foo")).document["spec"] == FOO_EDITED.document["spec"]
