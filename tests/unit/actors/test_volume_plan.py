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
from actors.volumes.shown_objects import ShownObjects
from messages.objects import HeldObject, ObjectId, ObjectKind, ObjectValue, ReadVerdict
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


def held(verdict: ReadVerdict = ReadVerdict.FOUND, version: str = "1") -> HeldObject:
    found = verdict in {ReadVerdict.FOUND, ReadVerdict.STALE}
    value = ObjectValue(uid="u", resource_version=version, data={}) if found else None
    return HeldObject(verdict=verdict, value=value, reason="" if found else "why")


def test_a_fresh_value_is_asked_for_once_for_all_pods_that_come_while_none_wait() -> None:
    objects = ShownObjects()
    objects.add(WEB, [KEYS])
    objects.add(DB, [KEYS])
    assert objects.ask(KEYS, NOW)
    assert not objects.ask(KEYS, NOW)
    assert objects.note(KEYS, held(), is_fresh=False) == ((WEB, DB), ())
    assert objects.note(KEYS, held(), is_fresh=True).ready == (WEB, DB)
    known = objects.get(KEYS)
    assert known is not None
    assert not known.awaits_value(WEB)
    assert not objects.ask(KEYS, NOW)
    assert (objects.asked_since(), objects.is_any_missing) == (None, False)


def test_a_pod_that_comes_while_others_wait_has_a_look_of_its_own_after_theirs() -> None:
    objects = ShownObjects()
    objects.add(WEB, [KEYS])
    assert objects.ask(KEYS, NOW)
    objects.add(DB, [KEYS])
    assert not objects.ask(KEYS, Seconds(NOW + 0.5))
    assert objects.note(KEYS, held(), is_fresh=True).ready == (WEB,)
    known = objects.get(KEYS)
    assert known is not None
    assert (known.awaits_value(WEB), known.awaits_value(DB)) == (False, True)
    assert objects.ask(KEYS, Seconds(NOW + 0.5))
    assert objects.asked_before(NOW) == []
    assert objects.asked_before(Seconds(NOW + 0.5)) == [KEYS]
    assert objects.end_wait(KEYS) == (DB,)
    assert not known.awaits_value(DB)


def test_pods_wait_on_as_long_as_nothing_is_told() -> None:
    objects = ShownObjects()
    assert objects.note(KEYS, held(), is_fresh=True) == ((), ())
    objects.add(WEB, [KEYS])
    objects.ask(KEYS, NOW)
    assert objects.end_wait(KEYS) == ()
    assert objects.ask(KEYS, NOW)
    objects.give_back(KEYS)
    known = objects.get(KEYS)
    assert known is not None
    assert known.awaits_value(WEB)
    assert objects.ask(KEYS, NOW)


def test_what_cannot_be_read_leaves_the_last_value_and_what_is_gone_does_not() -> None:
    objects = ShownObjects()
    objects.add(WEB, [KEYS])
    for verdict, has_value, trouble in (
        (ReadVerdict.FOUND, True, ""),
        (ReadVerdict.FORBIDDEN, True, "may not be read by this node: why"),
        (ReadVerdict.NOT_FOUND, False, ""),
        (ReadVerdict.NOT_SYNCED, False, "is not read yet: why"),
    ):
        objects.note(KEYS, held(verdict), is_fresh=True)
        known = objects.get(KEYS)
        assert known is not None
        assert (known.value is not None, known.trouble) == (has_value, trouble)
    assert objects.missing() == [KEYS]


def test_another_value_is_another_version_and_the_same_value_is_the_same() -> None:
    objects = ShownObjects()
    objects.add(WEB, [KEYS])
    versions = []
    for version in ("1", "2", "2", "3"):
        told = objects.note(KEYS, held(version=version), is_fresh=False)
        known = objects.get(KEYS)
        assert known is not None
        assert known.version is not None
        versions.append((known.version.name, known.version.number, bool(told.pods)))
    assert versions == [("1", 1, True), ("2", 2, True), ("2", 2, False), ("3", 3, True)]


def test_an_object_that_nobody_shows_any_more_is_forgotten() -> None:
    objects = ShownObjects()
    objects.add(WEB, [KEYS])
    objects.add(DB, [KEYS])
    objects.ask(KEYS, NOW)
    assert objects.drop(WEB, [KEYS]) == []
    assert objects.drop(DB, [KEYS]) == [KEYS]
    assert objects.drop(DB, [KEYS]) == []
    assert (len(objects), list(objects), objects.ask(KEYS, NOW)) == (0, [], False)
    assert (objects.asked_since(), objects.missing()) == (None, [])
