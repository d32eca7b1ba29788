"""How a runtime of containers is, beyond its pods: for health and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from messages.port import Port
from messages.statuses import TimesCounted
from messages.units import Seconds, Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeContainerRuntime:
    """Asks how the runtime of containers is. Answered by one ``ContainerRuntimeDescribed``."""

    reply_to: Port[ContainerRuntimeDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlegDescribed:
    """How it is seen what changes in the runtime. Counts are since the process began."""

    last_seen: Timestamp | None
    """When the last look at everything began that succeeded; None before the first one."""
    silence: Seconds
    """How long that is ago. Before the first look: how long the process runs."""
    relists: TimesCounted
    """How long looks at everything took."""
    intervals: TimesCounted
    """From the beginning of one look at everything to that of the next one."""
    streams: int
    """Streams of events that stood."""
    stream_errors: int
    """Streams of events that could not be opened, or broke."""
    latencies: TimesCounted
    """From when a container changed until its event came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDescribed:
    """What became of the calls of one kind."""

    errors: int
    times: TimesCounted


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRuntimeDescribed:
    """How the runtime of containers is."""

    name: str
    version: str
    endpoint: str
    """Where it is reached."""
    trouble: str
    """Why it cannot be used at present, for people; empty if it can."""
    network_trouble: str
    """Why no pod can have a network of its own at present; empty if it can."""
    pleg: PlegDescribed
    operations: Mapping[str, OperationDescribed]
    """By a kubelet's names: ``run_podsandbox``, ``create_container``, ..."""
    cgroups: Mapping[str, TimesCounted] = field(default_factory=dict)
    """How long work on cgroups took: ``create``, ``update``, ``destroy``."""
