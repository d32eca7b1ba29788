"""Specs: a tree of supervisors and actors as data, in OTP's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

import tenacity

from kernel.actor import BaseActor
from kernel.ports import Key
from messages.units import Seconds

M = TypeVar("M")


class SpecError(ValueError):
    """A spec describes a tree that could never work."""


class Restart(StrEnum):
    """The restart policies: after which endings a child is started again."""

    PERMANENT = "permanent"
    """After all endings."""
    TRANSIENT = "transient"
    """After failures. A child that stops by itself has done its work."""
    TEMPORARY = "temporary"
    """Never."""


class Strategy(StrEnum):
    """The strategies: which children are restarted with a child that failed."""

    ONE_FOR_ONE = "one_for_one"
    """No other child."""
    REST_FOR_ONE = "rest_for_one"
    """The children that were started after it."""
    ONE_FOR_ALL = "one_for_all"
    """All children."""


class OnExhausted(StrEnum):
    """What happens when a child failed more often than its supervisor tolerates."""

    ESCALATE = "escalate"
    """The supervisor stops its other children and fails. Its own supervisor decides about it."""
    ISOLATE = "isolate"
    """The child is shown as failed and started again at the longest backoff. Its failures do not count
    against the other children. A failed child in the fixed part of the tree makes the agent unhealthy; a
    dynamic child alone does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The wait before a failed child is started again: it doubles, with jitter, up to a cap."""

    initial: Seconds = Seconds(0.1)
    cap: Seconds = Seconds(10.0)
    jitter: Seconds = Seconds(0.1)
    """The longest time that is added at random, so that children that failed together are not started
    again together."""
    reset_after: Seconds = Seconds(30.0)
    """A life that lasted this long was healthy: the wait after the next failure is ``initial`` again."""

    def delay(self, failures: int) -> Seconds:
        """Return the wait after ``failures`` failures in a row, the first being 1.

        tenacity gives the n-th wait only inside its own retry loop, which sleeps; a supervisor sets a timer.
        So the wait strategy is called with the state that this loop would have in its n-th attempt: the
        strategies' documented interface, ``RetryCallState`` and its ``attempt_number``.
        """
        wait = tenacity.wait_exponential_jitter(
            multiplier=self.initial, max=self.cap, jitter=self.jitter
        )
        loop = tenacity.Retrying(wait=wait)
        state = tenacity.RetryCallState(loop, fn=None, args=(), kwargs={})
        state.attempt_number = failures
        return Seconds(wait(state))

    def longest(self, failures: int) -> Seconds:
        """Return the longest wait that ``delay`` can return."""
        # 2 ** 1023 is the largest power of two that a float holds.
        doubled = self.initial * 2.0 ** min(failures - 1, 1000)
        return Seconds(min(self.cap, doubled + self.jitter))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec(Generic[M]):
    """The spec of one actor: how to make it, and what happens when it ends."""

    key: Key[M]
    factory: Callable[[], BaseActor[M]]
    """Makes a new actor for each life. Runs on the control thread, so constructors only store their
    arguments. What takes time or may fail belongs into ``started``."""
    restart: Restart = Restart.PERMANENT
    on_exhausted: OnExhausted = OnExhausted.ESCALATE
    start_deadline: Seconds = Seconds(10.0)
    """A child that has not finished ``started`` so long after it began is abandoned and counts as failed."""
    shutdown: Seconds = Seconds(5.0)
    """A child that has not stopped by then is abandoned. If that happens while the whole tree stops, the
    process does not exit with 0."""

    @property
    def name(self) -> str:
        """The path of its address."""
        return self.key.path


def isolated(key: Key[M], factory: Callable[[], BaseActor[M]]) -> ChildSpec[M]:
    """Return the spec of a permanent child that is isolated when it fails too often."""
    return ChildSpec(key=key, factory=factory, on_exhausted=OnExhausted.ISOLATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorSpec:
    """The spec of a supervisor and of its children, in the order in which they start."""

    name: str
    children: tuple[AnySpec, ...] = ()
    strategy: Strategy = Strategy.ONE_FOR_ONE
    intensity: int = 5
    """The most restarts within ``period`` that it tolerates. With the default backoff, n restarts take
    0.1 x (2**n - 1) s, so five fit into 3.1 s."""
    period: Seconds = Seconds(10.0)
    backoff: Backoff = field(default_factory=Backoff)
    restart: Restart = Restart.PERMANENT
    on_exhausted: OnExhausted = OnExhausted.ESCALATE
    shutdown: Seconds = Seconds(8.0)
    """A deadline for the whole subtree: what still runs then is abandoned."""

    def __post_init__(self) -> None:
        """Raise SpecError for limits that cannot be reached, and for names that occur twice."""
        check_intensity(self.name, self.intensity, self.period, self.backoff)
        twice = [name for name, times in Counter(names_in(self)).items() if times > 1]
        if twice:
            raise SpecError(f"supervisor {self.name}: more than one is called {twice[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicSpec:
    """The spec of a supervisor of dynamic children, which come and go while it runs.

    It is told ``StartChild`` and ``StopChild`` at its key. Its strategy is one_for_one, and it stops all
    children at the same time. All children together count as one loop, which fails when most of them do;
    one child that keeps failing is no failed loop.
    """

    key: Key[Any]
    intensity: int = 5
    period: Seconds = Seconds(10.0)
    backoff: Backoff = field(default_factory=Backoff)
    restart: Restart = Restart.PERMANENT
    on_exhausted: OnExhausted = OnExhausted.ESCALATE
    shutdown: Seconds = Seconds(8.0)
    """One deadline for all children together."""

    def __post_init__(self) -> None:
        """Raise SpecError for limits that cannot be reached."""
        check_intensity(self.name, self.intensity, self.period, self.backoff)

    @property
    def name(self) -> str:
        """The path of its address."""
        return self.key.path


AnySpec: TypeAlias = ChildSpec[Any] | SupervisorSpec | DynamicSpec


def names_in(spec: AnySpec) -> Iterator[str]:
    """Yield the names of a node and of all nodes below it."""
    yield spec.name
    if isinstance(spec, SupervisorSpec):
        for child in spec.children:
            yield from names_in(child)


def check_intensity(name: str, intensity: int, period: Seconds, backoff: Backoff) -> None:
    """Raise SpecError when the waits between restarts alone take longer than ``period``.

    Then a child that fails at once in each life would be restarted for ever, and nobody would learn of it.
    """
    if intensity < 0 or period <= 0:
        raise SpecError(f"supervisor {name}: intensity must be >= 0 and period > 0")
    waits = sum(backoff.longest(failures) for failures in range(1, intensity + 1))
    if waits > period:
        raise SpecError(
            f"supervisor {name}: {intensity} restarts take up to {waits:.1f} s of backoff and never "
            f"fall within its period of {period:.1f} s"
        )
