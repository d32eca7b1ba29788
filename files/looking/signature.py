"""Signatures of files: what differs between two states of a file without reading it, and who may read it."""

from __future__ import annotations

import os
import stat
from typing import Final, NamedTuple

from messages.units import Seconds, Timestamp

TIMESTAMP_GRANULE: Final = Seconds(2.0)
"""Two writes this close may leave the same modification time: 2 s on FAT, 1 s on old NFS, 4 ms elsewhere."""


class Signature(NamedTuple):
    """What differs between two states of a file. For a link it is that of its *target*.

    The inode alone is not enough: a file system gives the number of a deleted file to the next one.
    """

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    mode: int = 0
    """Type and permissions."""

    @classmethod
    def of(cls, status: os.stat_result) -> Signature:
        """Return the signature in ``status``."""
        return cls(
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_mode,
        )

    def is_of(self, status: os.stat_result) -> bool:
        """Return whether this is the signature in ``status``; takes half the time of making that."""
        return (
            self.modified_ns == status.st_mtime_ns
            and self.changed_ns == status.st_ctime_ns
            and self.inode == status.st_ino
            and self.size == status.st_size
            and self.mode == status.st_mode
            and self.device == status.st_dev
        )

    @property
    def modified(self) -> Timestamp:
        """When the content was last written, as the file system (or its server) believes."""
        return Timestamp(self.modified_ns / 1e9)

    @property
    def is_open_to_others(self) -> bool:
        """Whether users who neither own the file nor are in its group may read or write it."""
        return bool(self.mode & stat.S_IRWXO)

    def is_final(self, seen: Timestamp) -> bool:
        """Return whether any write after ``seen`` is sure to change this signature.

        It is not if the last change was so close to ``seen`` that another one may have the same time.
        """
        return max(self.modified_ns, self.changed_ns) / 1e9 <= seen - TIMESTAMP_GRANULE
