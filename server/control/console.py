"""What can be done with a container from outside. ``agent.console`` does it; here is what it has to keep."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from messages.pods import Pod
from messages.units import Seconds, Timestamp


class ConsoleError(Exception):
    """It cannot be done. The text is one sentence for whoever asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAsked:
    """Which log is asked for, and what of it."""

    pod: Pod
    container: str
    container_id: str
    attempt: int
    """Counts the instances of the container from 0."""
    tail: int | None = None
    """So many of the last lines; None for all."""
    since: Timestamp | None = None
    """Only lines from that moment on; None for all."""
    with_times: bool = False
    """Whether each line begins with its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnded:
    """How a command in a container ended."""

    exit_code: int
    output: str = field(repr=False)
    note: str = ""
    """What people should know of it, in one line; empty for nothing."""


StillRuns = Callable[[], Awaitable[bool]]
"""Returns whether the container whose log is followed still runs."""


class ContainerConsole(Protocol):
    """Reads logs of containers, and runs commands in them. Belongs to the server's asyncio loop."""

    def log(self, asked: LogAsked, still_runs: StillRuns | None) -> AsyncIterator[bytes]:
        """Yield the lines of a log, some at a time. Raises ``ConsoleError``.

        With ``still_runs`` it goes on with those that come, until that says no.
        """
        ...

    async def run(
        self, container_id: str, command: tuple[str, ...], within: Seconds
    ) -> CommandEnded:
        """Run a command, for ``within`` at the most. Raises ``ConsoleError``."""
        ...
