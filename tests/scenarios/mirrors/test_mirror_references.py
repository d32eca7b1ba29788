"""Mirrors of pods that reference Secrets or ConfigMaps: refused before anybody is asked (rule M19)."""

from __future__ import annotations

from actors.mirrors.verdicts import REFERENCES
from messages.api import FailureKind, Verb
from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import FILE, FullName
from tests.support.apiserver.fake_api import asks
from tests.support.mirrors.mirror_stage import (
    NODE,
    MirrorStage,
    make_secretive,
    make_static,
    mirror_made_by,
    ordinary_pod,
)

WEB, SECRETIVE = make_static(), make_secretive()
WEB_NAME = FullName("web-n1_default")


def test_it_is_a_verdict_one_event_and_one_number_and_no_call(stage: MirrorStage) -> None:
    stage.serves(FILE, SECRETIVE)
    stage.serves(FILE, SECRETIVE, make_static("shop"))
    stage.advance(1000.0)
    assert stage.asked() == ["POST shop-n1"]
    assert stage.sources[FILE].refused == {SECRETIVE.uid: REFERENCES}
    described = stage.described()
    assert (described.wanted, described.present) == (2, 1)
    assert described.troubles == {WEB_NAME: REFERENCES}
    assert described.create_errors == {"references": 1}
    stage.events.expect(
        PostEvent(
            regarding=ObjectReference(kind="Node", name=NODE, uid=NODE),
            type=EventType.WARNING,
            reason="FailedMirrorPod",
            message=f"mirror of static pod default/web-n1: {REFERENCES}",
        )
    )
    stage.events.expect_silence()


def test_a_manifest_that_begins_to_reference_something_loses_its_mirror(
    stage: MirrorStage,
) -> None:
    stage.serves(FILE, WEB)
    stage.asked()
    stage.serves(FILE, SECRETIVE)
    assert stage.asked() == ["DELETE web-n1"]
    assert stage.mirrors() == []
    assert stage.sources[FILE].refused == {SECRETIVE.uid: REFERENCES}


def test_a_manifest_that_ends_to_reference_anything_is_shown_at_once(stage: MirrorStage) -> None:
    stage.serves(FILE, SECRETIVE)
    stage.advance(100.0)
    stage.serves(FILE, WEB)
    assert stage.asked() == ["POST web-n1"]
    assert stage.mirrors() == ["web-n1: web-1"]
    assert stage.sources[FILE].refused == {}
    assert stage.described().troubles == {}


def test_the_verdict_goes_with_the_pod(stage: MirrorStage) -> None:
    stage.serves(FILE, SECRETIVE)
    stage.serves(FILE)
    assert stage.sources[FILE].refused == {}
    assert stage.described().troubles == {}
    assert stage.asked() == []


def test_another_version_is_told_and_counted_once_more(stage: MirrorStage) -> None:
    stage.serves(FILE, SECRETIVE)
    stage.serves(FILE, make_secretive(content="other"))
    assert stage.described().create_errors == {"references": 2}
    assert len(stage.events.drain()) == 2


def test_what_was_left_by_an_earlier_life_goes_without_a_node_too(stage: MirrorStage) -> None:
    stage.serves(FILE, WEB)
    stage.deregisters()
    stage.asked()
    stage.serves(FILE, SECRETIVE)
    assert stage.asked() == ["DELETE web-n1"]


def test_a_mirror_that_somebody_mightier_made_stays(stage: MirrorStage) -> None:
    uid = stage.store.get("nodes", NODE)["metadata"]["uid"]
    stage.serves(FILE, SECRETIVE)
    stage.store.add(mirror_made_by(uid, SECRETIVE))
    stage.settle()
    assert stage.asked() == []
    assert stage.sources[FILE].refused == {}
    stage.removes()
    assert stage.asked() == []
    assert stage.sources[FILE].refused == {SECRETIVE.uid: REFERENCES}


def test_a_creation_that_was_lost_before_is_looked_for_and_undone(stage: MirrorStage) -> None:
    stage.api.watches.pause()
    stage.api.calls.lose_answers()
    stage.serves(FILE, WEB)
    stage.serves(FILE, SECRETIVE)
    stage.advance(2.0)
    assert stage.asked() == ["POST web-n1", "GET web-n1", "DELETE web-n1"]
    assert stage.sources[FILE].refused == {SECRETIVE.uid: REFERENCES}


def test_a_name_that_is_taken_does_not_matter_any_more(stage: MirrorStage) -> None:
    stage.store.add(ordinary_pod(WEB))
    stage.serves(FILE, WEB)
    stage.serves(FILE, SECRETIVE)
    stage.asked()
    stage.advance(120.0)
    assert stage.asked() == []
    assert stage.sources[FILE].refused == {SECRETIVE.uid: REFERENCES}
    assert stage.described().create_errors == {"name_taken": 1, "references": 1}


def test_a_name_whose_holder_may_not_be_seen_does_not_matter_either(strict: MirrorStage) -> None:
    strict.store.add(ordinary_pod(WEB))
    strict.api.calls.fail(FailureKind.TIMEOUT, when=asks(Verb.GET))
    strict.serves(FILE, WEB)
    strict.serves(FILE, SECRETIVE)
    strict.advance(120.0)
    assert strict.asked() == ["POST web-n1", "GET web-n1", "GET web-n1"]
    assert strict.described().create_errors == {"references": 1}
    assert strict.sources[FILE].refused == {SECRETIVE.uid: REFERENCES}


def test_nor_does_one_whose_holder_is_hidden_as_if_it_were_not_there(stage: MirrorStage) -> None:
    stage.store.add(ordinary_pod(WEB))
    stage.api.calls.fail(FailureKind.NOT_FOUND, when=asks(Verb.GET))
    stage.api.calls.fail(FailureKind.TIMEOUT, when=asks(Verb.GET))
    stage.api.calls.fail(FailureKind.NOT_FOUND, when=asks(Verb.GET))
    stage.serves(FILE, WEB)
    stage.serves(FILE, SECRETIVE)
    stage.advance(120.0)
    assert stage.asked() == ["POST web-n1", "GET web-n1"] * 2 + ["GET web-n1"]
    assert stage.described().create_errors == {"references": 1}
    assert stage.sources[FILE].refused == {SECRETIVE.uid: REFERENCES}


def test_a_crash_finds_the_verdict_again(stage: MirrorStage) -> None:
    stage.serves(FILE, SECRETIVE)
    stage.crashes()
    assert stage.asked() == []
    assert stage.described().create_errors == {"references": 2}
    assert stage.sources[FILE].refused == {SECRETIVE.uid: REFERENCES}
