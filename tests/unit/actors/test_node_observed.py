"""What is known of the Node when a watch and answers to calls tell of it, each in its own time."""

from __future__ import annotations

from typing import Any

import pytest

from actors.node.observed import ObservedNode, uid_of
from messages.watches import ObjectOp

ADDED, MODIFIED, DELETED = ObjectOp


def node(uid: str, version: int | str) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "uid": uid, "resourceVersion": str(version)}}


@pytest.fixture
def observed() -> ObservedNode:
    """Return what is known of the Node ``a``, which was listed at version 5."""
    observed = ObservedNode()
    observed.listed([node("a", 5)], "7")
    return observed


def test_nothing_is_known_before_anybody_told() -> None:
    observed = ObservedNode()
    assert not observed.is_known
    assert not observed.is_doubted


def test_an_empty_listing_says_that_there_is_no_node() -> None:
    observed = ObservedNode()
    observed.listed([], "7")
    assert observed.is_known
    assert observed.node is None


def test_events_are_taken_in_turn(observed: ObservedNode) -> None:
    observed.changed(MODIFIED, node("a", 8))
    assert observed.node == node("a", 8)
    observed.changed(DELETED, node("a", 9))
    assert observed.node is None
    observed.changed(ADDED, node("b", 10))
    assert observed.node == node("b", 10)


def test_an_event_that_an_answer_has_overtaken_is_ignored(observed: ObservedNode) -> None:
    observed.answered(node("a", 9))
    observed.changed(MODIFIED, node("a", 8))
    assert observed.node == node("a", 9)
    observed.changed(MODIFIED, node("a", 9))
    assert observed.node == node("a", 9)


def test_an_answer_that_an_event_has_overtaken_is_ignored(observed: ObservedNode) -> None:
    observed.changed(MODIFIED, node("a", 9))
    observed.answered(node("a", 8))
    assert observed.node == node("a", 9)


def test_a_late_answer_does_not_bring_a_deleted_node_back(observed: ObservedNode) -> None:
    observed.changed(DELETED, node("a", 9))
    observed.answered(node("a", 8))
    assert observed.node is None

    # Not even when the deletion says no version of its own.
    observed.answered(node("a", 10))
    assert observed.node is None


def test_the_end_of_an_earlier_node_is_not_that_of_the_present_one(observed: ObservedNode) -> None:
    observed.answered(node("b", 10))
    observed.changed(DELETED, node("a", 9))
    assert observed.node == node("b", 10)
    observed.changed(MODIFIED, node("a", 11))
    assert observed.node == node("b", 10)


def test_a_node_that_a_change_did_not_find_is_looked_for(observed: ObservedNode) -> None:
    # It may have come back meanwhile, and the watch may have told.
    observed.missing()
    assert observed.node == node("a", 5)
    assert observed.is_doubted


def test_a_node_that_a_look_did_not_find_does_not_come_back_by_late_events(
    observed: ObservedNode,
) -> None:
    observed.missing()
    observed.looking()
    observed.looked(None)
    assert observed.node is None
    observed.changed(MODIFIED, node("a", 8))
    assert observed.node is None


def test_a_listing_that_is_behind_is_a_doubt(observed: ObservedNode) -> None:
    observed.answered(node("a", 9))
    observed.listed([], "8")
    assert observed.node == node("a", 9)
    assert observed.is_doubted


def test_a_listing_of_a_node_that_is_gone_is_a_doubt(observed: ObservedNode) -> None:
    observed.changed(DELETED, node("a", 9))
    observed.listed([node("a", 5)], "20")
    assert observed.node is None
    assert observed.is_doubted


def test_a_look_ends_a_doubt_whatever_the_versions_are(observed: ObservedNode) -> None:
    # The API server was restored from a backup.
    observed.listed([node("a", 2)], "3")
    observed.looking()
    observed.looked(node("a", 2))
    assert not observed.is_doubted
    assert observed.node == node("a", 2)
    observed.changed(MODIFIED, node("a", 4))
    assert observed.node == node("a", 4)


def test_a_look_may_find_nothing(observed: ObservedNode) -> None:
    observed.is_doubted = True
    observed.looking()
    observed.looked(None)
    assert not observed.is_doubted
    assert observed.node is None
    observed.answered(node("b", 1))
    assert observed.node == node("b", 1)


def test_a_look_that_was_overtaken_has_to_be_repeated(observed: ObservedNode) -> None:
    observed.is_doubted = True
    observed.looking()
    observed.changed(DELETED, node("a", 9))
    observed.looked(node("a", 5))
    assert observed.node is None
    assert observed.is_doubted

    observed.looking()
    observed.looked(None)
    assert not observed.is_doubted


def test_a_node_that_no_watch_tells_of_is_looked_for_until_somebody_tells() -> None:
    observed = ObservedNode()
    observed.unwatched()
    assert observed.needs_look
    observed.looking()
    observed.listed([node("a", 5)], "7")
    assert not observed.needs_look
    observed.looked(None)  # of a moment before
    assert observed.node == node("a", 5)


def test_without_a_watch_a_node_is_looked_at_whenever_the_machine_is(
    observed: ObservedNode,
) -> None:
    observed.age()
    assert not observed.needs_look
    observed.unwatched()
    assert not observed.needs_look
    observed.age()
    assert observed.needs_look
    observed.looking()
    observed.looked(node("a", 9))
    assert not observed.needs_look

    observed.age()
    observed.answered(node("a", 10))  # which is as good as a look
    assert not observed.needs_look
    observed.age()
    assert observed.needs_look


def test_a_missing_node_is_looked_for_as_soon_as_its_watch_fails(observed: ObservedNode) -> None:
    observed.changed(DELETED, node("a", 9))
    observed.unwatched()
    assert observed.needs_look


def test_a_watch_that_works_again_has_told_what_there_is(observed: ObservedNode) -> None:
    observed.unwatched()
    observed.age()
    observed.watched()
    assert not observed.needs_look
    observed.age()
    assert not observed.needs_look


def test_a_watch_that_works_again_ends_no_contradiction(observed: ObservedNode) -> None:
    observed.unwatched()
    observed.missing()
    observed.watched()
    assert observed.needs_look


def test_of_versions_that_are_no_numbers_the_last_word_counts(observed: ObservedNode) -> None:
    observed.changed(MODIFIED, node("a", "x9"))
    observed.changed(MODIFIED, node("a", "x8"))
    assert observed.node == node("a", "x8")


def test_a_document_without_metadata_has_no_uid() -> None:
    assert not uid_of({})
