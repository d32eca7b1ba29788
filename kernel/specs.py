"""Child specs: what a supervisor has to know of its children, as data, in OTP's words."""

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
    """A tree that could never work as its spec says."""


class Restart(StrEnum):
    """Which endings of a child are followed by another life."""

    PERMANENT = "permanent"
    """All of them."""
    TRANSIENT = "transient"
    """Failures; a child that stops by itself has done its work."""
    TEMPORARY = "temporary"
    """None."""


class Strategy(StrEnum):
    """Who is restarted with a child that failed."""

    ONE_FOR_ONE = "one_for_one"
    """Nobody else."""
    REST_FOR_ONE = "rest_for_one"
    """Those that were started after it."""
    ONE_FOR_ALL = "one_for_all"
    """All of them."""


class OnExhausted(StrEnum):
    """What it means that a child failed more often than its supervisor tolerates."""

    ESCALATE = "escalate"
    """The supervisor stops the others and fails: its own supervisor decides."""
    ISOLATE = "isolate"
    """The child's own trouble: it is tried again at the longest backoff, shown as failed, and
    does not count against the others. As one of the agent's loops it has the agent called unwell; as
    one of a crowd, under a dynamic supervisor, it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How long a failed child waits for its next life: doubling, with jitter, up to a cap."""

    initial: Seconds = Seconds(0.1)
    cap: Seconds = Seconds(10.0)
    jitter: Seconds = Seconds(0.1)
    """Up to this much is added at random, so that children that failed together do not return
    together."""
    reset_after: Seconds = Seconds(30.0)
    """A life that lasted this long was healthy: the next failure waits ``initial`` again."""

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
        """Return the longest that ``delay`` can give."""
        # 2 ** 1023 is the largest power of two that a float holds.
        doubled = self.initial * 2.0 ** min(failures - 1, 1000)
        return Seconds(min(self.cap, doubled + self.jitter))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec(Generic[M]):
    """One actor: how to make it, and what its endings mean."""

    key: Key[M]
    factory: Callable[[], BaseActor[M]]
    """Makes a new actor for each life. Runs on the control thread, so constructors only store
    their arguments; what takes time or may fail belongs into ``started``."""
    restart: Restart = Restart.PERMANENT
    on_exhausted: OnExhausted = OnExhausted.ESCALATE
    start_deadline: Seconds = Seconds(10.0)
    """A child that has not finished ``started`` by then is abandoned and counts as failed."""
    shutdown: Seconds = Seconds(5.0)
    """A child that has not stopped by then is abandoned, and the process will not exit with 0."""

    @property
    def name(self) -> str:
        """The running name."""
        return self.key.path


def isolated(key: Key[M], factory: Callable[[], BaseActor[M]]) -> ChildSpec[M]:
    """Return the spec of a permanent child whose trouble is its own."""
    return ChildSpec(key=key, factory=factory, on_exhausted=OnExhausted.ISOLATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorSpec:
    """A supervisor and its children, in the order in which they start."""

    name: str
    children: tuple[AnySpec, ...] = ()
    strategy: Strategy = Strategy.ONE_FOR_ONE
    intensity: int = 5
    """More than this many restarts within ``period`` are more than it tolerates. After n
    restarts with the default backoff 0.1 x (2**n - 1) s have passed, so five fit into 3.1 s."""
    period: Seconds = Seconds(10.0)
    backoff: Backoff = field(default_factory=Backoff)
    restart: Restart = Restart.PERMANENT
    on_exhausted: OnExhausted = OnExhausted.ESCALATE
    shutdown: Seconds = Seconds(8.0)
    """Covers the whole subtree: what still runs then is abandoned."""

    def __post_init__(self) -> None:
        """Refuse limits that cannot be reached and names that occur twice."""
        check_intensity(self.name, self.intensity, self.period, self.backoff)
        twice = [name for name, times in Counter(names_in(self)).items() if times > 1]
        if twice:
            raise SpecError(f"supervisor {self.name}: more than one is called {twice[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicSpec:
    """A supervisor whose children come and go while it runs: one for each watched object, say.

    Told ``StartChild`` and ``StopChild`` at its key. Its strategy is one_for_one, and it stops its
    children all at once instead of one after the other. An isolated one that keeps failing is no failed
    loop: the children count as one together, which fails when most of them do.
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
        """Refuse limits that cannot be reached."""
        check_intensity(self.name, self.intensity, self.period, self.backoff)

    @property
    def name(self) -> str:
        """The running name."""
        return self.key.path


AnySpec: TypeAlias = ChildSpec[Any] | SupervisorSpec | DynamicSpec


def names_in(spec: AnySpec) -> Iterator[str]:
    """Give the names of a node and of everything below it."""
    yield spec.name
    if isinstance(spec, SupervisorSpec):
        for child in spec.children:
            yield from names_in(child)


def check_intensity(name: str, intensity: int, period: Seconds, backoff: Backoff) -> None:
    """Raise SpecError when the waits between restarts alone take longer than ``period``.

    Then a child that fails at once in each life would be restarted for ever, and nobody told.
    """
    if intensity < 0 or period <= 0:
        raise SpecError(f"supervisor {name}: intensity must be >= 0 and period > 0")
    waits = sum(backoff.longest(failures) for failures in range(1, intensity + 1))
    if waits > period:
        raise SpecError(
            f"supervisor {name}: {intensity} restarts take up to {waits:.1f} s of backoff and never "
            f"fall within its period of {period:.1f} s"
        )
