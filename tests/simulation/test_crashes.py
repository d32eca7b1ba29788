"""Crashes amid what an actor tells: the messages before are told, those after are not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from typing_extensions import override

from kernel import Key, PooledActor, Port
from tests.environment.crashes import ONCE_IN, CrashesAmid
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, stage_for


@dataclass(frozen=True, slots=True)
class Count:
    """Asks for the numbers up to one."""

    upto: int


COUNTER: Key[Count] = Key("counter")
HEARER: Key[int] = Key("hearer")


class Counter(PooledActor[Count]):
    """Tells numbers."""

    def __init__(self, hearer: Port[int]) -> None:
        super().__init__()
        self._hearer = hearer

    @override
    def receive(self, message: Count) -> None:
        for number in range(message.upto):
            self._hearer.tell(number)


class Hearer(PooledActor[int]):
    """Passes numbers on to a test."""

    def __init__(self, probe: Probe[int]) -> None:
        super().__init__()
        self._probe = probe

    @override
    def receive(self, message: int) -> None:
        self._probe.tell(message)


@pytest.mark.parametrize(("is_told", "heard"), [(False, [0, 1]), (True, [0, 1, 2])])
def test_who_tells_the_third_message_crashes_before_or_after_it_and_once_in_a_minute(
    monkeypatch: pytest.MonkeyPatch, *, is_told: bool, heard: list[int]
) -> None:
    probe: Probe[int] = Probe()
    crashed: list[str] = []
    stage = stage_for(
        (HEARER, lambda _: Hearer(probe)),
        (COUNTER, lambda stage: Counter(stage.port(HEARER))),
        root=PATIENT_ROOT,
    )
    crashes = CrashesAmid(monkeypatch, stage.clock.monotonic)
    crashes.when_crashed = crashed.append
    stage.start()
    crashes.arm(3, is_told=is_told)
    stage.tell_all(COUNTER, Count(5))
    assert probe.drain() == heard
    assert crashed == ["counter"]
    stage.advance(1.0)
    crashes.arm(1, is_told=is_told)
    stage.tell_all(COUNTER, Count(2))
    assert probe.drain() == [0, 1]
    stage.advance(ONCE_IN)
    stage.tell_all(COUNTER, Count(2))
    assert crashed == ["counter", "counter"]
