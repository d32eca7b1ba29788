"""How a life of an actor ended. Every ending is the same fact, ``Ended``, whatever caused it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from enum import StrEnum


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
