"""How a runtime of containers is and how it pulls and removes images, for health and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from messages.port import Port
from messages.units import Seconds, TimesCounted, Timestamp


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


PULL_BOUNDS: Final = (1, 5, 10, 20, 30, 60, 180, 360, 480, 600, 900, 1200, 1800, 2700, 3600)
"""Seconds, as a kubelet counts pulls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullTimes:
    """How long pulls took that succeeded."""

    buckets: tuple[int, ...]
    """How many took as long as each of ``PULL_BOUNDS`` at most and longer than the one before; the last
    ones took longer than all."""
    seconds: Seconds
    """All together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeImages:
    """Asks how images are pulled and removed. Answered by one ``ImagesDescribed``."""

    reply_to: Port[ImagesDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagesDescribed:
    """How images are pulled and removed. Counts are since the process began."""

    pulls: Mapping[str, PullTimes]
    """By the size of the image, in a kubelet's words: ``0-10MB``, ..."""
    failed_pulls: int
    pulls_under_way: int
    pulls_waiting: int
    removed: Mapping[str, int]
    """Images that were removed, by reason: ``age``, ``space``."""
    plugin_errors: Mapping[str, int]
    """By the name of a credential plugin: how often it gave nothing."""
