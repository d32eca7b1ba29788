"""Mirrors of manifests that are edited, and mirrors that somebody deletes, faster than is good."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest

from manifests.times import rfc3339_milli
from messages.pods import CONFIG_MIRROR, CONTENT_DIGEST, FILE
from messages.units import Timestamp
from tests.support.mirrors.mirror_stage import MirrorStage, make_static, mirror_stage

WEB = make_static("web")
WHERE = ("pods", "default", "web-n1")


@pytest.fixture
def stage() -> Iterator[MirrorStage]:
    """Return a stage with one static pod and its mirror, after which nobody waits."""
    with mirror_stage() as stage:
        stage.joins()
        stage.serves(FILE, WEB)
        stage.advance(20.0)
        stage.asked()
        yield stage


def in_seconds(stage: MirrorStage, seconds: float) -> str:
    """Return the moment that is so many seconds away."""
    return rfc3339_milli(Timestamp(stage.play.clock.wall() + seconds))


def edit(stage: MirrorStage, version: int) -> None:
    stage.serves(FILE, make_static("web", str(version)))


def test_edits_one_after_the_other_are_shown_once_a_second_and_the_mirror_is_never_absent(
    stage: MirrorStage,
) -> None:
    shown = []
    for version in range(2, 49):
        edit(stage, version)
        stage.advance(0.1)
        shown += [stage.mirror().annotations[CONFIG_MIRROR]]
    asked = stage.asked()
    assert asked == ["DELETE web-n1", "POST web-n1"] * 5
    assert len(set(shown)) == 5

    stage.advance(1.0)
    assert stage.mirrors() == ["web-n1: web-48"]
    assert stage.asked() == ["DELETE web-n1", "POST web-n1"]
    stage.advance(60.0)
    assert stage.asked() == []


def test_an_edit_that_waits_is_said_with_the_moment_when_it_is_shown(
    stage: MirrorStage, logs: list[MutableMapping[str, Any]]
) -> None:
    edit(stage, 2)
    assert stage.sources[FILE].refused == {}
    until = in_seconds(stage, 1.0)
    for version in range(3, 9):
        stage.advance(0.125)
        edit(stage, version)
    sentence = f"its manifest changes again and again: this version is shown at {until}"
    assert stage.sources[FILE].refused == {"web-8": sentence}
    assert stage.described().troubles == {"web-n1_default": sentence}
    waits = [event for event in logs if event["event"] == "a mirror pod waits"]
    assert [(event["mirror"], event["until"]) for event in waits] == [("web-n1_default", until)]
    assert stage.events.drain() == []

    stage.advance(1.0)
    assert stage.mirrors() == ["web-n1: web-8"]
    assert stage.sources[FILE].refused == {}
    assert stage.described().troubles == {}


def test_a_mirror_that_is_deleted_again_and_again_is_said_to_wait_until_when(
    stage: MirrorStage, logs: list[MutableMapping[str, Any]]
) -> None:
    for _ in range(7):
        stage.removes()
    assert stage.asked() == ["POST web-n1"] * 6
    until = in_seconds(stage, 10.0)
    (sentence,) = stage.sources[FILE].refused.values()
    assert sentence.endswith(f"it is made again at {until}")
    assert [event["until"] for event in logs if event["event"] == "a mirror pod waits"] == [until]
    stage.advance(10.0)
    assert stage.mirrors() == ["web-n1: web-1"]
    assert stage.sources[FILE].refused == {}


def test_an_edit_ends_the_wait_of_a_mirror_that_was_deleted_again_and_again(
    stage: MirrorStage,
) -> None:
    for _ in range(7):
        stage.removes()
    assert stage.mirrors() == []
    edit(stage, 2)
    assert stage.mirrors() == ["web-n1: web-2"]


def test_who_writes_over_a_mirror_again_and_again_costs_little(stage: MirrorStage) -> None:
    for _ in range(95):
        if stage.mirrors():
            stage.store.change(*WHERE, metadata={"annotations": {CONTENT_DIGEST: "another"}})
        stage.advance(0.1)
    assert stage.asked().count("POST web-n1") <= 6


def test_deletions_by_others_between_edits_cost_no_more_than_a_creation_a_second_and_the_limit(
    stage: MirrorStage,
) -> None:
    for version in range(2, 102):
        edit(stage, version)
        if stage.mirrors():
            stage.removes()
        stage.advance(0.1)
    assert stage.asked().count("POST web-n1") <= 10 + 6
    stage.advance(1.0)
    assert stage.mirrors() == ["web-n1: web-101"]


def test_an_edit_that_is_taken_back_while_it_waits_leaves_the_mirror_alone(
    stage: MirrorStage,
) -> None:
    edit(stage, 2)
    before = stage.mirror().uid
    stage.asked()
    edit(stage, 3)
    edit(stage, 2)
    stage.advance(5.0)
    assert stage.asked() == []
    assert stage.mirror().uid == before
    assert stage.sources[FILE].refused == {}
