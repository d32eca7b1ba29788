"""Why a command has no answer: one sentence for people, and an exit code for scripts."""

from __future__ import annotations

from typing import ClassVar, Final

OK: Final = 0
NOT_WELL: Final = 1
"""There is an answer, and what was asked about is not well."""
WRONG_USAGE: Final = 2
INTERRUPTED: Final = 130
"""By Ctrl-C, as shells have it."""
OWN_FAULT: Final = 70
"""The command itself is at fault. ``sysexits.h`` has this number."""


class NoAnswerError(Exception):
    """A command has no answer. The text is one sentence without a full stop."""

    exit_code: ClassVar[int] = NOT_WELL


class WrongUsageError(NoAnswerError):
    """The command line is wrong."""

    exit_code: ClassVar[int] = WRONG_USAGE


class NothingFoundError(NoAnswerError):
    """There is nothing by that name, or more than one thing."""

    exit_code: ClassVar[int] = 3


class UnreachableError(NoAnswerError):
    """The agent cannot be asked: it is away, too slow, or stops in the middle."""

    exit_code: ClassVar[int] = 4


class StrangeAnswerError(NoAnswerError):
    """The agent answered, and not what this command can use: another version, or no agent at all."""

    exit_code: ClassVar[int] = 5


def no_rows(name: str, path: str) -> StrangeAnswerError:
    """Return that the answer to ``path`` has no list called ``name``, or one of something else."""
    return StrangeAnswerError(
        f"the answer to {path} has no list of {name}: the agent is of another version, or none"
    )
