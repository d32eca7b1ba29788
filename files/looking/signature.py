"""What tells one state of a file from the next without reading it, and who may read it."""

from __future__ import annotations

import os
import stat
from typing import Final, NamedTuple

from messages.units import Seconds, Timestamp

TIMESTAMP_GRANULE: Final = Seconds(2.0)
"""Two writes this close may leave one and the same modification time: 2 s on FAT, 1 s on old NFS,
4 ms on the rest."""


class Signature(NamedTuple):
    """What tells one state of a file from the next without reading it; of a link's *target*.

    The inode alone does not: a file system gives the number of a deleted file to the next one.
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

    @property
    def modified(self) -> Timestamp:
        """When the content was last written, as the file system (or its server) believes."""
        return Timestamp(self.modified_ns / 1e9)

    @property
    def is_open_to_others(self) -> bool:
        """Whether users may read or write it who neither own it nor are in its group."""
        return bool(self.mode & stat.S_IRWXO)

    def is_final(self, seen: Timestamp) -> bool:
        """Whether any write after ``seen`` is sure to change this signature.

        Not when the last change was so short before ``seen`` that another may carry the same time.
        """
        return max(self.modified_ns, self.changed_ns) / 1e9 <= seen - TIMESTAMP_GRANULE
