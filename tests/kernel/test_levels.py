"""Levels: a model with crashes of either side at every message, and each rule by itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from typing_extensions import override

from kernel import (
    UNSET,
    ActorSystem,
    Backoff,
    ChildSpec,
    DynamicMessage,
    DynamicSpec,
    Key,
    KeyFollowed,
    Level,
    LevelIs,
    OnExhausted,
    PooledActor,
    StartChild,
    Steps,
    StopChild,
    SupervisorSpec,
)
from kernel.current import set_current_incarnation
from messages.units import Seconds
from tests.support.kernel.clock import ManualClock

OWNER: Key[Any] = Key("owner")
POOL: Key[DynamicMessage] = Key("pool")
SOON: Final = Backoff(initial=Seconds(0.01), cap=Seconds(1.0), jitter=Seconds(0.0))
KEYS: Final = tuple("abcde")
NAMES: Final = ("f0", "f1", "f2", "f3")


@dataclass(slots=True, eq=False)
class World:
    """What is true outside, what each actor believes, and how often they crash."""

    chance: random.Random
    crashes: float = 0.0
    source: dict[str, int] = field(default_factory=dict)
    """What the owner looks at."""
    followed: dict[str, int] = field(default_factory=dict)
    """What the owner believes of its followers."""
    wanted: dict[str, int] = field(default_factory=dict)
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What each follower believes."""
    told: list[tuple[str, str, Any, bool]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Broken promises. An assertion in an actor would be one more crash."""

    def may_crash(self) -> None:
        if self.chance.random() < self.crashes:
            raise RuntimeError("injected")


class Owner(PooledActor[Any]):
    """Lists everything when it starts, and sets what it is told to look at."""

    def __init__(self, world: World, level: Level[str, int]) -> None:
        super().__init__()
        self.world, self.level = world, level

    @override
    def started(self) -> None:
        self.world.followed = self.level.followed()
        for key in KEYS:
            self.world.may_crash()
            if key in self.world.source:
                self.level.set(key, self.world.source[key])
            else:
                self.level.remove(key)

    @override
    def receive(self, message: Any, /) -> None:
        self.world.may_crash()
        if isinstance(message, KeyFollowed):
            self.world.followed[message.key] = message.followers
            self.world.wanted[message.key] = message.wanted
        elif message in self.world.source:
            self.level.set(message, self.world.source[message])
        else:
            self.level.remove(message)
        self.world.may_crash()


class Follower(PooledActor[Any]):
    """Remembers what it is told."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    @override
    def receive(self, message: Any, /) -> None:
        self.world.may_crash()
        if isinstance(message, LevelIs):
            known = self.world.known.setdefault(self.name, {})
            before = known.get(message.key)
            if (
                isinstance(message.value, int)
                and isinstance(before, int)
                and message.value < before
            ):
                self.world.wrong.append(f"{self.name} is told an older value of {message.key}")
            known[message.key] = message.value
            self.world.told.append((self.name, message.key, message.value, message.is_fresh))
        self.world.may_crash()


class Play:
    """An owner, followers that come and go, and what they should know."""

    def __init__(self, seed: int = 0, crashes: float = 0.0) -> None:
        self.world = World(random.Random(seed), crashes)
        self.chance = random.Random(seed + 1)
        self.clock, self.steps = ManualClock(), Steps(seed)
        self.follows: dict[str, set[str]] = {}
        self.number = 0
        tree = SupervisorSpec(
            name="root",
            backoff=SOON,
            children=(
                ChildSpec(
                    key=OWNER,
                    factory=lambda: Owner(self.world, self.level),
                    on_exhausted=OnExhausted.ISOLATE,
                ),
                DynamicSpec(key=POOL, on_exhausted=OnExhausted.ISOLATE),
            ),
        )
        self.system = ActorSystem(tree, clock=self.clock, runtime=self.steps)
        self.level: Level[str, int] = Level()
        self.level.own(self.system.address(OWNER))
        self.system.start()

    def port(self, name: str) -> Any:
        return self.system.address(Key[Any](name))

    def joins(self, name: str) -> None:
        """Have a follower begin, which follows nothing."""
        spec = ChildSpec(
            key=Key[Any](name),
            factory=lambda: Follower(self.world),
            on_exhausted=OnExhausted.ISOLATE,
        )
        self.system.address(POOL).tell(StartChild(spec=spec))
        self.follows[name] = set()

    def goes(self, name: str) -> None:
        """Have a follower end for good."""
        self.system.address(POOL).tell(StopChild(path=name))
        self.calms_down()
        del self.follows[name]
        self.world.known.pop(name, None)

    def sets(self, key: str, value: int | None) -> None:
        """Have something change outside, and the owner look at it."""
        if value is None:
            self.world.source.pop(key, None)
        else:
            self.world.source[key] = value
        self.port("owner").tell(key)

    def acts(self) -> None:
        """Do something, and let a few messages be handled."""
        name, key = self.chance.choice(NAMES), self.chance.choice(KEYS)
        if name not in self.follows:
            self.joins(name)
        actions = (self.sets_some, self.removes, self.follows_one, self.leaves, self.follows_two)
        others = (lambda name, _: self.goes(name), lambda *_: self.waits())
        [act] = self.chance.choices((*actions, *others), (35, 7, 20, 8, 5, 4, 10))
        act(name, key)
        for _ in range(self.chance.choice((0, 1, 3, 10))):
            self.steps.step()

    def sets_some(self, _name: str, key: str) -> None:
        self.number += self.chance.choice((0, 1))
        self.sets(key, self.number)

    def removes(self, _name: str, key: str) -> None:
        self.sets(key, None)

    def follows_one(self, name: str, key: str) -> None:
        self.level.follow(key, self.port(name), fresh=self.chance.random() < 0.3)
        self.follows[name].add(key)

    def leaves(self, name: str, key: str) -> None:
        self.level.leave(key, self.port(name))
        self.follows[name].discard(key)
        self.world.known.get(name, {}).pop(key, None)

    def follows_two(self, name: str, _key: str) -> None:
        self.follows[name] = set(self.chance.sample(KEYS, 2))
        self.level.follow_only(self.follows[name], self.port(name))

    def waits(self) -> None:
        self.clock.move(Seconds(self.clock.monotonic() + 0.05))

    def calms_down(self) -> None:
        """Let everything happen, without a crash."""
        crashes, self.world.crashes = self.world.crashes, 0.0
        for _ in range(40):
            self.steps.work_off()
            self.clock.move(Seconds(self.clock.monotonic() + 1.0))
        self.steps.work_off()
        self.world.crashes = crashes

    def told(self) -> list[Any]:
        """Return the values that followers were told since the last look, each with whether it is fresh."""
        self.calms_down()
        told, self.world.told[:] = [each[2:] for each in self.world.told], []
        return told


@pytest.mark.parametrize("crashes", [0.0, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(25))
def test_at_rest_each_follower_knows_the_present_values_whoever_crashed(
    seed: int, crashes: float
) -> None:
    play = Play(seed, crashes)
    for _ in range(150):
        play.acts()
    play.calms_down()
    # It may have crashed over the message to look. Telling it everything again would hide what it forgot.
    play.system.crash("owner")
    play.calms_down()
    source = play.world.source
    for name, keys in play.follows.items():
        known = {key: value for key, value in play.world.known.get(name, {}).items() if key in keys}
        assert known == {key: source.get(key, UNSET) for key in keys}
    for key in KEYS:
        followers = sum(key in keys for keys in play.follows.values())
        assert play.world.followed.get(key, 0) == followers
    assert play.world.wrong == []
    assert len(play.level) == len(set(source).union(*play.follows.values()))
    for name in list(play.follows):
        play.goes(name)
    assert len(play.level) == len(source)
    assert play.level.followed() == {}


@pytest.fixture
def play() -> Iterator[Play]:
    """Return an owner and one follower, ``f0``, which follows nothing."""
    play = Play()
    play.joins("f0")
    play.calms_down()
    yield play
    assert play.world.wrong == []


def test_the_present_value_is_told_at_once_or_that_there_is_none(play: Play) -> None:
    play.level.follow("a", play.port("f0"))
    assert play.told() == [(UNSET, True)]
    play.sets("b", 7)
    play.calms_down()
    play.level.follow("b", play.port("f0"))
    assert play.told() == [(7, True)]


def test_a_slow_follower_has_one_item_in_its_mailbox_and_is_told_the_newest(play: Play) -> None:
    for number in range(5000):
        play.level.follow(f"x{number}", play.port("f0"))
    play.told()
    for number in range(1000):
        for key in ("x1", "x2"):
            play.level.set(key, number)
    assert play.port("f0").depth == 1
    assert play.told() == [(999, True), (999, True)]


def test_other_messages_come_in_after_sixteen_values(play: Play) -> None:
    for number in range(40):
        play.level.follow(f"x{number}", play.port("f0"))
    play.port("f0").tell("between")
    while not play.world.told:
        play.steps.step()
    assert len(play.world.told) == 16
    assert play.port("f0").depth == 2


def test_an_equal_value_is_told_to_nobody(play: Play) -> None:
    play.level.follow("a", play.port("f0"))
    play.sets("a", int("1000"))
    play.told()
    play.sets("a", int("1000"))
    assert play.told() == []


def test_the_owner_is_told_how_many_follow_a_key_and_that_nobody_does(play: Play) -> None:
    play.level.follow("a", play.port("f0"))
    play.calms_down()
    assert play.world.followed == {"a": 1}
    play.level.leave("a", play.port("f0"))
    play.calms_down()
    assert play.world.followed == {"a": 0}


def test_who_leaves_is_told_nothing_more_also_of_what_has_changed_already(play: Play) -> None:
    play.level.set("a", 1)
    for key in "ab":
        play.level.follow(key, play.port("f0"))
    play.level.leave("a", play.port("f0"))
    assert play.told() == [(UNSET, True)]
    play.level.leave("b", play.port("f0"))
    assert play.told() == []
    assert play.level.followed() == {}


def test_who_is_handled_a_message_knows_what_was_set_before_it_was_told(play: Play) -> None:
    play.level.follow("a", play.port("f0"))
    play.told()
    for number in range(20):
        play.level.set("a", number)
        play.port("f0").tell("noise")
    play.level.set("a", 20)
    play.steps.step()
    assert play.world.told[0][2] == 20


def test_a_follower_that_is_down_with_a_full_mailbox_knows_everything_later(play: Play) -> None:
    play.level.follow("a", play.port("f0"))
    play.told()
    play.system.crash("f0")
    play.steps.work_off()
    for _ in range(10_001):
        play.port("f0").tell("noise")
    play.level.set("a", 7)
    assert (7, True) in play.told()


def test_a_life_that_has_ended_changes_nothing(play: Play) -> None:
    play.sets("a", 7)
    play.level.follow("a", play.port("f0"))
    play.calms_down()
    ended = play.port("owner").incarnation
    play.system.crash("owner")
    play.told()
    set_current_incarnation(ended)
    try:
        play.level.set("a", 6)
        play.level.remove("a")
        play.level.leave("a", play.port("f0"))
        play.level.follow("b", play.port("f0"))
        play.level.follow_only((), play.port("f0"))
    finally:
        set_current_incarnation(None)
    assert play.told() == []
    assert play.level.followed() == {"a": 1}
    play.sets("a", 8)
    assert play.told() == [(8, True)]


def test_a_crash_of_the_owner_tells_followers_nothing(play: Play) -> None:
    play.sets("a", 7)
    play.level.follow("a", play.port("f0"))
    play.told()
    play.system.crash("owner")
    assert play.told() == []


def test_what_an_owner_that_starts_again_does_not_list_is_unset(play: Play) -> None:
    for key in "ab":
        play.sets(key, 7)
        play.level.follow(key, play.port("f0"))
    play.told()
    del play.world.source["b"]
    play.system.crash("owner")
    assert play.told() == [(UNSET, True)]


def test_the_next_life_of_a_follower_is_told_everything_once_more(play: Play) -> None:
    for key in "ab":
        play.sets(key, 7)
        play.level.follow(key, play.port("f0"))
    play.told()
    play.system.crash("f0")
    assert play.told() == [(7, True), (7, True)]


def test_a_fresh_value_is_one_that_was_looked_for_since(play: Play) -> None:
    play.level.set("a", 7)
    play.level.follow("a", play.port("f0"), fresh=True)
    assert play.told() == [(7, False)]
    wanted = play.world.wanted["a"]
    play.level.set("a", 7, proven=wanted - 1)
    assert play.told() == []
    play.level.set("a", 7, proven=wanted)
    assert play.told() == [(7, True)]
    play.level.set("a", 7, proven=wanted + 1)
    assert play.told() == []


def test_what_one_follower_wants_fresh_is_not_told_again_to_another(play: Play) -> None:
    play.joins("f1")
    play.level.set("a", 7)
    play.level.follow("a", play.port("f1"))
    play.told()
    play.level.follow("a", play.port("f0"), fresh=True)
    play.calms_down()
    play.level.set("a", 7, proven=play.world.wanted["a"])
    play.calms_down()
    assert [each[0] for each in play.world.told] == ["f0", "f0"]


def test_an_owner_whose_address_opens_again_is_told_who_follows() -> None:
    play = Play()
    play.joins("f0")
    play.joins("f1")
    play.calms_down()
    level: Level[str, int] = Level()
    level.own(play.port("f0"))
    play.goes("f0")
    level.follow("a", play.port("f1"))
    play.joins("f0")
    play.calms_down()
    level.follow("b", play.port("f1"))
    assert play.port("f0").depth == 1


def test_nothing_is_kept_of_a_follower_that_is_gone_nor_taken_of_it(play: Play) -> None:
    gone = play.port("f0")
    play.level.follow("a", gone)
    play.goes("f0")
    assert len(play.level) == 0
    play.level.follow("a", gone)
    assert len(play.level) == 0


def test_a_value_is_in_no_text() -> None:
    assert "hunter2" not in repr(LevelIs("a", "hunter2"))
    assert repr(UNSET) == "UNSET"


def test_only_addresses_follow(play: Play) -> None:
    with pytest.raises(TypeError, match="addresses"):
        play.level.follow("a", [].append)  # type: ignore[arg-type]
