"""Directories in which volumes are: made and opened name by name, and never anything outside of them.

Containers can write into their volumes, and can replace a directory by a link between any two system calls.
So no name is looked up by a path and used later: what is open stays what it is.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from actors.volumes.mounts.system_calls import Resolve, has_openat2, openat2

MOST_TRIES: Final = 1000
"""How often an opening is tried while names are being swapped. Against 170,000 swaps a second the worst took
175. A name that leads out of the directory for good takes some 5 ms until that is sure."""
DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_INSIDE: Final = Resolve.BENEATH | Resolve.NO_MAGICLINKS
_PLAIN: Final = _INSIDE | Resolve.NO_SYMLINKS | Resolve.NO_XDEV


def open_inside(directory: int, path: str) -> int:
    """Return a descriptor, only to name it by, of ``path`` below ``directory``. Raises ``OSError``.

    Links are followed as long as they stay inside. Without ``openat2`` no link is followed at all.
    """
    if not has_openat2():
        return walk_inside(directory, parts_of(path))
    return _opened(directory, path or ".", os.O_PATH, _INSIDE)


def open_plain(directory: int, path: str, flags: int = os.O_PATH) -> int:
    """Open ``path`` below ``directory``, through no link and into no other mount. Raises ``OSError``.

    A link at the end is an error, too, unless ``flags`` have ``O_NOFOLLOW`` and ``O_PATH``.
    Without ``openat2`` a mount counts as another one if it has another file system.
    """
    if has_openat2():
        return _opened(directory, path or ".", flags, _PLAIN)
    opened = walk_inside(directory, parts_of(path), flags)
    if os.fstat(opened).st_dev != os.fstat(directory).st_dev:
        os.close(opened)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return opened


def walk_inside(directory: int, parts: Sequence[str], flags: int = os.O_PATH) -> int:
    """Open one name after the other, without following any link. Raises ``OSError``."""
    opened = os.open(".", DIRECTORY if parts else flags | os.O_CLOEXEC, dir_fd=directory)
    for number, part in enumerate(parts, 1):
        is_last = number == len(parts)
        try:
            below = os.open(
                part,
                (flags if is_last else os.O_PATH | os.O_DIRECTORY) | os.O_NOFOLLOW | os.O_CLOEXEC,
                dir_fd=opened,
            )
        finally:
            os.close(opened)
        opened = below
    if not flags & os.O_NOFOLLOW and stat.S_ISLNK(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), "/".join(parts))
    return opened


def make_inside(directory: int, path: str, mode: int) -> int:
    """Open ``path`` as ``open_inside`` does, and make it as directories where it is missing.

    Each new directory has exactly ``mode``, whatever the process's mask is.
    """
    with suppress(FileNotFoundError):
        return open_inside(directory, path)
    parts = parts_of(path)
    opened = os.open(".", DIRECTORY, dir_fd=directory)
    for number in range(1, len(parts) + 1):
        try:
            below = _one_inside(directory, opened, parts[:number], mode)
        finally:
            os.close(opened)
        opened = below
    return opened


def parts_of(path: str) -> tuple[str, ...]:
    """Return the names of a path that stays inside. Raises ``OSError`` for any other."""
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise OSError(errno.EXDEV, "leads out of the volume", path)
    return parts


def _one_inside(directory: int, parent: int, parts: Sequence[str], mode: int) -> int:
    """Open what the last of ``parts`` names, and make it in its parent if there is nothing of that name."""
    try:
        return open_inside(directory, "/".join(parts))
    except FileNotFoundError:
        # Something of that name that leads nowhere is an error in the next opening.
        with suppress(FileExistsError):
            os.mkdir(parts[-1], mode, dir_fd=parent)
            made = os.open(parts[-1], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
            try:
                os.fchmod(made, mode)
            finally:
                os.close(made)
    return open_inside(directory, "/".join(parts))


def _opened(directory: int, path: str, flags: int, resolve: Resolve) -> int:
    """Open, and try again while names are being swapped: nobody can say then where they lead."""
    for _ in range(MOST_TRIES):
        try:
            return openat2(directory, path, flags, resolve)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                continue
            if error.errno == errno.EXDEV and not resolve & Resolve.NO_XDEV:
                continue
            raise
    raise OSError(errno.EXDEV, "leads out of the volume", path)


PARENT_MODE: Final = 0o750
PRIVATE_MODE: Final = 0o700
"""Of the directory right above what nobody else on the node may read."""
LEAVING: Final = ".removing-"
"""How directories begin that are being removed. A pod of the same UID has a new one meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumePlace:
    """Where something is mounted, or made."""

    root: str
    """The administrator's directory. Links are followed up to it, and not below it."""
    names: tuple[str, ...]
    """The names that lead from there to the place. At least one."""

    @property
    def path(self) -> str:
        """Return it as one path."""
        return "/".join((self.root, *self.names))


@contextmanager
def opened_parent(
    place: VolumePlace, *, parent_mode: int = PARENT_MODE, is_made: bool = True
) -> Iterator[int]:
    """Open the directory above the place, which is made where it is missing. Raises ``OSError``.

    ``parent_mode`` is that directory's. What is above it gets the mode of a kubelet's directories.
    """
    if is_made:
        Path(place.root).mkdir(PARENT_MODE, parents=True, exist_ok=True)
    opened = os.open(place.root, DIRECTORY)
    try:
        for number, name in enumerate(place.names[:-1], 2):
            mode = parent_mode if number == len(place.names) else PARENT_MODE
            if is_made:
                with suppress(FileExistsError):
                    os.mkdir(name, mode, dir_fd=opened)
            below = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = below
        yield opened
    except OSError as error:
        # The name alone, or the number of a descriptor, would not say where it is.
        raise OSError(error.errno, error.strerror, place.path) from None
    finally:
        os.close(opened)


def handle(descriptor: int) -> str:
    """Return a path of what is open, for calls that take only paths. It stays that, whatever is renamed."""
    return f"/proc/self/fd/{descriptor}"
