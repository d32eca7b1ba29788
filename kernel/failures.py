"""What is told of work that has no result."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from pathlib import Path


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
