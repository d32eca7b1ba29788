"""What to do about a log that is too long: a kubelet's steps. Pure.

First what a killed process left is removed. Then the oldest files go, plain ones are compressed, and last the
log gets the name of a rotated one. The container's runtime still writes into it until it is told to open the
log anew. So the file that was renamed last is never compressed, but in the next rotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from actors.logs.layout import GZIP, TEMPORARY, LogFileStatus, rotated_names

_FORM: Final = "%Y%m%d-%H%M%S"


@dataclass(frozen=True, slots=True)
class RemoveLogFile:
    """Remove a file that is not needed any more."""

    name: str


@dataclass(frozen=True, slots=True)
class CompressLogFile:
    """Write a file's compressed form beside it, and remove it then."""

    name: str


@dataclass(frozen=True, slots=True)
class MoveLog:
    """Give the log another name. Its runtime is to open it anew at once."""

    name: str
    new: str


RotationStep: TypeAlias = RemoveLogFile | CompressLogFile | MoveLog


def tidying_steps(name: str, files: Mapping[str, LogFileStatus]) -> tuple[RemoveLogFile, ...]:
    """Return what to remove of what a killed process left beside the log ``name``."""
    live = files.get(name)
    return tuple(
        RemoveLogFile(each)
        for each in sorted(files)
        if each.startswith(f"{name}.") and _is_left_over(each, files, live)
    )


def rotation_steps(
    name: str, files: Mapping[str, LogFileStatus], max_files: int, now: datetime
) -> tuple[RotationStep, ...]:
    """Return how to rotate the log ``name``. ``now`` is local time, as in the names of a kubelet's files."""
    tidied = tidying_steps(name, files)
    gone = {step.name for step in tidied}
    rotated = rotated_names(name, (each for each in files if each not in gone))
    # One more is made now, and one is the log itself.
    excess = max(0, len(rotated) - max(0, max_files - 2))
    return (
        *tidied,
        *map(RemoveLogFile, rotated[:excess]),
        *(CompressLogFile(each) for each in rotated[excess:] if not each.endswith(GZIP)),
        MoveLog(name, rotated_name(name, rotated, now)),
    )


def rotated_name(name: str, rotated: list[str], now: datetime) -> str:
    """Return the name that the log is rotated to: later than all others, whatever the clock says."""
    new = f"{name}.{now.strftime(_FORM)}"
    newest = rotated[-1].removesuffix(GZIP) if rotated else ""
    if new > newest:
        return new
    try:
        last = datetime.strptime(newest.removeprefix(f"{name}."), _FORM)  # noqa: DTZ007 - local, as ``now``
    except ValueError:
        return f"{newest}0"
    return f"{name}.{(last + timedelta(seconds=1)).strftime(_FORM)}"


def _is_left_over(
    each: str, files: Mapping[str, LogFileStatus], live: LogFileStatus | None
) -> bool:
    if each.endswith(TEMPORARY):
        return True
    is_live = live is not None and files[each].identity == live.identity
    return is_live or f"{each}{GZIP}" in files
