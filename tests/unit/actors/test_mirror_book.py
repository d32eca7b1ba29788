"""What is known of each name: what facts and answers do to it."""

from __future__ import annotations

from typing import Any

import pytest

from actors.mirrors.answers import NAME_TAKEN, learn
from actors.mirrors.book import Entry, MirrorBook
from actors.mirrors.plan import LOOK, NAME_BACKOFF, NOTHING, REFUSAL_BACKOFF, Create, Delete, Step
from messages.api import ApiFailure, FailureKind, Retry
from messages.changes import Op, PodChange
from messages.node import NodeIs, NodeUid
from messages.pods import API, CONFIG_SOURCE, FILE, HTTP, FullName, Pod, PodUid
from tests.support.builders import DELETED_AT
from tests.support.mirrors.mirror_stage import NODE, make_static, mirror_made_by, ordinary_pod

WEB, NAME = make_static(), FullName("web-n1_default")
N1 = NodeIs(name=NODE, uid=NodeUid("node-1"), is_deleting=False, document={})
CREATE = Create(WEB, N1)


def mirror(uid: str = "m1", source: str = API, **changes: object) -> Pod:
    told = make_static(annotations={**WEB.annotations, CONFIG_SOURCE: source})
    return Pod.of(mirror_made_by("node-1", told, **{"uid": uid, **changes}))


def change(op: Op, pod: Pod) -> PodChange:
    return PodChange(op=op, pod=pod)


@pytest.fixture
def book() -> MirrorBook:
    book = MirrorBook(NODE)
    book.replace(FILE, [WEB])
    book.replace(API, [mirror()])
    return book


def entry_of(book: MirrorBook, full_name: FullName = NAME) -> Entry:
    entry = book.get(full_name)
    assert entry is not None
    return entry


def failure(kind: FailureKind) -> ApiFailure:
    return ApiFailure(kind=kind, retry=Retry.NEVER, sentence="somehow")


# --- facts -----------------------------------------------------------------------------------------


def test_pods_and_mirrors_meet_under_their_name(book: MirrorBook) -> None:
    entry = entry_of(book)
    assert entry.static is WEB
    assert [*entry.mirrors] == ["m1"]


def test_an_equal_listing_changes_no_static_pod(book: MirrorBook) -> None:
    assert book.replace(FILE, [WEB]) == {NAME: False}
    assert book.replace(FILE, [make_static(labels={"a": "b"})]) == {NAME: True}
    assert book.replace(FILE, []) == {NAME: True}


def test_what_a_listing_lacks_is_gone_in_its_own_source_only(book: MirrorBook) -> None:
    book.replace(HTTP, [])
    assert entry_of(book).static is WEB
    book.replace(API, [])
    assert not entry_of(book).mirrors
    assert entry_of(book).static is WEB


def test_a_pod_that_changes_its_source_is_not_lost_with_the_old_one(book: MirrorBook) -> None:
    book.replace(HTTP, [make_static(source=HTTP)])
    book.replace(FILE, [])
    assert entry_of(book).static is not None


def test_a_uid_that_changes_its_name_leaves_the_old_one(book: MirrorBook) -> None:
    shop = make_static("shop", uid=WEB.uid)
    touched = book.apply([change(Op.UPDATE, shop)])
    assert touched == {NAME: True, FullName("shop-n1_default"): True}
    assert entry_of(book).static is None
    assert entry_of(book, FullName("shop-n1_default")).static is shop


def test_a_mirror_that_becomes_an_ordinary_pod_is_a_mirror_no_more(book: MirrorBook) -> None:
    # K13: and no less alive.
    pod = Pod.of({**ordinary_pod(WEB, NODE), "metadata": {"name": WEB.name, "uid": "m1"}})
    book.apply([change(Op.UPDATE, pod)])
    assert not entry_of(book).mirrors
    assert not entry_of(book).gone


def test_a_replacement_in_one_fact_leaves_the_newer_pod(book: MirrorBook) -> None:
    newer = make_static(content="2")
    book.apply([change(Op.REMOVE, WEB), change(Op.ADD, newer)])
    assert entry_of(book).static is newer


def test_pods_of_no_interest_leave_no_trace() -> None:
    book = MirrorBook(NODE)
    assert book.replace(API, [Pod.of(ordinary_pod(WEB, NODE))]) == {}
    assert book.apply([change(Op.REMOVE, Pod.of(ordinary_pod(WEB, NODE)))]) == {}
    assert [*book.entries()] == []


def test_a_name_without_pod_and_mirror_is_forgotten(book: MirrorBook) -> None:
    entry = entry_of(book)
    book.forget_if_empty(entry)
    assert book.get(NAME) is entry
    book.replace(FILE, [])
    book.replace(API, [])
    entry.is_asking = True
    book.forget_if_empty(entry)
    assert book.get(NAME) is entry
    entry.is_asking = False
    book.forget_if_empty(entry)
    assert book.get(NAME) is None


# --- answers ahead of the watch --------------------------------------------------------------------


def test_a_uid_that_is_gone_does_not_come_back_with_a_late_watch(book: MirrorBook) -> None:
    entry = entry_of(book)
    learn(entry, Delete(PodUid("m1")), {}, NODE)
    book.apply([change(Op.UPDATE, mirror(labels={"late": "x"}))])
    assert not entry.mirrors


def test_what_an_answer_showed_is_unseen_until_the_watch_shows_it() -> None:
    entry = Entry(NAME, static=WEB)
    learn(entry, CREATE, mirror().document, NODE)
    assert (entry.unseen, [*entry.mirrors]) == ("m1", ["m1"])
    learn(entry, LOOK, mirror().document, NODE)
    assert (entry.unseen, entry.confirmations) == ("m1", 1)
    entry.show(mirror())
    assert (entry.unseen, entry.confirmations) == (None, 0)


def test_a_listing_that_is_behind_does_not_take_an_unseen_mirror_away(book: MirrorBook) -> None:
    entry = entry_of(book)
    learn(entry, LOOK, mirror("m2").document, NODE)
    book.replace(API, [mirror()])
    assert [*entry.mirrors] == ["m2"]
    assert [*entry.gone] == ["m1"]


def test_a_mirror_that_the_watch_saw_go_before_the_answer_came_is_gone() -> None:
    entry = Entry(NAME, static=WEB)
    entry.show(mirror())
    entry.drop(PodUid("m1"))
    assert learn(entry, CREATE, mirror().document, NODE) is None
    assert not entry.mirrors


def test_a_gone_uid_that_the_watch_shows_again_is_seen_once_a_look_confirms_it(
    book: MirrorBook,
) -> None:
    """etcd was restored from a backup, in which the mirror was not gone yet."""
    entry = entry_of(book)
    book.replace(API, [])
    book.replace(API, [mirror()])
    assert not entry.mirrors
    learn(entry, LOOK, mirror().document, NODE)
    learn(entry, LOOK, mirror().document, NODE)
    assert (entry.unseen, [*entry.mirrors]) == (None, ["m1"])


def test_what_the_watch_showed_before_it_went_is_not_seen_any_more(book: MirrorBook) -> None:
    entry = entry_of(book)
    book.replace(API, [])
    learn(entry, LOOK, mirror().document, NODE)
    learn(entry, LOOK, mirror().document, NODE)
    assert (entry.unseen, [*entry.mirrors]) == ("m1", ["m1"])


def test_only_so_many_gone_uids_are_remembered() -> None:
    entry = Entry(NAME)
    for number in range(20):
        entry.drop(PodUid(f"m{number}"))
    assert len(entry.gone) == 8


def test_a_mirror_that_is_unseen_and_gone_is_waited_for_no_longer() -> None:
    entry = Entry(NAME, static=WEB)
    learn(entry, CREATE, mirror().document, NODE)
    learn(entry, Delete(PodUid("m1")), failure(FailureKind.NOT_FOUND), NODE)
    assert entry.unseen is None


# --- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (CREATE, FailureKind.ALREADY_EXISTS),
        (Delete(PodUid("m1")), FailureKind.CONFLICT),
    ],
)
def test_a_contradiction_is_looked_at(book: MirrorBook, step: Step, kind: FailureKind) -> None:
    entry = entry_of(book)
    assert learn(entry, step, failure(kind), NODE) is None
    assert entry.is_in_doubt


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
    setback = learn(Entry(NAME, static=WEB), CREATE, failure(kind), NODE)
    assert setback is not None
    assert (setback.backoff, setback.reason, setback.sentence) == (cap, reason, "somehow")


def test_a_creation_that_met_another_request_is_tried_again_without_a_word() -> None:
    setback = learn(Entry(NAME, static=WEB), CREATE, failure(FailureKind.CONFLICT), NODE)
    assert setback is not None
    assert (setback.reason, setback.sentence) == ("", "")


def test_a_mirror_that_a_webhook_changes_is_a_setback() -> None:
    entry = Entry(NAME, static=WEB)
    setback = learn(entry, CREATE, mirror(ownerReferences=[]).document, NODE)
    assert setback is not None
    assert setback.reason == "altered"
    assert [*entry.mirrors] == ["m1"]


def test_a_refused_deletion_is_a_setback_and_no_creation_that_failed(book: MirrorBook) -> None:
    setback = learn(entry_of(book), Delete(PodUid("m1")), failure(FailureKind.FORBIDDEN), NODE)
    assert setback is not None
    assert (setback.reason, setback.sentence) == ("", "somehow")
    assert [*entry_of(book).mirrors] == ["m1"]


def test_a_look_that_finds_nothing_clears_the_name(book: MirrorBook) -> None:
    entry = entry_of(book)
    entry.is_in_doubt = True
    assert learn(entry, LOOK, failure(FailureKind.NOT_FOUND), NODE) is None
    assert not entry.mirrors
    assert not entry.is_in_doubt


def test_a_look_tells_where_a_mirror_comes_from(book: MirrorBook) -> None:
    entry = entry_of(book)
    assert entry.origin_of_mirror() is None
    learn(entry, LOOK, mirror(source=HTTP).document, NODE)
    assert entry.origin_of_mirror() == HTTP
    learn(entry, LOOK, mirror("m2", source=FILE).document, NODE)
    assert entry.origin_of_mirror() == FILE
    entry.drop(PodUid("m2"))
    assert entry.origin_of_mirror() is None


def test_a_look_that_finds_another_pod_is_a_setback_for_a_static_pod_only(
    book: MirrorBook,
) -> None:
    entry = entry_of(book)
    other = {**ordinary_pod(WEB)}
    assert learn(entry, LOOK, other, NODE) is NAME_TAKEN
    assert entry.is_in_doubt
    entry.static = None
    assert learn(entry, LOOK, other, NODE) is None
    assert not entry.is_in_doubt


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
    book: MirrorBook, changes: dict[str, Any], sentence: str
) -> None:
    entry = entry_of(book)
    entry.drop(PodUid("m1"))
    setback = learn(entry, LOOK, mirror(**changes).document, NODE)
    assert setback is not None
    assert setback.sentence == sentence
    assert entry.is_in_doubt

    # The second look is believed.
    assert learn(entry, LOOK, mirror(**changes).document, NODE) is None
    assert [*entry.mirrors] == ["m1"]


def test_a_forbidden_look_leaves_what_the_watch_shows(book: MirrorBook) -> None:
    entry = entry_of(book)
    entry.is_in_doubt = True
    setback = learn(entry, LOOK, failure(FailureKind.FORBIDDEN), NODE)
    assert setback is not None
    assert [*entry.mirrors] == ["m1"]
    assert entry.origin_of_mirror() == ""
    assert not entry.is_in_doubt


def test_a_forbidden_look_ends_the_belief_in_what_no_watch_showed() -> None:
    entry = Entry(NAME, static=WEB)
    learn(entry, CREATE, mirror().document, NODE)
    learn(entry, LOOK, failure(FailureKind.FORBIDDEN), NODE)
    assert not entry.mirrors
    assert not entry.gone


def test_a_forbidden_look_at_a_name_that_is_taken_is_a_verdict_for_a_static_pod_only() -> None:
    entry = Entry(NAME, static=WEB)
    learn(entry, CREATE, failure(FailureKind.ALREADY_EXISTS), NODE)
    assert learn(entry, LOOK, failure(FailureKind.FORBIDDEN), NODE) is NAME_TAKEN
    assert not entry.is_in_doubt
    entry.static = None
    setback = learn(entry, LOOK, failure(FailureKind.FORBIDDEN), NODE)
    assert setback is not None
    assert (setback.sentence, setback.reason) == ("somehow", "")


def test_a_name_that_was_seen_since_is_not_known_to_be_taken() -> None:
    entry = Entry(NAME, static=WEB)
    learn(entry, CREATE, failure(FailureKind.ALREADY_EXISTS), NODE)
    entry.show(mirror())
    entry.drop(PodUid("m1"))
    setback = learn(entry, LOOK, failure(FailureKind.FORBIDDEN), NODE)
    assert setback is not None
    assert setback.sentence == ""


def test_a_look_that_fails_otherwise_stays_due(book: MirrorBook) -> None:
    entry = entry_of(book)
    entry.is_in_doubt = True
    assert learn(entry, LOOK, failure(FailureKind.REFUSED), NODE) is not None
    assert entry.is_in_doubt


def test_no_step_teaches_nothing(book: MirrorBook) -> None:
    assert learn(entry_of(book), NOTHING, {}, NODE) is None
