"""Reading why a container ended: bounded, for files of any kind and size.

The termination message is the end of its file. Where that is empty, it may be the end of the log instead.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from actors.logs.records import LogPart, part_of
from runtimes.cri.disk.pod_files import LastWords

LONGEST_MESSAGE: Final = 4096
"""Bytes of a termination message."""
MOST_LINES: Final = 80
LONGEST_TEXT: Final = 2048
"""Bytes of a log that count as the message."""
_END: Final = 128 * 1024
"""Bytes of a log that are looked at: more than so much text takes, with the time before each part of it."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_last_words(words: LastWords) -> str:
    """Return what a container left as its message; empty if it left none, or it cannot be read."""
    written = _end(words.file)
    if not written and words.log:
        written = _text(_end_of_log(words))
    return written.decode(errors="replace")


def _end(path: str) -> bytes:
    if not path:
        return b""
    try:
        return _last(os.open(path, _READ), LONGEST_MESSAGE)
    except OSError:
        return b""


def _end_of_log(words: LastWords) -> bytes:
    """Return the end of the log, without what is left of a line at its beginning."""
    try:
        opened = os.open(words.logs_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in words.log[:-1]:
            opened = _below(opened, name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        end = _last(_below(opened, words.log[-1], _READ), _END + 1)
    except OSError:
        return b""
    return end if len(end) <= _END else end.partition(b"\n")[2]


def _below(directory: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=directory)
    finally:
        os.close(directory)


def _last(opened: int, count: int) -> bytes:
    """Return at most ``count`` bytes of the end of a file, and close it. Anything but a file has none."""
    try:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode):
            return b""
        return os.pread(opened, count, max(0, about.st_size - count))
    finally:
        os.close(opened)


def _text(log: bytes) -> bytes:
    parts = [part for part in map(part_of, log.split(b"\n")) if part is not None]
    text = b"".join(part.text + b"\n" * part.is_last for part in _last_lines(parts))
    return text[-LONGEST_TEXT:]


def _last_lines(parts: list[LogPart]) -> list[LogPart]:
    """Return the parts of the last lines. A last line without an end counts, too."""
    ends = [place for place, part in enumerate(parts) if part.is_last]
    is_open = bool(parts) and not parts[-1].is_last
    wanted = MOST_LINES - is_open
    return parts[ends[-wanted - 1] + 1 :] if len(ends) > wanted else parts
