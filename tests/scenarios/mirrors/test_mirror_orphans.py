"""Mirrors of static pods that are no more: removed, but never before it is sure that they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.api import FailureKind
from messages.pods import CONFIG_SOURCE, FILE, HTTP
from tests.support.mirrors.mirror_stage import (
    NODE,
    MirrorStage,
    make_static,
    mirror_made_by,
    mirror_stage,
    ordinary_pod,
)

WEB, SHOP = make_static("web"), make_static("shop")
OF_URL = make_static("mail", annotations={CONFIG_SOURCE: HTTP})


@pytest.fixture
def stage() -> Iterator[MirrorStage]:
    with mirror_stage(FILE, HTTP) as stage:
        uid = stage.registers()
        stage.store.add(mirror_made_by(uid, WEB))
        stage.store.add(mirror_made_by(uid, OF_URL))
        yield stage


def test_each_orphan_of_an_earlier_life_is_deleted_once(stage: MirrorStage) -> None:
    # A kubelet removes by name, and may hit the successor (K16).
    stage.serves(FILE)
    stage.serves(HTTP)
    stage.watches()
    stage.advance(60.0)
    assert sorted(stage.asked()) == ["DELETE mail-n1", "DELETE web-n1"]
    assert stage.mirrors() == []


def test_nothing_is_an_orphan_while_its_source_has_not_listed(stage: MirrorStage) -> None:
    # As it is for what runs.
    stage.watches()
    stage.advance(60.0)
    assert len(stage.mirrors()) == 2

    # One look at each has told whose it is: the URL is dead, and only its mirror is in doubt.
    assert sorted(stage.asked()) == ["GET mail-n1", "GET web-n1"]
    stage.serves(FILE)
    assert stage.asked() == ["DELETE web-n1"]
    stage.serves(HTTP, OF_URL)
    stage.advance(60.0)
    assert stage.asked() == []
    assert stage.mirrors() == ["mail-n1: mail-1"]


def test_nothing_is_an_orphan_while_its_source_has_only_listed_provisionally(
    stage: MirrorStage,
) -> None:
    stage.watches()
    stage.takes_for_empty(FILE)
    stage.serves(HTTP)
    stage.crashes()
    stage.advance(60.0)
    # The other source is not held up.
    assert stage.mirrors() == ["web-n1: web-1"]
    stage.asked()

    stage.serves(FILE, SHOP)
    assert sorted(stage.asked()) == ["DELETE web-n1", "POST shop-n1"]


def test_a_source_that_lists_in_time_saves_the_looks(stage: MirrorStage) -> None:
    stage.watches()
    stage.advance(4.0)
    stage.serves(FILE, WEB)
    stage.serves(HTTP, OF_URL)
    stage.advance(60.0)
    assert stage.asked() == []


def test_a_static_pod_that_goes_takes_its_mirror_along_while_another_source_is_dead(
    stage: MirrorStage,
) -> None:
    stage.watches()
    stage.serves(FILE, WEB)
    stage.serves(FILE)
    stage.advance(5.0)
    assert "DELETE web-n1" in stage.asked()
    assert stage.mirrors() == ["mail-n1: mail-1"]


def test_an_orphan_of_a_source_that_is_no_longer_configured_goes() -> None:
    with mirror_stage(FILE) as stage:
        uid = stage.registers()
        stage.store.add(mirror_made_by(uid, OF_URL))
        stage.watches()
        stage.advance(5.0)
        assert stage.asked() == ["GET mail-n1", "DELETE mail-n1"]


def test_an_orphan_that_says_nothing_of_its_source_waits_for_all_of_them() -> None:
    with mirror_stage(FILE) as stage:
        uid = stage.registers()
        stage.store.add(mirror_made_by(uid, make_static(source="")))
        stage.watches()
        stage.advance(60.0)
        assert stage.asked() == ["GET web-n1"]
        stage.serves(FILE)
        assert stage.asked() == ["DELETE web-n1"]


def test_a_look_at_an_orphan_that_is_forbidden_is_not_repeated(stage: MirrorStage) -> None:
    stage.api.calls.fail(FailureKind.FORBIDDEN, times=2)
    stage.watches()
    stage.advance(120.0)
    assert sorted(stage.asked()) == ["GET mail-n1", "GET web-n1"]
    assert len(stage.mirrors()) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n2", "uid": "u"}]},
        {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": NODE}]},
    ],
    ids=["of another node", "of a controller"],
)
def test_what_somebody_else_owns_is_left_alone(changes: dict[str, object]) -> None:
    with mirror_stage(FILE) as stage:
        stage.registers()
        stage.store.add(mirror_made_by("u", WEB, **changes))
        stage.serves(FILE)
        stage.watches()
        stage.advance(60.0)
        assert stage.asked() == []


def test_an_orphan_that_was_made_again_meanwhile_is_judged_anew(stage: MirrorStage) -> None:
    # K16, K17: the deletion is for another UID, and says so.
    stage.watches()
    stage.api.watches.pause()
    stage.store.remove("pods", "default", WEB.name)
    stage.store.add(ordinary_pod(WEB, NODE))
    stage.serves(HTTP)
    stage.serves(FILE)
    assert stage.asked() == ["DELETE mail-n1", "DELETE web-n1", "GET web-n1"]
    stage.api.watches.resume()
    stage.advance(60.0)
    assert stage.asked() == []
    assert stage.store.has("pods", "default", WEB.name)


def test_a_deletion_that_is_refused_is_tried_again(stage: MirrorStage) -> None:
    stage.watches()
    stage.serves(HTTP, OF_URL)
    stage.api.calls.fail(FailureKind.FORBIDDEN, times=2)
    stage.serves(FILE)
    assert stage.described().troubles.keys() == {"web-n1_default"}
    stage.advance(10.0)
    assert stage.asked() == ["DELETE web-n1"] * 3
    assert stage.described().troubles == {}
    assert stage.sources[FILE].refused == {}
