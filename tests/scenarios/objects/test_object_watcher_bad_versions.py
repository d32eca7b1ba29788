"""What the API server tells and cannot be used: the last good version is kept, and it is said."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest

from messages.objects import ObjectState, ReadVerdict
from messages.pods import JsonObject
from messages.watches import ObjectOp, ObjectsAre
from tests.support.kernel.clock import EPOCH
from tests.support.objects.watcher_stage import (
    TARGET,
    WatcherStage,
    answered,
    listed,
    references,
    told,
    version,
)

TOO_LARGE = "x" * (1024 * 1024 + 1)


def without(field: str, document: JsonObject) -> JsonObject:
    """Return ``document`` without a field of its metadata."""
    kept = {key: value for key, value in document["metadata"].items() if key != field}
    return {**document, "metadata": kept}


BAD = {
    "no base64": {**version(11), "data": {"a": "canary!"}},
    "too large": version(11, a=TOO_LARGE),
    "another kind": {**version(11, a="canary"), "kind": "ConfigMap"},
    "no version": without("resourceVersion", version(11, a="canary")),
    "no uid": without("uid", version(11, a="canary")),
    "no metadata": {"kind": "Secret", "data": {"a": "canary"}},
    "no map of data": {**version(11), "data": ["canary"]},
}
WRONG_NAME = {**BAD["no version"], "metadata": {"namespace": "shop", "name": "other"}}


class TestBadVersions:
    @pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
    def test_the_last_good_one_is_kept_and_the_next_good_one_is_taken(
        self,
        by_hand: WatcherStage,
        bad: JsonObject,
        logs: list[MutableMapping[str, Any]],
    ) -> None:
        by_hand.hears(told(ObjectOp.MODIFIED, bad))
        by_hand.play.advance(7.0)
        kept = by_hand.read()
        assert kept.in_words() == "stale a=1 for 7 s"
        assert kept.reason == by_hand.now().error
        assert kept.reason.startswith("Secret shop/s1 cannot be used: ")
        assert by_hand.now().current_until == EPOCH
        assert [event["reason"] for event in logs] == [kept.reason]

        by_hand.hears(told(ObjectOp.MODIFIED, version(12, a="2")))
        assert by_hand.read().in_words() == "found a=2"
        assert by_hand.now().error == ""
        assert "canary" not in repr((logs, kept, by_hand.manager.drain(), by_hand.memory))

    @pytest.mark.parametrize("bad", [*BAD.values(), WRONG_NAME], ids=[*BAD, "another name"])
    def test_one_that_is_listed_is_no_reason_to_forget_the_last_good_one(
        self, by_hand: WatcherStage, bad: JsonObject
    ) -> None:
        by_hand.hears(listed(bad, at=20))
        assert by_hand.read().in_words() == "stale a=1 for 0 s"
        by_hand.hears(listed(version(21, a="2"), at=21))
        assert by_hand.read().in_words() == "found a=2"

    @pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
    def test_without_a_good_one_it_cannot_be_read(
        self, stage: WatcherStage, bad: JsonObject
    ) -> None:
        stage.watches.hold_lists()
        stage.hears(references(), listed(bad, at=11))
        found = stage.read()
        assert (found.verdict, found.value, found.age) == (
            ReadVerdict.UNUSABLE,
            None,
            None,
        )
        assert found.reason.startswith("Secret shop/s1 cannot be used: ")
        assert not stage.now().is_known
        stage.news()
        stage.hears(told(ObjectOp.MODIFIED, version(12, a="1")))
        assert stage.news() == ["synced: added a at first"]

    def test_a_broken_version_is_not_current_for_those_who_waited_for_it(
        self, by_hand: WatcherStage
    ) -> None:
        by_hand.hears(references(2, mark=2))
        by_hand.reads()
        by_hand.hears(answered(BAD["no base64"], at=12, mark=2))
        assert by_hand.answers() == ["stale a=1 for 0 s"]

    def test_what_was_deleted_may_have_been_broken(self, by_hand: WatcherStage) -> None:
        by_hand.hears(told(ObjectOp.DELETED, BAD["no base64"]))
        assert by_hand.read().in_words() == "not_found"

    @pytest.mark.parametrize("what", ["another kind", "no metadata"])
    def test_a_deletion_of_something_else_deletes_nothing(
        self, by_hand: WatcherStage, what: str
    ) -> None:
        by_hand.hears(told(ObjectOp.DELETED, BAD[what]))
        assert by_hand.read().in_words() == "stale a=1 for 0 s"

    @pytest.mark.parametrize("op", list(ObjectOp))
    def test_an_event_of_another_object_is_ignored_and_said(
        self, by_hand: WatcherStage, op: ObjectOp, logs: list[MutableMapping[str, Any]]
    ) -> None:
        by_hand.hears(told(op, WRONG_NAME))
        assert by_hand.read().in_words() == "found a=1"
        said = "the API server told of another object, which was ignored: shop/other"
        assert by_hand.now().error == said
        assert [event["reason"] for event in logs] == [said]
        by_hand.hears(told(ObjectOp.MODIFIED, version(12, a="2")))
        assert by_hand.now().error == ""

    def test_a_server_that_lists_others_too_is_understood(self, by_hand: WatcherStage) -> None:
        other = version(12, a="canary")
        other = {**other, "metadata": {**other["metadata"], "name": "other"}}
        by_hand.hears(listed(other, version(11, a="2"), at=12))
        assert by_hand.read().in_words() == "found a=2"

    def test_versions_that_are_no_numbers_are_taken_in_their_order(
        self, by_hand: WatcherStage
    ) -> None:
        odd = version(0, a="2")
        odd["metadata"]["resourceVersion"] = "abc"
        by_hand.hears(
            ObjectsAre(target=TARGET, objects=(), resource_version="start", mark=1),
            told(ObjectOp.ADDED, odd),
        )
        assert by_hand.read().in_words() == "found a=2"

    def test_a_broken_version_of_an_immutable_object_has_it_watched(
        self, stage: WatcherStage
    ) -> None:
        stage.watches.hold_lists()
        stage.hears(references(), listed(version(10, immutable=True, a="1"), at=10))
        stage.hears(references(2, mark=2), answered(BAD["no base64"], at=12, mark=2))
        assert stage.is_watched
        assert stage.read().in_words() == "stale a=1 for 0 s"
        stage.hears(listed(version(13, immutable=True, a="2"), at=13, mark=2))
        assert stage.now().state is ObjectState.IMMUTABLE
        assert stage.read().in_words() == "found a=2"
