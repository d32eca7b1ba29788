"""Looking at a path: what is there, as values. Decides nothing and remembers nothing.

``look`` reads a directory of files, or a single file, and says for each name what was found: bytes, a
problem, or a name that is ignored. It never raises for what it finds, and never waits.

A file that did not change costs one ``stat``, and comes back as the *identical* entry of the look before.
So two listings can be compared by identity.

All names are of one directory, which is held open. Another one may come to its path meanwhile, and then what
is missing proves nothing: such a look does not count, and is repeated.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from fnmatch import translate
from pathlib import Path
from re import compile as compiled
from typing import Final

from files.looking.found import Entry, Ignored, Listed, Listing, Unlistable
from files.looking.reading import OpenDirectory, kind_of, read, sentence
from files.looking.steps import Steps, result_of
from messages.changes import same_objects
from messages.units import Timestamp

LEFTOVERS: Final = (
    "*~",
    "*.bak",
    "*.swp",
    "*.swo",
    "*.orig",
    "*.old",
    "*.save",
    "*.tmp",
    "*.rej",
    "#*#",
)
"""Names of what editors and patch tools leave beside a file."""

_LEFTOVER: Final = compiled("|".join(translate(pattern) for pattern in LEFTOVERS))

MAX_LOOKS: Final = 3
"""A look is repeated this often at most while other directories come to the path."""

NAMES_IN_A_STEP: Final = 512
"""Names of a directory that are listed in one step: together they take 0.5 ms."""

UNCHANGED_IN_A_STEP: Final = 32
"""Files that did not change are looked at in one step: together they take 0.1 ms. Another takes a step."""


def look(path: Path, *, now: Timestamp, previous: Listed | None = None) -> Listing:
    """Return what is at ``path``: see ``looking``."""
    return result_of(looking(path, now=now, previous=previous))


def looking(path: Path, *, now: Timestamp, previous: Listed | None = None) -> Steps[Listing]:
    """Find in steps what is at ``path``, a directory of files or a single file. Never raises.

    ``previous`` is what the last look listed. Its entries that are still true are returned as the identical
    objects, and ``previous`` itself if all are. ``now`` is the time when the look begins. Sub-directories
    are not entered (rules F3, F6).

    A single file is read whatever its name is, since somebody configured it. If it was there once, and its
    directory still is, then its absence is its removal.
    """
    for _ in range(MAX_LOOKS):
        listing = yield from _one_look(path, now, previous)
        if listing is not None:
            yield
            return _previous_if_same(listing, previous)
    return Unlistable(reason="was moved or replaced while it was being read", missing=False)


def _previous_if_same(listing: Listing, previous: Listed | None) -> Listing:
    if (
        isinstance(listing, Listed)
        and previous is not None
        and previous.single == listing.single
        and same_objects(previous.entries, listing.entries)
    ):
        return previous
    return listing


def _one_look(path: Path, now: Timestamp, previous: Listed | None) -> Steps[Listing | None]:
    """Return what is at ``path``; None if another directory came to its place meanwhile."""
    was_single = previous is not None and previous.single
    try:
        mode = _mode(path, was_single=was_single)
        if stat.S_ISREG(mode):
            return _single(path, now, previous if was_single else None)
        if stat.S_ISDIR(mode):
            return (yield from _files(path, now, None if was_single else previous))
    except FileNotFoundError:
        return Unlistable(reason="does not exist", missing=True)
    except OSError as error:
        return Unlistable(reason=f"cannot be read: {sentence(error)}", missing=False)
    reason = f"is a {kind_of(mode)}, neither a directory nor a file"
    return Unlistable(reason=reason, missing=False)


def _mode(path: Path, *, was_single: bool) -> int:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        if was_single:
            return stat.S_IFREG  # its directory tells whether it is gone
        raise


def _single(path: Path, now: Timestamp, previous: Listed | None) -> Listed | None:
    known = next(iter(previous.entries), None) if previous else None
    with OpenDirectory(path.parent, for_listing=False) as directory:
        entry = read(path.name, directory, now, known)
        entries = () if entry is None else (entry,)
        return Listed(entries=entries, single=True) if directory.is_in_its_place() else None


def _files(path: Path, now: Timestamp, previous: Listed | None) -> Steps[Listing | None]:
    entries: list[Entry] = []
    with OpenDirectory(path) as directory:
        known = {entry.name: entry for entry in previous.entries} if previous else {}
        yield
        items = yield from _items(directory)
        names = yield from _names(items, known)
        for number, name in enumerate(names):
            item, before = items.get(name), known.get(name)
            is_same = item is not None and before is not None and _is_unchanged(item, before)
            entry = before if is_same else _entry(name, directory, now, before)
            if entry is not None:
                entries.append(entry)
            if not is_same or not number % UNCHANGED_IN_A_STEP:
                yield
        if not directory.is_in_its_place():
            return None
        device = os.fstat(directory.descriptor).st_dev
    if known and not entries and previous is not None and previous.device != device:
        # A file system was unmounted here, and this is its empty mount point.
        return Unlistable(reason="is empty, and on another file system than before", missing=True)
    return Listed(entries=tuple(entries), device=device)


def is_ignored(name: str) -> bool:
    """Return whether ``name`` is a dotfile (rule F6) or an editor's leftover.

    ``..data`` and the dated directories of a mounted ConfigMap are dotfiles too. The links beside them are
    what such a mount shows to its users.
    """
    return name.startswith(".") or _LEFTOVER.match(name) is not None


def _items(directory: OpenDirectory) -> Steps[Mapping[str, os.DirEntry[str]]]:
    """Return in steps what is listed in ``directory``, by name.

    A system may leave out a name that is changed, replaced or removed while the listing goes on.
    """
    items: dict[str, os.DirEntry[str]] = {}
    with os.scandir(directory.descriptor) as found:
        for item in found:
            items[item.name] = item
            if not len(items) % NAMES_IN_A_STEP:
                yield
    return items


def _names(items: Collection[str], known: Mapping[str, Entry]) -> Steps[list[str]]:
    """Return in steps the names to look at, in order: those in ``items``, and known names of files.

    One that is not listed only counts as gone when it was asked for.
    """
    # The known ones come first, since they are in order, and to sort what is nearly sorted is quick.
    names = [
        name
        for name, entry in known.items()
        if name in items or not isinstance(entry.found, Ignored)
    ]
    yield
    names += [name for name in items if name not in known]
    yield
    ordered = in_byte_order(names)
    yield
    return ordered


def _is_unchanged(item: os.DirEntry[str], known: Entry) -> bool:
    """Return whether ``known`` is sure to be true of ``item`` without another look."""
    if isinstance(known.found, Ignored):
        return True
    if not known.final or known.signature is None:
        return False
    try:
        return known.signature.is_of(item.stat())
    except OSError:
        return False


def in_byte_order(names: Iterable[str]) -> list[str]:
    """Return ``names`` by the bytes of which they are made."""
    # Only characters that stand for single bytes, in names that are not UTF-8, are in another order.
    listed = [*names]
    return sorted(listed, key=None if "".join(listed).isascii() else os.fsencode)


def _entry(
    name: str, directory: OpenDirectory, now: Timestamp, known: Entry | None
) -> Entry | None:
    if not is_ignored(name):
        return read(name, directory, now, known)
    reason = "a dotfile" if name.startswith(".") else "what an editor or a patch leaves behind"
    return Entry(name=name, path=directory.path / name, found=Ignored(reason=reason))
