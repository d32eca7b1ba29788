"""What is known of each name: what facts and answers do to it."""

from __future__ import annotations

from typing import Any

import pytest

from actors.mirrors.answers import NAME_TAKEN, learn
from actors.mirrors.index import MirrorIndex, MirrorRecord
from actors.mirrors.plan import (
    LOOK,
    NAME_BACKOFF,
    NOTHING,
    REFUSAL_BACKOFF,
    CreateMirror,
    DeleteMirror,
    Step,
)
from messages.api import ApiFailure, FailureKind, Retry
from messages.changes import Op, PodChange
from messages.node import NodeIs, NodeUid
from messages.pods import API, CONFIG_SOURCE, FILE, HTTP, FullName, Pod, PodUid
from tests.support.builders import DELETED_AT
from tests.support.mirrors.mirror_stage import NODE, make_static, mirror_made_by, ordinary_pod

WEB, NAME = make_static(), FullName("web-n1_default")
N1 = NodeIs(name=NODE, uid=NodeUid("node-1"), is_deleting=False, document={})
CREATE = CreateMirror(WEB, N1)


def mirror(uid: str = "m1", source: str = API, **changes: object) -> Pod:
    told = make_static(annotations={**WEB.annotations, CONFIG_SOURCE: source})
    return Pod.of(mirror_made_by("node-1", told, **{"uid": uid, **changes}))


def change(op: Op, pod: Pod) -> PodChange:
    return PodChange(op=op, pod=pod)


@pytest.fixture
def index() -> MirrorIndex:
    index = MirrorIndex(NODE)
    index.replace(FILE, [WEB])
    index.replace(API, [mirror()])
    return index


def record_of(index: MirrorIndex, full_name: FullName = NAME) -> MirrorRecord:
    record = index.get(full_name)
    assert record is not None
    return record


def failure(kind: FailureKind) -> ApiFailure:
    return ApiFailure(kind=kind, retry=Retry.NEVER, sentence="somehow")


# --- facts -----------------------------------------------------------------------------------------


def test_pods_and_mirrors_meet_under_their_name(index: MirrorIndex) -> None:
    record = record_of(index)
    assert record.static is WEB
    assert [*record.mirrors] == ["m1"]


def test_an_equal_listing_changes_no_static_pod(index: MirrorIndex) -> None:
    assert index.replace(FILE, [WEB]) == {NAME: False}
    assert index.replace(FILE, [make_static(labels={"a": "b"})]) == {NAME: True}
    assert index.replace(FILE, []) == {NAME: True}


def test_what_a_listing_lacks_is_gone_in_its_own_source_only(index: MirrorIndex) -> None:
    index.replace(HTTP, [])
    assert record_of(index).static is WEB
    index.replace(API, [])
    assert not record_of(index).mirrors
    assert record_of(index).static is WEB


def test_a_pod_that_changes_its_source_is_not_lost_with_the_old_one(index: MirrorIndex) -> None:
    index.replace(HTTP, [make_static(source=HTTP)])
    index.replace(FILE, [])
    assert record_of(index).static is not None


def test_a_uid_that_changes_its_name_leaves_the_old_one(index: MirrorIndex) -> None:
    shop = make_static("shop", uid=WEB.uid)
    touched = index.apply([change(Op.UPDATE, shop)])
    assert touched == {NAME: True, FullName("shop-n1_default"): True}
    assert record_of(index).static is None
    assert record_of(index, FullName("shop-n1_default")).static is shop


def test_a_mirror_that_becomes_an_ordinary_pod_is_a_mirror_no_more(index: MirrorIndex) -> None:
    # K13: and no less alive.
    pod = Pod.of({**ordinary_pod(WEB, NODE), "metadata": {"name": WEB.name, "uid": "m1"}})
    index.apply([change(Op.UPDATE, pod)])
    assert not record_of(index).mirrors
    assert not record_of(index).gone


def test_a_replacement_in_one_fact_leaves_the_newer_pod(index: MirrorIndex) -> None:
    newer = make_static(content="2")
    index.apply([change(Op.REMOVE, WEB), change(Op.ADD, newer)])
    assert record_of(index).static is newer


def test_pods_of_no_interest_leave_no_trace() -> None:
    index = MirrorIndex(NODE)
    assert index.replace(API, [Pod.of(ordinary_pod(WEB, NODE))]) == {}
    assert index.apply([change(Op.REMOVE, Pod.of(ordinary_pod(WEB, NODE)))]) == {}
    assert [*index.records()] == []


def test_a_name_without_pod_and_mirror_is_forgotten(index: MirrorIndex) -> None:
    record = record_of(index)
    index.forget_if_empty(record)
    assert index.get(NAME) is record
    index.replace(FILE, [])
    index.replace(API, [])
    record.is_asking = True
    index.forget_if_empty(record)
    assert index.get(NAME) is record
    record.is_asking = False
    index.forget_if_empty(record)
    assert index.get(NAME) is None


# --- answers ahead of the watch --------------------------------------------------------------------


def test_a_uid_that_is_gone_does_not_come_back_with_a_late_watch(index: MirrorIndex) -> None:
    record = record_of(index)
    learn(record, DeleteMirror(PodUid("m1")), {}, NODE)
    index.apply([change(Op.UPDATE, mirror(labels={"late": "x"}))])
    assert not record.mirrors


def test_what_an_answer_showed_is_unseen_until_the_watch_shows_it() -> None:
    record = MirrorRecord(NAME, static=WEB)
    learn(record, CREATE, mirror().document, NODE)
    assert (record.unseen, [*record.mirrors]) == ("m1", ["m1"])
    learn(record, LOOK, mirror().document, NODE)
    assert (record.unseen, record.confirmations) == ("m1", 1)
    record.show(mirror())
    assert (record.unseen, record.confirmations) == (None, 0)


def test_a_listing_that_is_behind_does_not_take_an_unseen_mirror_away(index: MirrorIndex) -> None:
    record = record_of(index)
    learn(record, LOOK, mirror("m2").document, NODE)
    index.replace(API, [mirror()])
    assert [*record.mirrors] == ["m2"]
    assert [*record.gone] == ["m1"]


def test_a_mirror_that_the_watch_saw_go_before_the_answer_came_is_gone() -> None:
    record = MirrorRecord(NAME, static=WEB)
    record.show(mirror())
    record.drop(PodUid("m1"))
    assert learn(record, CREATE, mirror().document, NODE) is None
    assert not record.mirrors


@pytest.mark.parametrize("step", [CREATE, LOOK])
def test_a_deletion_that_the_watch_showed_before_the_answer_came_is_not_forgotten(
    step: Step,
) -> None:
    record = MirrorRecord(NAME, static=WEB)
    record.show(mirror())
    record.show(mirror(deletionTimestamp=DELETED_AT))
    assert learn(record, step, mirror().document, NODE) is None
    assert [each.is_deleting for each in record.mirrors.values()] == [True]


def test_an_edit_that_the_watch_showed_before_its_creation_was_answered_is_not_forgotten() -> None:
    record = MirrorRecord(NAME, static=WEB)
    record.show(mirror(labels={"edited": "x"}))
    assert learn(record, CREATE, mirror().document, NODE) is None
    assert [each.document["metadata"]["labels"] for each in record.mirrors.values()] == [
        {"edited": "x"}
    ]


def test_a_gone_uid_that_the_watch_shows_again_is_seen_once_a_look_confirms_it(
    index: MirrorIndex,
) -> None:
    """etcd was restored from a backup, in which the mirror was not gone yet."""
    record = record_of(index)
    index.replace(API, [])
    index.replace(API, [mirror()])
    assert not record.mirrors
    learn(record, LOOK, mirror().document, NODE)
    learn(record, LOOK, mirror().document, NODE)
    assert (record.unseen, [*record.mirrors]) == (None, ["m1"])


def test_what_the_watch_showed_before_it_went_is_not_seen_any_more(index: MirrorIndex) -> None:
    record = record_of(index)
    index.replace(API, [])
    learn(record, LOOK, mirror().document, NODE)
    learn(record, LOOK, mirror().document, NODE)
    assert (record.unseen, [*record.mirrors]) == ("m1", ["m1"])


def test_only_so_many_gone_uids_are_remembered() -> None:
    record = MirrorRecord(NAME)
    for number in range(20):
        record.drop(PodUid(f"m{number}"))
    assert len(record.gone) == 8


def test_a_mirror_that_is_unseen_and_gone_is_waited_for_no_longer() -> None:
    record = MirrorRecord(NAME, static=WEB)
    learn(record, CREATE, mirror().document, NODE)
    learn(record, DeleteMirror(PodUid("m1")), failure(FailureKind.NOT_FOUND), NODE)
    assert record.unseen is None


# --- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (CREATE, FailureKind.ALREADY_EXISTS),
        (DeleteMirror(PodUid("m1")), FailureKind.CONFLICT),
    ],
)
def test_a_contradiction_is_looked_at(index: MirrorIndex, step: Step, kind: FailureKind) -> None:
    record = record_of(index)
    assert learn(record, step, failure(kind), NODE) is None
    assert record.is_in_doubt


@pytest.mark.parametrize(
    ("kind", "cap", "reason"),
    [
        (FailureKind.FORBIDDEN, REFUSAL_BACKOFF, "forbidden"),
        (FailureKind.INVALID, REFUSAL_BACKOFF, "invalid"),
        (FailureKind.REFUSED, REFUSAL_BACKOFF, "refused"),
        (FailureKind.NOT_FOUND, NAME_BACKOFF, "not_found"),
    ],
)
def test_a_refused_creation_has_a_reason(kind: FailureKind, cap: object, reason: str) -> None:
    retry = learn(MirrorRecord(NAME, static=WEB), CREATE, failure(kind), NODE)
    assert retry is not None
    assert (retry.backoff, retry.reason, retry.sentence) == (cap, reason, "somehow")


def test_a_creation_that_met_another_request_is_tried_again_without_a_word() -> None:
    retry = learn(MirrorRecord(NAME, static=WEB), CREATE, failure(FailureKind.CONFLICT), NODE)
    assert retry is not None
    assert (retry.reason, retry.sentence) == ("", "")


def test_a_mirror_that_a_webhook_changes_is_a_setback() -> None:
    record = MirrorRecord(NAME, static=WEB)
    retry = learn(record, CREATE, mirror(ownerReferences=[]).document, NODE)
    assert retry is not None
    assert retry.reason == "altered"
    assert [*record.mirrors] == ["m1"]


def test_a_refused_deletion_waits_and_is_no_creation_that_failed(index: MirrorIndex) -> None:
    retry = learn(
        record_of(index), DeleteMirror(PodUid("m1")), failure(FailureKind.FORBIDDEN), NODE
    )
    assert retry is not None
    assert (retry.reason, retry.sentence) == ("", "somehow")
    assert [*record_of(index).mirrors] == ["m1"]


def test_a_look_that_finds_nothing_clears_the_name(index: MirrorIndex) -> None:
    record = record_of(index)
    record.is_in_doubt = True
    assert learn(record, LOOK, failure(FailureKind.NOT_FOUND), NODE) is None
    assert not record.mirrors
    assert not record.is_in_doubt


def test_a_look_tells_where_a_mirror_comes_from(index: MirrorIndex) -> None:
    record = record_of(index)
    assert record.origin_of_mirror() is None
    learn(record, LOOK, mirror(source=HTTP).document, NODE)
    assert record.origin_of_mirror() == HTTP
    learn(record, LOOK, mirror("m2", source=FILE).document, NODE)
    assert record.origin_of_mirror() == FILE
    record.drop(PodUid("m2"))
    assert record.origin_of_mirror() is None


def test_a_look_that_finds_another_pod_is_a_setback_for_a_static_pod_only(
    index: MirrorIndex,
) -> None:
    record = record_of(index)
    other = {**ordinary_pod(WEB)}
    assert learn(record, LOOK, other, NODE) is NAME_TAKEN
    assert record.is_in_doubt
    record.static = None
    assert learn(record, LOOK, other, NODE) is None
    assert not record.is_in_doubt


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, ""),
        (
            {"deletionTimestamp": DELETED_AT},
            "its former mirror is being deleted and not gone yet",
        ),
    ],
    ids=["a late answer", "with finalizers"],
)
def test_a_mirror_that_was_deleted_and_is_still_there_is_looked_at_again(
    index: MirrorIndex, changes: dict[str, Any], sentence: str
) -> None:
    record = record_of(index)
    record.drop(PodUid("m1"))
    retry = learn(record, LOOK, mirror(**changes).document, NODE)
    assert retry is not None
    assert retry.sentence == sentence
    assert record.is_in_doubt

    # The second look is believed.
    assert learn(record, LOOK, mirror(**changes).document, NODE) is None
    assert [*record.mirrors] == ["m1"]


def test_a_forbidden_look_leaves_what_the_watch_shows(index: MirrorIndex) -> None:
    record = record_of(index)
    record.is_in_doubt = True
    retry = learn(record, LOOK, failure(FailureKind.FORBIDDEN), NODE)
    assert retry is not None
    assert [*record.mirrors] == ["m1"]
    assert record.origin_of_mirror() == ""
    assert not record.is_in_doubt


def test_a_forbidden_look_ends_the_belief_in_what_no_watch_showed() -> None:
    record = MirrorRecord(NAME, static=WEB)
    learn(record, CREATE, mirror().document, NODE)
    learn(record, LOOK, failure(FailureKind.FORBIDDEN), NODE)
    assert not record.mirrors
    assert not record.gone


def test_a_forbidden_look_at_a_name_that_is_taken_is_a_verdict_for_a_static_pod_only() -> None:
    record = MirrorRecord(NAME, static=WEB)
    learn(record, CREATE, failure(FailureKind.ALREADY_EXISTS), NODE)
    assert learn(record, LOOK, failure(FailureKind.FORBIDDEN), NODE) is NAME_TAKEN
    assert not record.is_in_doubt
    record.static = None
    retry = learn(record, LOOK, failure(FailureKind.FORBIDDEN), NODE)
    assert retry is not None
    assert (retry.sentence, retry.reason) == ("somehow", "")


def test_a_name_that_was_seen_since_is_not_known_to_be_taken() -> None:
    record = MirrorRecord(NAME, static=WEB)
    learn(record, CREATE, failure(FailureKind.ALREADY_EXISTS), NODE)
    record.show(mirror())
    record.drop(PodUid("m1"))
    retry = learn(record, LOOK, failure(FailureKind.FORBIDDEN), NODE)
    assert retry is not None
    assert retry.sentence == ""


def test_a_look_that_fails_otherwise_stays_due(index: MirrorIndex) -> None:
    record = record_of(index)
    record.is_in_doubt = True
    assert learn(record, LOOK, failure(FailureKind.REFUSED), NODE) is not None
    assert record.is_in_doubt


def test_no_step_teaches_nothing(index: MirrorIndex) -> None:
    assert learn(record_of(index), NOTHING, {}, NODE) is None
