"""What is asked of a container that runs, and the answers. No question changes anything.

Carried by ``AskContainer`` and ``ContainerAnswered``, which are told at the seam below pods.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from messages.units import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecInContainer:
    """Run a command in a running container. Answered by its ``ExecEnded``."""

    id: str
    command: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContainerLog:
    """Asks for the log of a container. Answered by its ``ContainerLog``."""

    id: str
    since: Timestamp | None = None
    """Lines from that moment on; None for all."""
    tail: int | None = None
    """So many of the last lines; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContainerStats:
    """Asks what a running container uses. Answered by its ``ContainerStats``."""

    id: str


ContainerQuestion: TypeAlias = ExecInContainer | ReadContainerLog | ReadContainerStats


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecEnded:
    """How a command in a container ended."""

    exit_code: int
    output: str = field(default="", repr=False)
    """What it wrote to its standard output."""
    note: str = ""
    """What people should know of it, beside that: one line, or empty."""


class LogLine(NamedTuple):
    """One line of a log."""

    at: Timestamp
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLog:
    """The log of one container, the oldest line first."""

    lines: tuple[LogLine, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerStats:
    """What one container uses."""

    id: str
    at: Timestamp
    cpu_nanocores: int
    """Now: 10^9 are one core."""
    cpu_nanoseconds: int
    """Since it started. Never falls."""
    memory_bytes: int
    """Its working set."""


ContainerAnswer: TypeAlias = ExecEnded | ContainerLog | ContainerStats
