"""How a life of an actor ended, and why work has no result.

Every ending of a life is the same fact, ``Ended``, whatever caused it.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class EndReason(StrEnum):
    """Why a life ended, as far as restart policies care."""

    NORMAL = "normal"
    """It stopped by itself."""
    SHUTDOWN = "shutdown"
    """Its supervisor stopped it."""
    FAILED = "failed"
    """It crashed, hung, or did not start or stop in time."""


class Hook(StrEnum):
    """Where in its code a life ended."""

    FACTORY = "factory"
    THREAD = "thread"
    STARTED = "started"
    RECEIVE = "receive"
    STOPPING = "stopping"
    RESOURCES = "resources"
    CHILDREN = "children"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A life of an actor or of a supervisor is over.

    Holds text instead of the exception, whose traceback would keep the dead actor, and all that it
    holds, in memory.
    """

    name: str
    incarnation: int
    reason: EndReason
    hook: Hook | None = None
    message: str = ""
    """Type of the message that was being handled. Never its content."""
    error: str = ""
    """The error on one line. Empty when nothing went wrong."""
    details: str = ""
    """The traceback, for the log."""
    abandoned: bool = False
    """Nobody waited for its end: its thread may still run its code, cut off."""


def one_line(error: BaseException) -> str:
    """Return the exception's type and text on one line of at most 300 characters."""
    text = " ".join("".join(traceback.format_exception_only(error)).split())
    return text if len(text) <= 300 else text[:299] + "…"


def with_traceback(error: BaseException) -> str:
    """Return the exception formatted with its traceback and causes."""
    return "".join(traceback.format_exception(error))


class StepError(Exception):
    """A step has no result. The text is for people."""


class LateError(StepError):
    """Nothing came of a step in its time. It may have had its effect, or have it still."""


class BusyError(StepError):
    """Work was not begun: earlier work about the same thing has not ended, and it was not to wait."""


class BugError(StepError):
    """Work failed with an error that nobody foresaw. Its text may show what nobody may see: it is dropped."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"failed with {kind}")
        self.kind = kind
        """The type of the error."""


class GivenUpError(Exception):
    """Raised in an operation that is given up, or whose time is over. It may clean up with further steps."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The outcome of a step, or the end of an operation, without a result.

    The error has no traceback: its frames would keep Secrets and dead actors in memory.
    """

    error: Exception = field(repr=False)
    where: str = ""
    """File and line, for the log: ``mounts.py:12``. Empty if it was not raised."""


def failure_of(error: Exception) -> Failure:
    """Return a failure over ``error``, which loses its traceback."""
    where = where_of(error)
    error.__cause__ = error.__context__ = None
    return Failure(error.with_traceback(None), where)


def where_of(error: BaseException) -> str:
    """Return the file and line where ``error`` was raised; empty if it was not."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
