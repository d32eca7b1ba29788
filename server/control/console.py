"""What can be done with a container from outside. ``agent.console`` does it; here is what it has to keep."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

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
    is_of_pod_before: bool = False
    """Whether the last instance is asked for of the pod that had this name before, whatever ``attempt``."""
    with_times: bool = False
    """Whether each line begins with its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnded:
    """How a command in a container ended."""

    exit_code: int
    output: str = field(repr=False)
    note: str = ""
    """What people should know of it, in one line; empty for nothing."""


_NO_SUCH_PROGRAM: Final = re.compile(
    r"executable file .*not found|no such file or directory", re.IGNORECASE
)
_NO_PROGRAM: Final = re.compile(
    r"permission denied|is a directory|exec format error", re.IGNORECASE
)
_OF_THE_COMMAND: Final = re.compile(
    r".*(?:unable to start container process|starting container process caused|crun): "
    r"(?=exec\b|executable|open executable)",
    re.DOTALL,
)
"""What runc and crun say before a cause that is the command: they came to start it."""


def not_started(said: str) -> CommandEnded | None:
    """Return how a command ended that could not be started, with the exit code that shells have for it.

    ``said`` is what the runtime says. None if it says something else: the runtime may lack a file itself.
    """
    before = _OF_THE_COMMAND.match(said)
    if before is None:
        return None
    cause = said[before.end() :].removesuffix(": unknown").removeprefix("exec: ")
    for pattern, code in ((_NO_SUCH_PROGRAM, 127), (_NO_PROGRAM, 126)):
        if pattern.search(cause):
            return CommandEnded(exit_code=code, output="", note=f"cannot be started: {cause}")
    return None


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
