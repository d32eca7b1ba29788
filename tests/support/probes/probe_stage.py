"""Carries out probes turn by turn, on the test's clock and over real sockets."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from actors.probes.engine import ProbeEngine
from actors.probes.loop_messages import ForgetProbe, NoteRun, ProbeEdges, WatchProbe
from actors.probes.names import LookUp, look_up_lanes
from actors.probes.specs import ProbeHandler, ProbeSpec
from actors.probes.watched import (
    ExecIsDue,
    ProbeFact,
    ProbeMemory,
    ProbeNews,
    ProbeTarget,
    WatchedProbe,
)
from messages.pods import PodUid
from messages.probing import ProbeAnswer, ProbeKey, ProbeKind, ProbeOutcome, ProbeResult
from messages.units import Seconds
from tests.support.kernel.clock import EPOCH, ManualClock
from tests.support.patience import PATIENCE

LOOPBACK = "127.0.0.1"
USER_AGENT = "kube-probe/1.34"
UID = PodUid("11111111-2222-3333-4444-555555555555")
FIRST = "containerd://1"
SECOND = "containerd://2"
LONG = Seconds(3600.0)
"""Longer than the process of a test is young, so that nothing is spread."""


def key(kind: ProbeKind = ProbeKind.READINESS, container: str = "web") -> ProbeKey:
    """Return the key of a probe."""
    return ProbeKey(UID, container, kind)


def target(container_id: str = FIRST, ip: str = LOOPBACK, after: float = 0.0) -> ProbeTarget:
    """Return an instance of a container that started ``after`` seconds since the test began."""
    return ProbeTarget(container_id, ip, type(EPOCH)(EPOCH + after))


def spec(
    handler: ProbeHandler, kind: ProbeKind = ProbeKind.READINESS, **fields: float
) -> ProbeSpec:
    """Return a probe with a period of 10 s and a timeout of 1 s, unless ``fields`` say otherwise."""
    return ProbeSpec(kind=kind, handler=handler, **fields)  # type: ignore[arg-type]  # numbers all


@dataclass
class ProbeStage:
    """An engine, and what it tells."""

    look_up: LookUp | None = None
    clock: ManualClock = field(default_factory=ManualClock)
    memory: ProbeMemory = field(default_factory=ProbeMemory)
    told: list[ProbeFact] = field(default_factory=list)
    taken: dict[ProbeKey, ProbeAnswer | None] = field(default_factory=dict)
    """The last answer of each probe that the test has seen."""

    def __post_init__(self) -> None:
        # As if the process were old: nothing is spread then.
        self.memory.began = Seconds(-1e9)
        self.names = look_up_lanes("probe")
        self.engine = self.new_engine()

    def new_engine(self) -> ProbeEngine:
        """Return an engine that goes on with what is remembered."""
        edges = ProbeEdges(
            clock=self.clock,
            tell=self.take,
            user_agent=USER_AGENT,
            chance=random.Random(1),
            names=self.names,
            look_up=self.look_up,
        )
        return ProbeEngine(self.memory, edges)

    def take(self, facts: Sequence[ProbeFact]) -> None:
        """Take what the engine tells."""
        assert facts, "a turn without news tells nothing"
        self.told.extend(facts)

    def watch(
        self,
        wanted: ProbeSpec,
        of: ProbeTarget | None = None,
        initial: ProbeResult | None = None,
        container: str = "web",
    ) -> ProbeKey:
        """Have a probe carried out."""
        its_key = key(wanted.kind, container)
        self.engine.call(WatchProbe(its_key, wanted, of or target(), initial))
        self.engine.turn(0.0)
        return its_key

    def forget(self, its_key: ProbeKey) -> None:
        """Have a probe carried out no more."""
        self.engine.call(ForgetProbe(its_key))
        self.engine.turn(0.0)

    def note(self, due: ExecIsDue, outcome: ProbeOutcome) -> None:
        """Say how a command ended."""
        self.engine.call(NoteRun(due.key, due.run, outcome))
        self.engine.turn(0.0)

    def known(self, its_key: ProbeKey) -> WatchedProbe:
        """Return how a probe stands."""
        return self.memory.watched[its_key]

    def advance(self, seconds: float) -> None:
        """Let time pass, and take turns until nothing more is due."""
        self.clock.move(Seconds(self.clock.monotonic() + seconds))
        for _ in range(3):
            self.engine.turn(0.0)

    def until(self, condition: Callable[[], object]) -> None:
        """Take turns until ``condition`` holds. The test's clock stands still."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            self.engine.turn(0.05)

    def outcome(self, its_key: ProbeKey) -> ProbeOutcome:
        """Return the next answer of a probe that the test has not taken. It must have begun, or be due."""
        watched = self.known(its_key)
        before = self.taken.get(its_key)
        self.until(lambda: watched.answer is not before)
        assert watched.answer is not None
        self.taken[its_key] = watched.answer
        return watched.answer.last

    def outcome_after(self, its_key: ProbeKey, seconds: float) -> ProbeOutcome:
        """Let time pass, and return the next answer of a probe."""
        self.taken[its_key] = self.known(its_key).answer
        self.clock.move(Seconds(self.clock.monotonic() + seconds))
        return self.outcome(its_key)

    def outcome_of(self, wanted: ProbeSpec, of: ProbeTarget | None = None) -> ProbeOutcome:
        """Return the first answer of a probe."""
        return self.outcome(self.watch(wanted, of))

    def news(self) -> list[ProbeNews]:
        """Return the news that the test has not taken."""
        found = [each for each in self.told if isinstance(each, ProbeNews)]
        self.told[:] = [each for each in self.told if not isinstance(each, ProbeNews)]
        return found

    def runs_due(self) -> list[ExecIsDue]:
        """Return the commands that are due and that the test has not taken."""
        found = [each for each in self.told if isinstance(each, ExecIsDue)]
        self.told[:] = [each for each in self.told if not isinstance(each, ExecIsDue)]
        return found


@contextmanager
def probe_stage(look_up: LookUp | None = None) -> Iterator[ProbeStage]:
    """Open a stage, and close it whatever happens."""
    stage = ProbeStage(look_up)
    try:
        yield stage
    finally:
        stage.engine.close()
        stage.names.close()
