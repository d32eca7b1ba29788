"""The file with what hollow containers need in the next process: a line for each change of a pod.

A line says everything of its pod, and the last line of a pod counts. When most lines do not count any more,
those that do are written into a new file, which replaces the old one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import structlog

from files.record_keeper import RecordKeeperMessage, RecordsAre, record_key
from files.records import UNUSABLE, Trouble, read_file, replaced, set_aside
from messages.pods import PodUid
from runtimes.hollow.saved import SavedPod, decoded, encoded

HEADER: Final = b'{"records":"actorlet hollow containers","version":1}\n'
_READ_LIMIT: Final = 512 * 2**20
_WORTH_REPLACING: Final = 2**20
"""Bytes of lines that do not count."""

HollowRecordsMessage: TypeAlias = RecordKeeperMessage[PodUid, SavedPod]
HollowRecordsAre: TypeAlias = RecordsAre[PodUid, SavedPod]

HOLLOW_RECORDS: Final = record_key("runtime/records")

_log = structlog.get_logger("runtime")


class HollowRecordFile:
    """One such file. Blocks; owned by one actor at a time.

    A file of each pod would take an fsync and a rename for each change of ten thousand pods.
    """

    def __init__(self, path: Path) -> None:
        self.trouble = Trouble("records of hollow containers", path)
        self._path = path
        self._descriptor: int | None = None
        self._size = 0
        """Where the next line begins. What is behind it was written in vain."""
        self._places: dict[PodUid, tuple[int, int]] = {}
        """Where the line of each pod is that counts, and how long it is."""
        self._live = 0

    def read(self) -> Mapping[PodUid, SavedPod]:
        """Return what the process before has saved. A file that cannot be read is set aside."""
        try:
            return self._read()
        except OSError as error:
            self.trouble.note(f"cannot be read: {error.strerror}")
            return {}

    def _read(self) -> Mapping[PodUid, SavedPod]:
        self.close()
        self._places, self._live, self._size = {}, 0, 0
        try:
            data = read_file(self._path, _READ_LIMIT)
        except FileNotFoundError:
            return {}
        if data.startswith(HEADER) and len(data) <= _READ_LIMIT:
            return self._pods_in(data)
        if data:
            aside = str(set_aside(self._path))
            _log.warning("records of hollow containers are set aside", file=aside)
        return {}

    def write(self, records: Mapping[PodUid, SavedPod | None]) -> Mapping[PodUid, OSError]:
        """Save pods. Raises ``OSError``: then nothing was saved, and it may be tried again."""
        descriptor = self._opened()
        pods = [pod or SavedPod(uid=uid) for uid, pod in records.items()]
        lines = [(pod, encoded(pod) + b"\n") for pod in pods]
        written = b"".join(line for _, line in lines)
        try:
            _write_all(descriptor, written, self._size)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, self._size)
            raise
        for pod, line in lines:
            self._note(pod, len(line))
        if self._size > 2 * self._live + _WORTH_REPLACING:
            self._replace()
        return {}

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _pods_in(self, data: bytes) -> Mapping[PodUid, SavedPod]:
        found: dict[PodUid, SavedPod] = {}
        unusable = 0
        self._size = len(HEADER)
        lines = data[len(HEADER) :].split(b"\n")
        torn = lines.pop()  # a line without its end was not written to its end
        for line in lines:
            try:
                pod = decoded(line)
            except ValueError:
                unusable += 1
                self._size += len(line) + 1
                continue
            self._note(pod, len(line) + 1)
            found[pod.uid] = pod
            if not pod.sandboxes:
                del found[pod.uid]
        if unusable:
            self._keep_copy(data, unusable)
        elif torn:
            _log.info("the last record of a hollow pod was not written to its end")
        return found

    def _note(self, pod: SavedPod, length: int) -> None:
        """Note the next line of the file. That of a pod that is gone does not count."""
        _, before = self._places.pop(pod.uid, (0, 0))
        self._live -= before
        if pod.sandboxes:
            self._places[pod.uid] = (self._size, length)
            self._live += length
        self._size += length

    def _opened(self) -> int:
        if self._descriptor is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                os.ftruncate(descriptor, self._size)
                if not self._size:
                    _write_all(descriptor, HEADER, 0)
            except OSError:
                os.close(descriptor)
                raise
            self._descriptor, self._size = descriptor, self._size or len(HEADER)
        return self._descriptor

    def _replace(self) -> None:
        """Write what counts into a new file, and take that."""
        descriptor, size = self._opened(), len(HEADER)
        places: dict[PodUid, tuple[int, int]] = {}
        with replaced(self._path) as file:
            file.write(HEADER)
            for uid, (at, length) in self._places.items():
                file.write(os.pread(descriptor, length, at))
                places[uid], size = (size, length), size + length
        self.close()
        self._places, self._live, self._size = places, size - len(HEADER), size

    def _keep_copy(self, data: bytes, unusable: int) -> None:
        aside = self._path.with_suffix(UNUSABLE)
        with suppress(OSError):
            aside.write_bytes(data)
            aside.chmod(0o600)
        _log.warning("records of hollow pods cannot be read", file=str(aside), records=unusable)


def _write_all(descriptor: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, at)
        view, at = view[written:], at + written
