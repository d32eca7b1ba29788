"""What the file source relies on when it keeps a watch: of the real one, and of the one in tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from files.watching.inotify import InotifyWatch, KeepWatch
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.probe import Probe


class Watcher:
    """Somebody who keeps watches, and what he is called for."""

    def __init__(self, keep: KeepWatch, happen: Callable[[], None]) -> None:
        self.calls: Probe[str] = Probe()
        self._keep = keep
        self.happen = happen
        """Makes the world and the watches agree: real ones need nothing."""

    def watch(self, *directories: Path) -> Callable[[], None]:
        """Begin to watch; return how to stop."""
        kept = self._keep(
            directories,
            lambda: self.calls.tell("changed"),
            lambda _reason: self.calls.tell("lost"),
        )
        return kept.close


def nothing() -> None:
    """Real notifications come by themselves."""


@pytest.fixture(params=["real", "fake"])
def watcher(request: pytest.FixtureRequest) -> Watcher:
    if request.param == "real":
        return Watcher(InotifyWatch, nothing)
    watches = FakeDirectoryWatches()
    return Watcher(watches, watches.notice)


def test_a_change_after_the_beginning_is_noticed(watcher: Watcher, tmp_path: Path) -> None:
    close = watcher.watch(tmp_path)
    (tmp_path / "file").write_text("text")
    watcher.happen()
    assert watcher.calls.next() == "changed"
    close()


def test_every_directory_is_watched(watcher: Watcher, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    close = watcher.watch(first, second)
    (second / "file").write_text("text")
    watcher.happen()
    assert watcher.calls.next() == "changed"
    close()


def test_after_the_close_nothing_is_called(watcher: Watcher, tmp_path: Path) -> None:
    close = watcher.watch(tmp_path)
    close()
    (tmp_path / "file").write_text("text")
    watcher.happen()
    close()
    watcher.calls.expect_silence()
