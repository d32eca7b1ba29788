"""Watches that cannot begin, or end by themselves. The contract suite of watches tells what works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from watchfiles._rust_notify import RustNotify

from files.watching.inotify import InotifyWatch
from tests.support.kernel.probe import Probe


@pytest.mark.parametrize("name", [b"missing", b"not-\xff-utf8"], ids=["missing", "not UTF-8"])
def test_what_cannot_be_watched_is_lost_at_once(tmp_path: Path, name: bytes) -> None:
    lost: Probe[str] = Probe()
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    watch = InotifyWatch([tmp_path, directory], lambda: None, lost.tell)
    assert lost.next()
    watch.close()


def test_a_watch_that_ends_by_itself_is_lost(tmp_path: Path) -> None:
    lost: Probe[str] = Probe()
    watch = InotifyWatch([tmp_path], lambda: None, lost.tell)
    dead = RustNotify([str(tmp_path)], False, False, 0, False, False)  # noqa: FBT003  # as declared
    dead.close()
    watch._run(dead)
    assert lost.next()
    watch.close()
