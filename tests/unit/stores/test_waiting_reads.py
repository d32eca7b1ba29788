"""Reads that wait for an answer."""

from __future__ import annotations

import pytest

from messages.holders import Mark, ReadObject
from messages.objects import ObjectId, ObjectKind
from messages.pods import PodUid
from messages.units import Seconds
from stores.objects.waiting_reads import WaitingReads
from tests.support.kernel.probe import Probe


def read(within: float) -> ReadObject:
    return ReadObject(
        object=ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="tls"),
        mark=Mark(1),
        pod=PodUid("p1"),
        reply_to=Probe(),
        ref=within,
        within=Seconds(within),
    )


@pytest.fixture
def reads() -> WaitingReads:
    """Return three, which came one after the other and may wait for so long."""
    reads = WaitingReads()
    for within in (2.0, 1.0, 3.0):
        reads.add(read(within), Seconds(10.0))
    return reads


def test_each_leaves_when_its_time_is_over(reads: WaitingReads) -> None:
    assert reads.next_due() == 11.0
    assert [each.until for each in reads.take_overdue(Seconds(12.0))] == [12.0, 11.0]
    assert reads.next_due() == 13.0
    assert [each.until for each in reads.take()] == [13.0]
    assert reads.next_due() is None


def test_those_that_are_taken_out_leave_the_others_in_order(reads: WaitingReads) -> None:
    assert [each.number for each in reads.take(lambda each: each.until == 11.0)] == [2]
    assert [each.number for each in reads] == [1, 3]
    assert reads.newest == 3
    reads.add(read(1.0), Seconds(0.0))
    assert reads.newest == 4


def test_one_that_is_not_dealt_with_is_still_there(reads: WaitingReads) -> None:
    """As when answering it crashed."""
    for each in reads.take():
        if each.number == 2:
            break
    assert [each.number for each in reads] == [2, 3]
