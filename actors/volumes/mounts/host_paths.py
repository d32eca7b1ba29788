"""Whether a path of the node is what a volume says that it is.

A runtime makes a path that is missing, as a directory, and says nothing of it. So paths are looked at before.
Links are followed, as by kubelets: who may name a path of the node may name any of them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

DIRECTORY_MODE: Final = 0o755
FILE_MODE: Final = 0o644


class HostPathType(StrEnum):
    """What a path of the node has to be, in the API's words."""

    ANYTHING = ""
    DIRECTORY_OR_CREATE = "DirectoryOrCreate"
    DIRECTORY = "Directory"
    FILE_OR_CREATE = "FileOrCreate"
    FILE = "File"
    SOCKET = "Socket"
    CHAR_DEVICE = "CharDevice"
    BLOCK_DEVICE = "BlockDevice"


_WANTED: Final[Mapping[HostPathType, tuple[str, Callable[[int], bool]]]] = {
    HostPathType.DIRECTORY: ("directory", stat.S_ISDIR),
    HostPathType.DIRECTORY_OR_CREATE: ("directory", stat.S_ISDIR),
    HostPathType.FILE: ("file", stat.S_ISREG),
    HostPathType.FILE_OR_CREATE: ("file", stat.S_ISREG),
    HostPathType.SOCKET: ("socket", stat.S_ISSOCK),
    HostPathType.CHAR_DEVICE: ("character device", stat.S_ISCHR),
    HostPathType.BLOCK_DEVICE: ("block device", stat.S_ISBLK),
}

MOST_SHOWN: Final = 256
"""Characters of a path in a sentence: the kernel takes 4,095, and the sentence is shown in many places."""


def prepare_host_path(path: str, kind: HostPathType) -> str:
    """Make ``path`` if ``kind`` says so, and return what is wrong with it; empty if nothing is."""
    if kind is HostPathType.ANYTHING:
        return ""
    try:
        _make(path, kind)
        mode = os.stat(path).st_mode  # noqa: PTH116
    except OSError as error:
        return f"hostPath type check failed: {_shown(path)}: {error.strerror}"
    name, is_wanted = _WANTED[kind]
    return "" if is_wanted(mode) else f"hostPath type check failed: {_shown(path)} is not a {name}"


def _shown(path: str) -> str:
    return path if len(path) <= MOST_SHOWN else f"{path[:MOST_SHOWN]}..."


def _make(path: str, kind: HostPathType) -> None:
    try:
        if kind is HostPathType.DIRECTORY_OR_CREATE:
            os.makedirs(path, DIRECTORY_MODE, exist_ok=True)  # noqa: PTH103
        elif kind is HostPathType.FILE_OR_CREATE:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        # Of whatever kind it is: that is looked at next.
        return
