"""What is done next about a volume, and what is read of the objects that volumes show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.volumes.plan import (
    PACE,
    NextStep,
    VolumeNow,
    VolumeStep,
    VolumeWaits,
    next_step,
    retry_pause,
)
from actors.volumes.shown_objects import ReadAsked, ShownObjects
from messages.objects import ObjectId, ObjectKind, ObjectRead, ObjectValue, ReadVerdict
from messages.pods import PodUid
from messages.units import Seconds

NOW = Seconds(100.0)
IDLE = VolumeNow(
    is_busy=False, is_stale=False, is_unread=False, tried_at=None, failures=0, left_at=None
)
STALE = replace(IDLE, is_stale=True)
LEFT = replace(IDLE, left_at=Seconds(99.96))
WEB, DB = PodUid("web"), PodUid("db")
KEYS = ObjectId(kind=ObjectKind.SECRET, namespace="default", name="keys")


@pytest.mark.parametrize(
    ("volume", "step"),
    [
        (IDLE, VolumeStep.NOTHING),
        (STALE, VolumeStep.MAKE),
        (replace(STALE, is_busy=True), VolumeStep.NOTHING),
        (replace(STALE, is_unread=True), VolumeStep.NOTHING),
        (replace(STALE, tried_at=Seconds(99.0)), VolumeStep.MAKE),
        (replace(STALE, tried_at=Seconds(99.95)), VolumeWaits(Seconds(99.95 + PACE))),
        (replace(STALE, tried_at=Seconds(99.0), failures=2), VolumeWaits(Seconds(101.0))),
        (replace(STALE, tried_at=Seconds(98.0), failures=2), VolumeStep.MAKE),
        (LEFT, VolumeWaits(Seconds(99.96 + 0.05))),
        (replace(LEFT, left_at=Seconds(99.9)), VolumeStep.TIDY),
        (replace(LEFT, is_stale=True), VolumeStep.MAKE),
        (replace(LEFT, is_stale=True, tried_at=NOW), VolumeWaits(Seconds(99.96 + 0.05))),
    ],
)
def test_each_situation_gives_one_step(volume: VolumeNow, step: NextStep) -> None:
    assert next_step(volume, NOW) == step


def test_attempts_are_a_minute_apart_at_the_most() -> None:
    pauses = [retry_pause(number) for number in (1, 2, 3, 6, 7, 1000)]
    assert pauses == [1.0, 2.0, 4.0, 32.0, 60.0, 60.0]


def answer(number: int, verdict: ReadVerdict = ReadVerdict.FOUND, version: str = "1") -> ObjectRead:
    found = verdict in {ReadVerdict.FOUND, ReadVerdict.STALE}
    value = ObjectValue(uid="u", resource_version=version, data={}) if found else None
    return ObjectRead(
        kind=ObjectKind.SECRET,
        pod=WEB,
        name="keys",
        ref=ReadAsked(KEYS, number),
        verdict=verdict,
        value=value,
        reason="" if found else "why",
    )


def test_an_object_is_read_once_for_all_pods_that_come_while_nothing_is_asked() -> None:
    objects = ShownObjects()
    assert objects.add(WEB, [KEYS]) == [KEYS]
    assert objects.add(DB, [KEYS]) == []
    read = objects.next_read(KEYS, NOW)
    assert read is not None
    assert objects.next_read(KEYS, NOW) is None
    assert objects.note_read(answer(read.number)) is True
    known = objects.get(KEYS)
    assert known is not None
    assert not known.awaits_read(WEB)
    assert objects.next_read(KEYS, NOW) is None
    assert not objects.is_any_open


def test_a_pod_that_comes_while_an_object_is_read_has_it_read_again() -> None:
    objects = ShownObjects()
    objects.add(WEB, [KEYS])
    first = objects.next_read(KEYS, NOW)
    assert first is not None
    objects.add(DB, [KEYS])
    objects.note_read(answer(first.number))
    known = objects.get(KEYS)
    assert known is not None
    assert (known.awaits_read(WEB), known.awaits_read(DB)) == (False, True)
    second = objects.next_read(KEYS, NOW)
    assert second is not None
    assert second.pod == DB
    assert objects.note_read(answer(second.number)) is False
    assert not known.awaits_read(DB)


def test_an_answer_that_nobody_waits_for_is_nothing() -> None:
    objects = ShownObjects()
    assert objects.note_read(answer(1)) is None
    objects.add(WEB, [KEYS])
    objects.next_read(KEYS, NOW)
    assert objects.note_read(answer(7)) is None
    assert objects.note_read(replace(answer(1), ref="strange")) is None
    assert objects.unanswered(NOW) == [KEYS]
    objects.give_up(KEYS)
    assert objects.unanswered(NOW) == []
    known = objects.get(KEYS)
    assert known is not None
    assert known.awaits_read(WEB)


def test_what_cannot_be_read_leaves_the_last_value_and_what_is_gone_does_not() -> None:
    objects = ShownObjects()
    objects.add(WEB, [KEYS])
    for verdict, has_value, trouble in (
        (ReadVerdict.FOUND, True, ""),
        (ReadVerdict.FORBIDDEN, True, "may not be read by this node: why"),
        (ReadVerdict.NOT_FOUND, False, ""),
        (ReadVerdict.NOT_SYNCED, False, "is not read yet: why"),
    ):
        read = objects.next_read(KEYS, NOW, again=True)
        assert read is not None
        objects.note_read(answer(read.number, verdict))
        known = objects.get(KEYS)
        assert known is not None
        assert (known.value is not None, known.trouble) == (has_value, trouble)
    assert objects.missing() == [KEYS]


def test_an_object_that_nobody_shows_any_more_is_forgotten() -> None:
    objects = ShownObjects()
    objects.add(WEB, [KEYS])
    objects.add(DB, [KEYS])
    assert objects.drop(WEB, [KEYS]) == []
    assert objects.drop(DB, [KEYS]) == [KEYS]
    assert objects.drop(DB, [KEYS]) == []
    assert (len(objects), list(objects), objects.next_read(KEYS, NOW)) == (0, [], None)
    objects.note_change(KEYS)
    objects.give_up(KEYS)
