"""Crashes amid the work of an actor: what it has done by then is done, and the rest is lost."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from typing_extensions import override

from kernel import Key, Level, LevelIs, OperationsMemory, PooledActor, Port, delay
from messages.sources import Rescan
from messages.units import Seconds
from tests.environment.crashes import ONCE_IN, CrashesAmid, How
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, stage_for


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


class Follower(PooledActor[LevelIs[str, int]]):
    """Passes what it follows on to a test."""

    def __init__(
        self, level: Level[str, int], me: Port[LevelIs[str, int]], probe: Probe[int]
    ) -> None:
        super().__init__()
        self._level, self._me, self._probe = level, me, probe

    @override
    def started(self) -> None:
        self._level.follow("a", self._me)

    @override
    def receive(self, message: LevelIs[str, int]) -> None:
        if isinstance(message.value, int):
            self._probe.tell(message.value)


class Waiter(PooledActor[Count]):
    """Waits for seconds, each time in an operation, and tells which were waited for or lost."""

    def __init__(self, memory: OperationsMemory[int], told: Probe[tuple[str, int]]) -> None:
        super().__init__()
        self._memory, self._told = memory, told

    @override
    def started(self) -> None:
        self._waits = self.operations(
            self._memory, lambda which, _: self._told.tell(("over", which))
        )
        for which in self._waits.recover():
            self._told.tell(("lost", which))

    @override
    def receive(self, message: Count) -> None:
        self._waits.begin(message.upto, delay(Seconds(float(message.upto))))


@dataclass(slots=True)
class Story:
    """A counter on a stage, what it tells, and who has crashed."""

    play: Stage
    crashes: CrashesAmid
    told: Probe[int]
    crashed: list[str]

    def counts(self, upto: int) -> list[int]:
        """Return the numbers that are told."""
        self.play.tell_all(COUNTER, Count(upto))
        return self.told.drain()


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Story:
    told: Probe[int] = Probe()
    play = stage_for(
        (HEARER, lambda _: Hearer(told)),
        (COUNTER, lambda stage: Counter(stage.port(HEARER))),
        root=PATIENT_ROOT,
    )
    story = Story(play, CrashesAmid(monkeypatch, play.clock.monotonic), told, [])
    story.crashes.when_crashed = story.crashed.append
    play.start()
    return story


@pytest.mark.parametrize(("how", "heard"), [(How.UNTOLD, [0, 1]), (How.TOLD, [0, 1, 2])])
def test_who_tells_the_third_message_crashes_before_or_after_it_and_soon_not_again(
    story: Story, how: How, heard: list[int]
) -> None:
    story.crashes.arm(3, how)
    assert story.counts(5) == heard
    assert story.crashed == ["counter"]
    story.play.advance(1.0)
    story.crashes.arm(1, how)
    assert story.counts(2) == [0, 1]
    story.play.advance(ONCE_IN)
    story.counts(2)
    assert story.crashed == ["counter", "counter"]


@pytest.mark.parametrize(("how", "heard"), [(How.UNHANDLED, []), (How.HANDLED, [0, 1])])
def test_who_handles_the_second_message_crashes_instead_of_it_or_after_it(
    story: Story, how: How, heard: list[int]
) -> None:
    story.crashes.arm(2, how, COUNTER.path)
    assert story.counts(3) == [0, 1, 2]
    assert story.crashed == []
    assert story.counts(2) == heard
    assert story.crashed == ["counter"]


@dataclass(slots=True)
class Noted:
    """What an actor remembers over its lives."""

    rescans: int = 0


class Noting(PooledActor[Rescan]):
    """Notes that it is told to look, and then tells it."""

    def __init__(self, memory: Noted, hearer: Port[int]) -> None:
        super().__init__()
        self._memory, self._hearer = memory, hearer

    @override
    def receive(self, message: Rescan) -> None:
        self._memory.rescans += 1
        self._hearer.tell(1)


def test_what_is_told_once_is_not_lost_but_what_follows_from_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noting: Key[Rescan] = Key("noting")
    memory, told = Noted(), Probe[int]()
    play = stage_for(
        (HEARER, lambda _: Hearer(told)),
        (noting, lambda stage: Noting(memory, stage.port(HEARER))),
        root=PATIENT_ROOT,
    )
    crashes = CrashesAmid(monkeypatch, play.clock.monotonic)
    play.start()
    crashes.arm(1, How.UNHANDLED)
    play.tell_all(noting, Rescan())
    assert (memory.rescans, told.drain()) == (1, [])
    assert len(play.endings) == 1


@pytest.mark.parametrize(("how", "heard"), [(How.UNHANDLED, [2]), (How.HANDLED, [2, 2])])
def test_a_value_over_which_its_follower_crashes_is_told_to_its_next_life(
    monkeypatch: pytest.MonkeyPatch, how: How, heard: list[int]
) -> None:
    follower: Key[LevelIs[str, int]] = Key("follower")
    level, told = Level[str, int](), Probe[int]()
    play = stage_for(
        (follower, lambda stage: Follower(level, stage.port(follower), told)), root=PATIENT_ROOT
    )
    crashes = CrashesAmid(monkeypatch, play.clock.monotonic)
    play.start()
    level.set("a", 1)
    play.settle()
    assert told.drain() == [1]
    crashes.arm(1, how)
    level.set("a", 2)
    play.advance(1.0)
    assert told.drain() == heard
    assert len(play.endings) == 1


@pytest.mark.parametrize(
    ("how", "second"), [(How.UNHANDLED, ("lost", 2)), (How.HANDLED, ("over", 2))]
)
def test_who_crashes_instead_of_the_end_of_a_step_crashes_in_its_operation(
    monkeypatch: pytest.MonkeyPatch, how: How, second: tuple[str, int]
) -> None:
    waiter: Key[Count] = Key("waiter")
    memory, told = OperationsMemory[int](), Probe[tuple[str, int]]()
    play = stage_for((waiter, lambda _: Waiter(memory, told)), root=PATIENT_ROOT)
    crashes = CrashesAmid(monkeypatch, play.clock.monotonic)
    play.start()
    play.tell_all(waiter, Count(2), Count(3))
    crashes.arm(2, how)  # the first message is that the time is over
    play.advance(10.0)
    assert told.drain() == [second, ("over", 3)]
    assert len(play.endings) == 1
