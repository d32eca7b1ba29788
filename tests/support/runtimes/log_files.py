"""A container that writes a log on disk as a runtime does, and what it wrote."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from actors.logs.directories import opened
from actors.logs.layout import LoggedPod, log_directory, log_name, log_path
from actors.logs.reading import LogQuery, LogReading
from actors.logs.records import LogStream, log_text
from messages.pods import PodUid
from messages.units import Timestamp

EPOCH = 1_800_000_000
"""When its first line is written: 2027-01-15T08:00:00Z. Each line is a second later."""
POD = LoggedPod("shop", "web", PodUid("0a1b"))


class WrittenLog:
    """The log of one container, and all lines that were written to it."""

    def __init__(
        self, root: Path, pod: LoggedPod = POD, container: str = "main", attempt: int = 0
    ) -> None:
        self.root, self.pod, self.container, self.attempt = root, pod, container, attempt
        self.path = log_directory(root, pod) / log_path(container, attempt)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.lines: list[tuple[LogStream, bytes]] = []
        """In the order of their ends."""
        self._written = 0
        self._rotations = 0
        self._opened = self.path.open("ab", buffering=0)
        self._before = self._opened

    def stamp(self) -> bytes:
        second = self._written
        self._written += 1
        hours, minutes = divmod(second // 60, 60)
        return b"2027-01-15T%02d:%02d:%02d.000000001Z" % (8 + hours, minutes, second % 60)

    def write(
        self,
        text: bytes = b"",
        *,
        stream: LogStream = LogStream.STDOUT,
        parts: int = 1,
        late: bool = False,
    ) -> bytes:
        """Write a line, in so many parts; ``late`` to the file before the last rotation."""
        text = text or b"line %d" % len(self.lines)
        size = len(text) // parts + 1
        pieces = [text[at : at + size] for at in range(0, parts * size, size)]
        file = self._before if late else self._opened
        for place, piece in enumerate(pieces, 1):
            tag = b"F" if place == parts else b"P"
            file.write(b"%s %s %s %s\n" % (self.stamp(), stream.value.encode(), tag, piece))
        self.lines.append((stream, text))
        return text

    def write_raw(self, data: bytes) -> None:
        self._opened.write(data)

    def rename(self) -> Path:
        """Rename the log, as the first step of a rotation."""
        self._rotations += 1
        rotated = self.path.with_name(f"{self.path.name}.20270115-{self._rotations:06d}")
        self.path.rename(rotated)
        os.utime(rotated, (moment(self._written), moment(self._written)))
        return rotated

    def reopen(self) -> None:
        """Write on in a new file of the log's name."""
        if self._before is not self._opened:
            self._before.close()
        self._before = self._opened
        self._opened = self.path.open("ab", buffering=0)

    def rotate(self) -> Path:
        rotated = self.rename()
        self.reopen()
        return rotated

    def rotated(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{self.path.name}.*"))

    def compress(self, path: Path) -> None:
        packed = path.with_name(path.name + ".gz")
        packed.write_bytes(gzip.compress(path.read_bytes(), 1))
        status = path.stat()
        os.utime(packed, ns=(status.st_atime_ns, status.st_mtime_ns))
        path.unlink()

    def close(self) -> None:
        self._opened.close()
        self._before.close()

    def texts(self, stream: LogStream | None = None) -> list[bytes]:
        return [text for each, text in self.lines if stream in (None, each)]


def shown(log: WrittenLog, *, with_times: bool = False, **query: object) -> bytes:
    """Return what somebody sees who reads a log to its present end."""
    with (
        opened(log.root, log.path.parents[1].name, log.container) as directory,
        closing(LogReading(directory, log_name(log.attempt), LogQuery(**query))) as reading,  # type: ignore[arg-type]
    ):
        return log_text(reading.everything(), with_times=with_times)


def as_lines(texts: Sequence[bytes]) -> bytes:
    return b"".join(text + b"\n" for text in texts)


def moment(second: int) -> Timestamp:
    """Return when the line of that number was written, or a little before."""
    return Timestamp(float(EPOCH + second))
