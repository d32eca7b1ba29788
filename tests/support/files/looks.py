"""Looks at real files, and what they found."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from files.looking.directory import look
from files.looking.found import Content, Entry, Listed
from messages.units import Timestamp

LATER = Timestamp(time.time() + 3600)
"""Long after everything that a test writes."""

NOBODY = 65534


def listed(path: Path, previous: Listed | None = None) -> Listed:
    listing = look(path, now=LATER, previous=previous)
    assert isinstance(listing, Listed)
    return listing


def names(listing: Listed) -> list[str]:
    return [entry.name for entry in listing.entries]


def the_entry(listing: Listed) -> Entry:
    (entry,) = listing.entries
    return entry


@contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root for a moment: nothing is unreadable to root."""
    me = os.geteuid()
    os.seteuid(NOBODY if me == 0 else me)
    try:
        yield
    finally:
        os.seteuid(me)


def contents(listing: Listed) -> list[bytes]:
    return [entry.found.data for entry in listing.entries if isinstance(entry.found, Content)]
