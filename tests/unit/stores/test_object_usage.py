"""Whom a change of an object concerns: those who may have something other than what it is now."""

from __future__ import annotations

import pytest

from messages.holders import NO_MARK, Mark
from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin, ReadVerdict
from stores.objects.changes import JointUsage, Usage
from tests.support.canary import CANARY


def version(number: int, **data: bytes) -> ObjectValue:
    return ObjectValue(uid=f"u{number}", resource_version=str(number), data=data)


OLD, SAME, NEW = version(1, a=b"1", b=b"2"), version(2, b=b"2", a=b"1"), version(3, a=b"1")


DB, TLS = (
    ObjectId(kind=ObjectKind.SECRET, namespace="shop", name=name, origin=Origin.LOCAL)
    for name in ("db", "tls")
)


def used_up_to(mark: int) -> Usage:
    usage = Usage()
    usage.note(Mark(mark))
    return usage


def test_what_nobody_used_concerns_nobody() -> None:
    assert Usage().concerned(OLD, NEW) == NO_MARK


def test_what_pods_used_concerns_them_and_those_before_them() -> None:
    usage = used_up_to(5)
    usage.note(Mark(3))
    assert usage.concerned(OLD, NEW) == 5


@pytest.mark.parametrize(
    ("verdict", "concerned"),
    [
        (ReadVerdict.FOUND, 7),
        (ReadVerdict.STALE, 7),
        (ReadVerdict.NOT_FOUND, 7),
        (ReadVerdict.NOT_SYNCED, 5),
        (ReadVerdict.FORBIDDEN, 5),
        (ReadVerdict.UNUSABLE, 5),
        (ReadVerdict.NOT_REGISTERED, 5),
    ],
)
def test_an_answer_with_which_a_pod_can_begin_is_use(verdict: ReadVerdict, concerned: int) -> None:
    usage = used_up_to(5)
    usage.note_answer(Mark(7), verdict)
    assert usage.concerned(OLD, NEW) == concerned


@pytest.mark.parametrize(("after", "concerned"), [(SAME, NO_MARK), (NEW, 5)])
def test_what_is_back_as_it_was_concerns_nobody(after: ObjectValue, concerned: int) -> None:
    usage = used_up_to(5)
    assert usage.concerned(OLD, None) == 5
    usage.note_answer(Mark(5), ReadVerdict.FOUND)
    # A crash repeats it.
    assert [usage.concerned(None, after) for _ in range(2)] == [concerned] * 2
    assert usage.concerned(after, OLD) == 5


def test_what_is_back_as_it_was_concerns_those_who_were_told_that_it_was_gone() -> None:
    usage = used_up_to(5)
    usage.concerned(OLD, None)
    usage.note_answer(Mark(7), ReadVerdict.NOT_FOUND)
    assert usage.concerned(None, SAME) == 7


def test_only_the_version_that_went_last_can_come_back() -> None:
    usage = used_up_to(5)
    usage.concerned(OLD, None)
    usage.concerned(NEW, None)
    assert usage.concerned(None, OLD) == 5


def test_what_is_remembered_shows_no_value() -> None:
    usage = used_up_to(5)
    usage.concerned(version(1, password=CANARY.encode()), None)
    assert CANARY not in repr(usage)
    assert "password" not in repr(usage)


# --- of objects that are looked at together -----------------------------------------------------------


def looked_at_up_to(mark: int) -> JointUsage:
    usage = JointUsage()
    usage.note_reference(ObjectKind.SECRET, Mark(mark))
    usage.note_look()
    return usage


def test_a_reference_needs_a_look_until_there_was_one() -> None:
    usage = looked_at_up_to(5)
    assert not usage.note_reference(ObjectKind.SECRET, Mark(4))
    assert not usage.note_reference(ObjectKind.SECRET, Mark(5))
    assert usage.note_reference(ObjectKind.CONFIG_MAP, Mark(1))
    assert [usage.note_reference(ObjectKind.SECRET, Mark(6)) for _ in range(2)] == [True] * 2
    usage.note_look()
    assert not usage.note_reference(ObjectKind.SECRET, Mark(6))


@pytest.mark.parametrize(
    ("verdict", "concerned"),
    [(ReadVerdict.STALE, 7), (ReadVerdict.NOT_FOUND, 7), (ReadVerdict.UNUSABLE, 5)],
)
def test_before_the_next_look_an_answer_is_use_of_that_object(
    verdict: ReadVerdict, concerned: int
) -> None:
    usage = looked_at_up_to(5)
    usage.note_answer(DB, Mark(7), verdict)
    usage.note_answer(DB, Mark(6), verdict)
    assert (usage.concerned(DB), usage.concerned(TLS)) == (concerned, 5)


def test_what_was_answered_is_forgotten_with_the_next_look() -> None:
    usage = looked_at_up_to(5)
    usage.note_answer(DB, Mark(4), ReadVerdict.FOUND)
    assert usage == looked_at_up_to(5)
    usage.note_reference(ObjectKind.SECRET, Mark(7))
    usage.note_answer(DB, Mark(7), ReadVerdict.FOUND)
    usage.note_look()
    assert usage == looked_at_up_to(7)
