"""Which directories to watch for a path, to be told when what it holds may have changed.

inotify reports some changes elsewhere than at the path: that of a link's target in the target's directory,
the replacement of a single file in its parent, and the birth of a missing directory in the nearest ancestor
that exists (rules F17, F18, K6). All of these directories are watched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from files.looking.directory import is_ignored

MAX_LINKS: Final = 40
"""As many links as Linux follows in one path before it answers ELOOP."""


class DirectoryId(NamedTuple):
    """Which directory stands at a path: another one at the same path has another id."""

    device: int
    inode: int


def watched_directories(path: Path) -> Mapping[Path, DirectoryId]:
    """Return the directories to watch for ``path``, without their sub-directories. Never raises.

    Watch anew when this differs from the mapping of before: a watch is bound to the directory, not to its
    name, and another directory may have come to the same path.
    """
    wanted = {*_trail(path.absolute())}
    try:
        with os.scandir(path) as items:
            links = [item.name for item in items if item.is_symlink() and not is_ignored(item.name)]
    except OSError:
        links = []  # a single file, or nothing that can be listed
    for name in links:
        wanted |= {*_trail(path.absolute() / name)}
    return {directory: identity for directory in wanted if (identity := _identity(directory))}


def _trail(path: Path) -> Iterator[Path]:
    """Yield the directories whose entries decide where ``path`` leads to.

    These are the directory of every link on the way, and the directory where the way ends: the one at
    ``path``, the parent of a file, or the last one that exists.
    """
    parts = [*reversed(path.parts)]
    here = Path(parts.pop())
    links = 0
    while parts:
        part = parts.pop()
        if part == "..":
            here = here.parent
            continue
        target = _link_target(here / part)
        if target is not None and links < MAX_LINKS:
            links += 1
            yield here
            parts += [*reversed(target.parts)]
        elif (here / part).is_dir():
            here /= part
        else:
            break
    yield here


def _link_target(path: Path) -> Path | None:
    try:
        return path.readlink()
    except OSError:
        return None


def _identity(directory: Path) -> DirectoryId | None:
    try:
        status = directory.stat()
    except OSError:
        return None
    return DirectoryId(status.st_dev, status.st_ino)
