"""Which paths the files of a volume can have. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from manifests.names import file_in_volume
from manifests.texts import printable, quoted

LONGEST_PATH: Final = 4096
LONGEST_NAME: Final = 255
"""Bytes: what Linux takes."""
DEEPEST: Final = 64
"""Directories within each other, far more than anybody wants. Whoever removes them has them all open."""


def cleaned(path: str) -> str:
    """Return the shortest way to write ``path``: ``a//b/./c/`` is ``a/b/c``."""
    top = "/" if path.startswith("/") else ""
    return top + "/".join(name for name in path.split("/") if name not in {"", "."})


def path_trouble(path: str) -> str:
    """Return what is wrong with a clean path, as a sentence; empty if nothing is."""
    if not path:
        return "invalid path: must not be empty"
    wrong = file_in_volume(path) or _too_long(path)
    return f"invalid path: {wrong}: {quoted(_shown(path))}" if wrong else ""


def clash(paths: Iterable[str]) -> str:
    """Return which one is a file and a directory at once, as a sentence; empty if none is."""
    files = frozenset(paths)
    for path in sorted(files):
        for directory in list(accumulate(path.split("/"), posixpath.join))[:-1]:
            if directory in files:
                return f"invalid path: {quoted(directory)} is a file and a directory"
    return ""


def _too_long(path: str) -> str:
    try:
        raw = path.encode()
    except UnicodeEncodeError:
        return "must be UTF-8"
    names = raw.split(b"/")
    if b"\0" in raw:
        return "must not contain a NUL"
    if len(raw) > LONGEST_PATH:
        return f"must be less than or equal to {LONGEST_PATH} bytes"
    if max(map(len, names)) > LONGEST_NAME:
        return f"filenames must be less than or equal to {LONGEST_NAME} bytes"
    return f"must have at most {DEEPEST} directories" if len(names) > DEEPEST + 1 else ""


def _shown(path: str) -> str:
    return printable(path.encode(errors="replace").decode())
