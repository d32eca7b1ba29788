"""Whom a change of an object concerns: those who may have something other than what it is now."""

from __future__ import annotations

import pytest

from actors.messages.holders import NO_MARK, Mark
from actors.messages.objects import ObjectValue, ReadVerdict
from actors.objects.usage import Usage
from tests.support.canary import CANARY


def version(number: int, **data: bytes) -> ObjectValue:
    return ObjectValue(uid=f"u{number}", resource_version=str(number), data=data)


OLD, SAME, NEW = version(1, a=b"1", b=b"2"), version(2, b=b"2", a=b"1"), version(3, a=b"1")


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
