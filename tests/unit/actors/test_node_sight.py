"""What is known of the Node when a watch and answers to calls tell of it, each in its own time."""

from __future__ import annotations

from typing import Any

import pytest

from actors.node.sight import NodeSight, uid_of
from messages.watches import ObjectOp

ADDED, MODIFIED, DELETED = ObjectOp


def node(uid: str, version: int | str) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "uid": uid, "resourceVersion": str(version)}}


@pytest.fixture
def sight() -> NodeSight:
    """Return the sight of the Node ``a``, listed at version 5."""
    sight = NodeSight()
    sight.listed([node("a", 5)], "7")
    return sight


def test_nothing_is_known_before_anybody_told() -> None:
    sight = NodeSight()
    assert not sight.is_known
    assert not sight.is_doubted


def test_an_empty_listing_says_that_there_is_no_node() -> None:
    sight = NodeSight()
    sight.listed([], "7")
    assert sight.is_known
    assert sight.node is None


def test_events_are_taken_in_turn(sight: NodeSight) -> None:
    sight.changed(MODIFIED, node("a", 8))
    assert sight.node == node("a", 8)
    sight.changed(DELETED, node("a", 9))
    assert sight.node is None
    sight.changed(ADDED, node("b", 10))
    assert sight.node == node("b", 10)


def test_an_event_that_an_answer_has_overtaken_is_ignored(sight: NodeSight) -> None:
    sight.answered(node("a", 9))
    sight.changed(MODIFIED, node("a", 8))
    assert sight.node == node("a", 9)
    sight.changed(MODIFIED, node("a", 9))
    assert sight.node == node("a", 9)


def test_an_answer_that_an_event_has_overtaken_is_ignored(sight: NodeSight) -> None:
    sight.changed(MODIFIED, node("a", 9))
    sight.answered(node("a", 8))
    assert sight.node == node("a", 9)


def test_a_late_answer_does_not_bring_a_deleted_node_back(sight: NodeSight) -> None:
    sight.changed(DELETED, node("a", 9))
    sight.answered(node("a", 8))
    assert sight.node is None

    # Not even when the deletion says no version of its own.
    sight.answered(node("a", 10))
    assert sight.node is None


def test_the_end_of_an_earlier_node_is_not_that_of_the_present_one(sight: NodeSight) -> None:
    sight.answered(node("b", 10))
    sight.changed(DELETED, node("a", 9))
    assert sight.node == node("b", 10)
    sight.changed(MODIFIED, node("a", 11))
    assert sight.node == node("b", 10)


def test_a_node_that_a_change_did_not_find_is_looked_for(sight: NodeSight) -> None:
    # It may have come back meanwhile, and the watch may have told.
    sight.missing()
    assert sight.node == node("a", 5)
    assert sight.is_doubted


def test_a_node_that_a_look_did_not_find_does_not_come_back_by_late_events(
    sight: NodeSight,
) -> None:
    sight.missing()
    sight.looking()
    sight.looked(None)
    assert sight.node is None
    sight.changed(MODIFIED, node("a", 8))
    assert sight.node is None


def test_a_listing_that_is_behind_is_a_doubt(sight: NodeSight) -> None:
    sight.answered(node("a", 9))
    sight.listed([], "8")
    assert sight.node == node("a", 9)
    assert sight.is_doubted


def test_a_listing_of_a_node_that_is_gone_is_a_doubt(sight: NodeSight) -> None:
    sight.changed(DELETED, node("a", 9))
    sight.listed([node("a", 5)], "20")
    assert sight.node is None
    assert sight.is_doubted


def test_a_look_ends_a_doubt_whatever_the_versions_are(sight: NodeSight) -> None:
    # The API server was restored from a backup.
    sight.listed([node("a", 2)], "3")
    sight.looking()
    sight.looked(node("a", 2))
    assert not sight.is_doubted
    assert sight.node == node("a", 2)
    sight.changed(MODIFIED, node("a", 4))
    assert sight.node == node("a", 4)


def test_a_look_may_find_nothing(sight: NodeSight) -> None:
    sight.is_doubted = True
    sight.looking()
    sight.looked(None)
    assert not sight.is_doubted
    assert sight.node is None
    sight.answered(node("b", 1))
    assert sight.node == node("b", 1)


def test_a_look_that_was_overtaken_has_to_be_repeated(sight: NodeSight) -> None:
    sight.is_doubted = True
    sight.looking()
    sight.changed(DELETED, node("a", 9))
    sight.looked(node("a", 5))
    assert sight.node is None
    assert sight.is_doubted

    sight.looking()
    sight.looked(None)
    assert not sight.is_doubted


def test_a_node_that_no_watch_tells_of_is_looked_for_until_somebody_tells() -> None:
    sight = NodeSight()
    sight.unwatched()
    assert sight.needs_look
    sight.looking()
    sight.listed([node("a", 5)], "7")
    assert not sight.needs_look
    sight.looked(None)  # of a moment before
    assert sight.node == node("a", 5)


def test_without_a_watch_a_node_is_looked_at_whenever_the_machine_is(sight: NodeSight) -> None:
    sight.age()
    assert not sight.needs_look
    sight.unwatched()
    assert not sight.needs_look
    sight.age()
    assert sight.needs_look
    sight.looking()
    sight.looked(node("a", 9))
    assert not sight.needs_look

    sight.age()
    sight.answered(node("a", 10))  # which is as good as a look
    assert not sight.needs_look
    sight.age()
    assert sight.needs_look


def test_a_missing_node_is_looked_for_as_soon_as_its_watch_fails(sight: NodeSight) -> None:
    sight.changed(DELETED, node("a", 9))
    sight.unwatched()
    assert sight.needs_look


def test_a_watch_that_works_again_has_told_what_there_is(sight: NodeSight) -> None:
    sight.unwatched()
    sight.age()
    sight.watched()
    assert not sight.needs_look
    sight.age()
    assert not sight.needs_look


def test_a_watch_that_works_again_ends_no_contradiction(sight: NodeSight) -> None:
    sight.unwatched()
    sight.missing()
    sight.watched()
    assert sight.needs_look


def test_of_versions_that_are_no_numbers_the_last_word_counts(sight: NodeSight) -> None:
    sight.changed(MODIFIED, node("a", "x9"))
    sight.changed(MODIFIED, node("a", "x8"))
    assert sight.node == node("a", "x8")


def test_a_document_without_metadata_has_no_uid() -> None:
    assert not uid_of({})
