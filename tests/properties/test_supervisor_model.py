"""Supervisors against a plain model of OTP's: random trees, random failures, on seeded schedules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from kernel import (
    EXIT_FAILED,
    EXIT_STOPPED,
    Backoff,
    Restart,
    Steps,
    Strategy,
    SupervisorSpec,
)
from messages.units import Seconds
from tests.support.kernel.players import (
    STOP_YOURSELF,
    OwnThreadPlayer,
    PooledPlayer,
    Say,
    Troupe,
    crash,
    key,
)
from tests.support.kernel.stage import Stage

QUICK = Backoff(initial=Seconds(0.1), cap=Seconds(0.4), jitter=Seconds(0.0))
PERIOD = 4.5
"""Seconds. Each rule lets one second pass, so the window holds the last five failures."""


@dataclass
class ActorModel:
    """An actor: its life's number, and whether it is up."""

    name: str
    restart: Restart
    lives: int = 0
    is_up: bool = False

    def start(self) -> Iterator[str]:
        self.lives += 1
        self.is_up = True
        yield f"{self.name} starts {self.lives}"

    def stop(self) -> Iterator[str]:
        if self.is_up:
            self.is_up = False
            yield f"{self.name} stops"

    def actors(self) -> Iterator[ActorModel]:
        yield self

    def spec(self, troupe: Troupe) -> Any:
        return troupe.child(key(self.name), restart=self.restart)


@dataclass
class SupervisorModel:
    """A supervisor: what it does about the end of a child, written down at once."""

    name: str
    strategy: Strategy
    intensity: int
    children: list[Any]
    restart: Restart = Restart.PERMANENT
    is_up: bool = False
    restarted_at: list[float] = field(default_factory=list)

    def start(self) -> Iterator[str]:
        self.is_up = True
        self.restarted_at = []
        for child in self.children:
            yield from child.start()

    def stop(self) -> Iterator[str]:
        self.is_up = False
        for child in reversed(self.children):
            yield from child.stop()

    def actors(self) -> Iterator[ActorModel]:
        for child in self.children:
            yield from child.actors()

    def spec(self, troupe: Troupe) -> SupervisorSpec:
        return SupervisorSpec(
            name=self.name,
            strategy=self.strategy,
            intensity=self.intensity,
            period=Seconds(PERIOD),
            backoff=QUICK,
            children=tuple(child.spec(troupe) for child in self.children),
        )

    def parent_of(self, wanted: object) -> SupervisorModel | None:
        if any(child is wanted for child in self.children):
            return self
        nested = [child for child in self.children if isinstance(child, SupervisorModel)]
        return next((found for child in nested if (found := child.parent_of(wanted))), None)

    def restart_with(self, child: Any) -> Iterator[str]:
        """Give what follows from a restart of ``child``."""
        index = next(n for n, other in enumerate(self.children) if other is child)
        members = {
            Strategy.ONE_FOR_ONE: [child],
            Strategy.REST_FOR_ONE: self.children[index:],
            Strategy.ONE_FOR_ALL: self.children,
        }[self.strategy]
        for member in reversed(members):
            yield from member.stop()
        for member in members:
            if member.restart is not Restart.TEMPORARY:
                yield from member.start()


def ended(root: SupervisorModel, child: Any, *, failed: bool, now: float) -> Iterator[str]:
    """Give what follows from the end of ``child``, up to the root."""
    child.is_up = False
    parent = root.parent_of(child)
    if parent is None:
        return
    if child.restart is Restart.TEMPORARY or (child.restart is Restart.TRANSIENT and not failed):
        return
    parent.restarted_at.append(now)
    recent = [time for time in parent.restarted_at if time >= now - PERIOD]
    if len(recent) > parent.intensity:
        yield from parent.stop()
        yield from ended(root, parent, failed=True, now=now)
    else:
        yield from parent.restart_with(child)


STRATEGIES = st.sampled_from(list(Strategy))
RESTARTS = st.sampled_from(list(Restart))
INTENSITIES = st.integers(min_value=0, max_value=3)


@st.composite
def trees(draw: st.DrawFn) -> SupervisorModel:
    """Draw a root with two to four children, some of them supervisors of actors."""
    names = (f"a{number}" for number in range(100))
    supervisors = (f"s{number}" for number in range(100))

    def actors(most: int) -> list[Any]:
        kinds = draw(st.lists(RESTARTS, min_size=1, max_size=most))
        return [ActorModel(next(names), restart) for restart in kinds]

    def supervisor(children: list[Any]) -> SupervisorModel:
        return SupervisorModel(next(supervisors), draw(STRATEGIES), draw(INTENSITIES), children)

    children: list[Any] = [
        supervisor(actors(3)) if draw(st.booleans()) else actors(1)[0]
        for _ in range(draw(st.integers(min_value=2, max_value=4)))
    ]
    return supervisor(children)


class Supervision(RuleBasedStateMachine):
    """The real tree on a seeded schedule beside the model: both live through the same."""

    @initialize(
        root=trees(),
        seed=st.integers(0, 1000),
        kind=st.sampled_from([OwnThreadPlayer, PooledPlayer]),
    )
    def raise_the_curtain(self, root: SupervisorModel, seed: int, kind: Any) -> None:
        self.root = root
        self.troupe = Troupe(kind)
        self.play = Stage(root.spec(self.troupe), Steps(seed))
        self.play.start()
        self._lived_through(root.start())

    def _lived_through(self, expected: Iterator[str]) -> None:
        # The order is exact: of starts, of stops, and of one after the other.
        expected_lines = list(expected)
        self.play.advance(1.0)
        assert self.troupe.diary.drain() == expected_lines

    def _somebody(self, data: st.DataObject) -> ActorModel:
        up = [actor for actor in self.root.actors() if actor.is_up]
        return data.draw(st.sampled_from(up), label="who")

    def _anybody_up(self) -> bool:
        return any(actor.is_up for actor in self.root.actors())

    @precondition(_anybody_up)
    @rule(data=st.data())
    def somebody_crashes(self, data: st.DataObject) -> None:
        actor, now = self._somebody(data), self.play.clock.monotonic()
        self.play.tell(key(actor.name), crash())
        self._lived_through(ended(self.root, actor, failed=True, now=now))

    @precondition(_anybody_up)
    @rule(data=st.data())
    def somebody_stops_by_itself(self, data: st.DataObject) -> None:
        actor, now = self._somebody(data), self.play.clock.monotonic()
        self.play.tell(key(actor.name), STOP_YOURSELF)
        assert self.troupe.diary.next() == f"{actor.name} stops"
        self._lived_through(ended(self.root, actor, failed=False, now=now))

    @rule()
    def time_passes(self) -> None:
        self._lived_through(iter(()))

    @invariant()
    def the_tree_is_as_the_model_says(self) -> None:
        if not hasattr(self, "play"):
            return
        running = {name for name, node in self.play.describe().items() if node.state == "running"}
        up = {actor.name for actor in self.root.actors() if actor.is_up}
        assert {name for name in running if name.startswith("a")} == up

    @invariant()
    def a_root_that_gave_up_ends_the_process(self) -> None:
        if hasattr(self, "play"):
            code = self.play.system.wait(Seconds(0.0))
            assert code == (None if self.root.is_up else EXIT_FAILED)

    @override
    def teardown(self) -> None:
        if hasattr(self, "play"):
            expected = list(self.root.stop()) if self.root.is_up else []
            code = self.play.stop()
            assert self.troupe.diary.drain() == expected
            assert code in {EXIT_STOPPED, EXIT_FAILED}


TestSupervision = Supervision.TestCase


def told_in_order(seed: int, kind: Any) -> list[str]:
    """Return what is lived through when four actors crash and talk, on the schedule of ``seed``."""
    troupe = Troupe(kind)
    names = ("a", "b", "c", "d")
    spec = SupervisorSpec(
        name="root", children=tuple(troupe.child(key(name)) for name in names), intensity=5
    )
    play = Stage(spec, Steps(seed))
    play.start()
    for word in ("one", "two", "three"):
        for name in names:
            play.port(key(name)).tell(Say(word=word))
    play.port(key("b")).tell(crash())
    play.advance(1.0)
    assert play.stop() == EXIT_STOPPED
    return troupe.diary.drain()


@given(st.integers(0, 2**32))
def test_a_schedule_can_be_replayed_from_its_seed(seed: int) -> None:
    assert told_in_order(seed, PooledPlayer) == told_in_order(seed, PooledPlayer)
    # And it does not depend on the type of the actors.
    assert told_in_order(seed, PooledPlayer) == told_in_order(seed, OwnThreadPlayer)


def test_other_seeds_give_other_schedules_of_the_same_story() -> None:
    stories = [told_in_order(seed, PooledPlayer) for seed in range(10)]

    assert len({tuple(story) for story in stories}) > 5
    assert len({tuple(sorted(line for line in story)) for story in stories}) == 1


@given(st.integers(0, 2**32), trees(), st.lists(st.booleans(), max_size=12), st.data())
def test_no_child_has_two_lives_at_once_whatever_happens_together(
    seed: int, root: SupervisorModel, happenings: list[bool], data: st.DataObject
) -> None:
    troupe = Troupe(PooledPlayer)
    play = Stage(root.spec(troupe), Steps(seed))
    play.start()
    names = [actor.name for actor in root.actors()]
    for is_crash in happenings:
        # Nothing is waited for: failures meet backoffs, groups that stop, groups that start.
        name = data.draw(st.sampled_from(names))
        play.port(key(name)).tell(crash() if is_crash else STOP_YOURSELF)
        play.runtime.step()  # type: ignore[attr-defined]  # it is Steps
        if data.draw(st.booleans()):
            play.advance(data.draw(st.sampled_from([0.05, 0.1, 0.3])))
    code = play.stop()

    assert code in {EXIT_STOPPED, EXIT_FAILED}
    numbers = dict.fromkeys(names, 0)
    for line in troupe.diary.drain():
        name, happening, *number = line.split()
        if happening == "starts":
            assert int(number[0]) == numbers[name] + 1
            numbers[name] += 1
    lives = [(ended.name, ended.incarnation) for ended in play.endings]
    assert len(set(lives)) == len(lives)
