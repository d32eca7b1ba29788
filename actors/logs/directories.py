"""Directories of logs, and the files in them: opened step by step, and never through a link.

Whoever can write into a directory of logs (a pod that has ``/var/log`` of the node, say) may put a link there
at any moment. So nothing below the root is looked up by a path: each name is opened in its open directory,
and only plain files and directories are. The root itself is the administrator's, and may be a link.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from actors.logs.layout import LogFileStatus

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LogDirectory:
    """An open directory. Close it, or use it as the context that ``opened`` is."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def open(cls, root: Path, *names: str) -> LogDirectory:
        """Open the directory ``names`` below ``root``. Raises OSError: also where one of them is a link."""
        found = cls(os.open(root, _DIRECTORY))
        for name in names:
            try:
                inner = found.directory(name)
            finally:
                found.close()
            found = inner
        return found

    def directory(self, name: str) -> LogDirectory:
        """Open a directory in this one. Raises OSError."""
        return LogDirectory(
            os.open(_plain(name), _DIRECTORY | os.O_NOFOLLOW, dir_fd=self.descriptor)
        )

    def names(self) -> list[str]:
        """Return the names of all that is in it."""
        with os.scandir(self.descriptor) as entries:
            return [entry.name for entry in entries]

    def oldest_first(self) -> list[str]:
        """Return the same, in the order in which it was changed last."""
        with os.scandir(self.descriptor) as entries:
            found = {entry.name: entry.stat(follow_symlinks=False).st_mtime for entry in entries}
        return sorted(found, key=found.__getitem__)

    def is_directory(self, name: str) -> bool:
        """Return whether a directory of that name is in it: no link to one."""
        with suppress(OSError):
            return stat.S_ISDIR(self._status(name).st_mode)
        return False

    def has(self, name: str) -> bool:
        """Return whether there is anything of that name."""
        with suppress(OSError):
            self._status(name)
            return True
        return False

    def target_of(self, name: str) -> str | None:
        """Return what the link of that name leads to; None if there is no such link."""
        with suppress(OSError):
            return os.readlink(_plain(name), dir_fd=self.descriptor)
        return None

    def link(self, name: str, target: str) -> None:
        """Make a link. Raises OSError: FileExistsError if there is anything of that name."""
        os.symlink(target, _plain(name), dir_fd=self.descriptor)

    def file(self, name: str) -> LogFileStatus | None:
        """Return what is known of a plain file; None if there is none of that name."""
        with suppress(OSError):
            return _file_status(self._status(name))
        return None

    def open_file(self, name: str) -> int:
        """Return the descriptor of a plain file, opened for reading. Raises OSError."""
        descriptor = os.open(_plain(name), _FILE, dir_fd=self.descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a plain file", name)
        return descriptor

    def create_file(self, name: str, mode: int) -> int:
        """Return the descriptor of a new file, opened for writing. Raises OSError."""
        return os.open(_plain(name), _NEW_FILE, mode, dir_fd=self.descriptor)

    def rename(self, name: str, new: str) -> None:
        """Give a file another name, replacing what has that. Raises OSError."""
        here = self.descriptor
        os.rename(_plain(name), _plain(new), src_dir_fd=here, dst_dir_fd=here)

    def rename_to_free(self, name: str, new: str) -> None:
        """Give a file another name that nothing has. Raises OSError: FileExistsError if something has.

        If the process is killed amid it, the file has both names.
        """
        here = self.descriptor
        os.link(_plain(name), _plain(new), src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        os.unlink(name, dir_fd=here)

    def remove_file(self, name: str) -> None:
        """Remove a file or a link, not what it leads to. Raises OSError, but not if it is gone already."""
        with suppress(FileNotFoundError):
            os.unlink(_plain(name), dir_fd=self.descriptor)

    def remove_tree(self, name: str) -> None:
        """Remove a directory with all in it, or a link, not what it leads to. Raises OSError."""
        if self.is_directory(name):
            with suppress(FileNotFoundError):
                shutil.rmtree(_plain(name), dir_fd=self.descriptor)
        else:
            self.remove_file(name)

    def close(self) -> None:
        """Close it."""
        os.close(self.descriptor)

    def _status(self, name: str) -> os.stat_result:
        return os.stat(_plain(name), dir_fd=self.descriptor, follow_symlinks=False)


@contextmanager
def opened(root: Path, *names: str) -> Iterator[LogDirectory]:
    """Open a directory below ``root`` for the ``with`` block. Raises OSError."""
    directory = LogDirectory.open(root, *names)
    try:
        yield directory
    finally:
        directory.close()


def status_of(descriptor: int) -> LogFileStatus:
    """Return what is known of an open file."""
    status = os.fstat(descriptor)
    return LogFileStatus(
        status.st_size,
        (status.st_dev, status.st_ino),
        status.st_mtime,
        stat.S_IMODE(status.st_mode),
    )


def _file_status(status: os.stat_result) -> LogFileStatus | None:
    if not stat.S_ISREG(status.st_mode):
        return None
    return LogFileStatus(
        status.st_size,
        (status.st_dev, status.st_ino),
        status.st_mtime,
        stat.S_IMODE(status.st_mode),
    )


def _plain(name: str) -> str:
    """Return ``name`` if it is one name, and not a path. Raises OSError."""
    if not name or name in {".", ".."} or "/" in name or "\0" in name:
        raise OSError(errno.EINVAL, "not the name of a file", name)
    return name
