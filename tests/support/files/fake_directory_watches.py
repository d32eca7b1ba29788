"""Watches that notice only what the test shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from typing_extensions import override

from files.watching.inotify import DirectoryWatch


class FakeDirectoryWatch(DirectoryWatch):
    """One watch; passes the contract suite of the real one."""

    def __init__(
        self,
        directories: Iterable[Path],
        changed: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        self.directories = frozenset(directories)
        self._changed = changed
        self._lost = lost
        self.is_open = True

    def notice(self) -> None:
        """Say that something changed."""
        if self.is_open:
            self._changed()

    def lose(self, reason: str) -> None:
        """End by itself."""
        if self.is_open:
            self.is_open = False
            self._lost(reason)

    @override
    def close(self) -> None:
        self.is_open = False


class FakeDirectoryWatches:
    """Makes watches, in place of ``InotifyWatch``, and keeps all of them."""

    def __init__(self) -> None:
        self.kept: list[FakeDirectoryWatch] = []
        self.trouble = ""
        """Why no watch can begin; empty when one can."""

    def __call__(
        self,
        directories: Iterable[Path],
        changed: Callable[[], None],
        lost: Callable[[str], None],
    ) -> FakeDirectoryWatch:
        """Make one more watch."""
        watch = FakeDirectoryWatch(directories, changed, lost)
        self.kept.append(watch)
        if self.trouble:
            watch.lose(self.trouble)
        return watch

    @property
    def newest(self) -> FakeDirectoryWatch:
        """The watch that was asked for last."""
        return self.kept[-1]

    def notice(self) -> None:
        """Have every open watch notice something."""
        for watch in tuple(self.kept):
            watch.notice()

    def open_count(self) -> int:
        """Return how many are not closed."""
        return sum(watch.is_open for watch in self.kept)
