"""The file with what is remembered of pulls. All of it may block: it belongs on a thread of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import structlog

from runtimes.cri.images.pull_records import PullRecords

LARGEST: Final = 64 << 20
"""Bytes of the file. This agent cannot have written a longer one."""
ASIDE: Final = ".unusable"
NEW: Final = ".new"

_log = structlog.get_logger("images")


def read_records(path: Path) -> PullRecords | None:
    """Return what the process before remembered; None if there is nothing, or nothing that can be read."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("records of pulls cannot be read", file=str(path), reason=error.strerror)
        return None
    records = PullRecords.decoded(data)
    if records is None:
        aside = path.with_name(path.name + ASIDE)
        path.replace(aside)
        _log.warning("records of pulls are set aside", file=str(aside))
    return records


def write_records(path: Path, data: bytes) -> None:
    """Replace the file by one with ``data``. Raises ``OSError``; then it is as it was."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(path.name + NEW)
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    new.replace(path)
