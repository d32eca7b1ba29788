"""Which release of the agent this is, and which one is installed at its place by now."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from messages.releases import Release, ReleaseState

ROOT: Final = Path(__file__).parents[1]
RELEASE: Final = "RELEASE"
"""The file of an installed release that has its version and what tells its code from any other."""
_PROJECT: Final = "pyproject.toml"


def version() -> str:
    """Return the version in ``pyproject.toml``: the agent runs from its checkout, so there is no other."""
    return _version_in(ROOT)


class Releases:
    """Remembers which release runs, and tells which one is installed. Made when the process starts.

    An installation puts another release beside the one that runs, or replaces its files. In a checkout only
    another version counts: files there are edited.
    """

    def __init__(self, root: Path = ROOT) -> None:
        """``root`` has the code. Reads its version; raises ``OSError``."""
        self._place = _place_of(root)
        try:
            self._running = _release_at(root)
        except ValueError:  # the file is cut short: the version of the code is all that is known
            self._running = Release(_version_in(root))
        self._mark: tuple[int, ...] = ()
        self._installed: Release | None = None

    def __call__(self) -> ReleaseState:
        """Return both. Looks at one file, and reads it if it is another one than before."""
        try:
            mark = _mark_of(self._place)
            if mark != self._mark:
                self._installed, self._mark = _release_at(self._place), mark
        except (OSError, ValueError, KeyError):  # an installation is under way, or was taken away
            self._installed, self._mark = None, ()
        return ReleaseState(self._running, self._installed)


def _place_of(root: Path) -> Path:
    """Return where the release of ``root`` was started from: a link that leads to the current one, if any."""
    current = root.parent.with_name("current")
    return current if root.parent.name == "releases" and current.is_symlink() else root


def _mark_of(place: Path) -> tuple[int, ...]:
    """Return what tells a file from the one before it at the same path."""
    file = place / RELEASE
    seen = (file if file.exists() else place / _PROJECT).stat()
    return (seen.st_dev, seen.st_ino, seen.st_mtime_ns, seen.st_size)


def _release_at(place: Path) -> Release:
    """Return the release whose code is at ``place``. Raises ``OSError``, ``ValueError`` and ``KeyError``."""
    file = place / RELEASE
    if not file.exists():
        return Release(_version_in(place))
    said, code = file.read_text().split()
    return Release(said, code)


def _version_in(root: Path) -> str:
    project = tomllib.loads(root.joinpath(_PROJECT).read_text())
    return str(project["project"]["version"])
