"""What ProbeLoopOwner and its loop hear, whom they tell, what they work with, and what outlives them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from actors.probes.command_turns import CommandTurns
from actors.probes.connections import Connect, ProbeConnection
from actors.probes.names import LookUp, look_up_lanes
from actors.probes.specs import ProbeSpec
from actors.probes.watched import ProbeFact, ProbeMemory
from actors.probes.watching import ProbesBegan, ProbesToRun, ProbeTarget, RunProbe
from kernel import Clock, Key, Lanes, Port
from messages.container_runtime import ContainerAnswered, ContainerRuntimeMessage
from messages.events import PostEvent
from messages.probing import AnswersCounted, ProbeKey, ProbeOutcome, ProbeResult
from messages.units import Seconds


class WatchProbe(NamedTuple):
    """Carry a probe out, from now on."""

    key: ProbeKey
    spec: ProbeSpec
    target: ProbeTarget
    initial: ProbeResult | None


class ForgetProbe(NamedTuple):
    """Carry a probe out no more."""

    key: ProbeKey


class NoteRun(NamedTuple):
    """How a command ended."""

    key: ProbeKey
    run: int
    outcome: ProbeOutcome
    took: Seconds | None = None
    """How long it ran; None for as long as since it was due."""


ProbeCommand: TypeAlias = WatchProbe | ForgetProbe | NoteRun


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeEdges:
    """What the engine needs of the world. Tests replace it."""

    clock: Clock
    tell: Callable[[Sequence[ProbeFact]], None]
    """Called with all that is new, at most once a turn. It must only enqueue."""
    user_agent: str
    """As a kubelet has it: ``kube-probe/1.34``. Servers of pods look at it."""
    chance: random.Random = field(default_factory=random.Random)
    """Spreads load."""
    names: Lanes[str] = field(default_factory=lambda: look_up_lanes("probe"))
    """Where host names are looked up."""
    look_up: LookUp | None = None
    """Finds the addresses of a host name; None for the machine's way."""
    connect: Connect = ProbeConnection
    """Makes the connections to targets."""


class LoopFailedError(Exception):
    """The loop of the probes has a bug."""


class Loop(Protocol):
    """What carries out probes on a thread of its own, from when it is made. ``close`` alone waits."""

    def watch(
        self,
        key: ProbeKey,
        spec: ProbeSpec,
        target: ProbeTarget,
        initial: ProbeResult | None = None,
    ) -> None:
        """Carry this probe out from now on."""
        ...

    def forget(self, key: ProbeKey) -> None:
        """Do not carry it out any more."""
        ...

    def note(
        self, key: ProbeKey, run: int, outcome: ProbeOutcome, took: Seconds | None = None
    ) -> None:
        """Take in how a command ended, and how long it ran."""
        ...

    def close(self) -> None:
        """End."""
        ...


class MakeLoop(Protocol):
    """Makes a loop that goes on with what is in ``memory``. It calls both functions on its own thread."""

    def __call__(
        self,
        memory: ProbeMemory,
        tell: Callable[[Sequence[ProbeFact]], None],
        ended: Callable[[BaseException], None],
        clock: Clock,
    ) -> Loop:
        """Return the loop, which runs."""
        ...


class CommandRef(NamedTuple):
    """Which command an answer is about."""

    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTold:
    """What the loop tells."""

    facts: tuple[ProbeFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEnded:
    """The loop has failed: there is a bug in it."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOverdue:
    """Timer: nobody has answered how a command ended."""

    run: int


ProbeLoopMessage: TypeAlias = (
    ProbesToRun | ContainerAnswered | LoopTold | LoopEnded | CommandOverdue
)

PROBE_LOOP = Key[ProbeLoopMessage]("probe-loop")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLoopPorts:
    """Whom it talks to."""

    containers: Port[ContainerRuntimeMessage] | None
    """Who runs commands in containers; None where nobody does."""
    me: Port[ProbeLoopMessage]
    """Its own address, which outlives a crash: where answers go."""
    events: Port[PostEvent] | None = None
    """Who posts events; None if the agent belongs to no cluster."""
    node_name: str = ""


@dataclass(slots=True)
class ProbeLoopMemory:
    """What outlives a life of ProbeLoopOwner. One life at a time uses it."""

    turns: CommandTurns
    loop: ProbeMemory = field(default_factory=ProbeMemory)
    wishes: dict[ProbeKey, RunProbe] = field(default_factory=dict)
    rested: dict[ProbeKey, AnswersCounted] = field(default_factory=dict)
    """What was counted of probes before they rested. Counts only grow as long as there is the probe."""
    followers: dict[Port[ProbesBegan], None] = field(default_factory=dict)
