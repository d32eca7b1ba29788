"""What the loop of the probes is told, and what it needs of the world."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from actors.probes.connections import Connect, ProbeConnection
from actors.probes.names import LookUp, look_up_lanes
from actors.probes.news import ProbeFact
from actors.probes.specs import ProbeSpec
from actors.probes.watched import ProbeTarget
from kernel import Clock, Lanes
from messages.probing import ProbeKey, ProbeOutcome, ProbeResult
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
