"""Which directories to watch, to be told when what a manifest path holds may have changed.

A notification is only a hint that it is worth looking; the look in ``files.looking.directory`` decides.
What inotify cannot tell by itself is covered here: it reports a change of a link's target in the
target's directory, the replacement of a single file in its parent, and the birth of a missing
directory in the nearest ancestor that exists (rules F17, F18, K6).
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
    """Which directory it is that stands at a path."""

    device: int
    inode: int


def watched_directories(path: Path) -> Mapping[Path, DirectoryId]:
    """Return the directories to watch for manifest path ``path``; never raises for what it finds.

    To be watched without their sub-directories. Compare with the mapping of before as a whole: a
    watch is bound to the directory and not to its name, so that one replaced under the same path has
    to be watched anew.
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

    These are the directory of every link on the way, whether it is the last part of a path or one
    before, and where the way ends: the directory, or that of the file. Where the way breaks off,
    that is the last directory that exists.
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
