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


EXIT_CODES: Final = {
    OK: "There is an answer. With status, the agent is ready and healthy, whatever its pods and manifests "
    "are; with status --strict, these are well, too. With validate, each manifest would be served; with "
    "explain-node, the agent would start.",
    NOT_WELL: "There is an answer, and it is not well: the agent is not ready or not healthy; with status "
    "--strict, a pod is not ready, a manifest is not served as it is, or a source cannot be read. A manifest "
    "would not be served, the agent would not start, or a container has no log or does not run.",
    WRONG_USAGE: "Wrong usage.",
    NothingFoundError.exit_code: "There is nothing by that name, or more than one thing; a file of "
    "explain-node cannot be read.",
    UnreachableError.exit_code: "The agent cannot be asked: it is away, silent for 2 s, or stops in the "
    "middle. events -f ends so when the agent does.",
    StrangeAnswerError.exit_code: "What answers is of another version, or no agent.",
    OWN_FAULT: "The command itself is at fault, or cannot write; or its Python is too old, or lacks its "
    "packages.",
    INTERRUPTED: "Interrupted by Ctrl-C.",
}
"""What each exit code means. ``run`` has those of the agent, ``exec`` that of its command."""
