"""Files that somebody configured: looked at, read again when they change. It may block.

What was good stays in use while the files hold nothing better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar, assert_never

from actors.certificates.key_program import KeysUnaskedError, UnusableError
from files.looking.directory import look
from files.looking.found import Content, Ignored, Listed, Listing, Problem
from messages.units import Timestamp

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured(Generic[T]):
    """What files of one purpose hold, as far as it is known."""

    listings: tuple[Listing, ...] = ()
    """What the last look found of each file."""
    value: T | None = None
    """What was good last; None if nothing was yet."""
    found: str = ""
    """Why the files held nothing that can be used at the last look; empty if they did."""
    trouble: str = ""
    """The same, once two looks have found it: nobody is just replacing one file after the other."""
    is_answered: bool = False
    """Whether anything was found out about what is there."""


def reread(
    before: Configured[T], files: tuple[Path, ...], read: Callable[..., T], now: Timestamp
) -> Configured[T]:
    """Look at ``files``, and return what is known of them now.

    If one has changed, ``read`` gets what all of them contain. It raises ``UnusableError`` or
    ``KeysUnaskedError``, and is called again after the latter.
    """
    previous = before.listings or (None,) * len(files)
    listings = tuple(_looked(file, known, now) for file, known in zip(files, previous, strict=True))
    is_same = listings == before.listings
    looked = replace(before, listings=listings, trouble=before.found if is_same else before.trouble)
    if is_same and before.is_answered:
        return looked
    try:
        value = read(*map(content_of, files, listings))
    except (UnusableError, KeysUnaskedError) as error:
        found = f"{' with '.join(map(str, files))} cannot be used: {error}"
        return replace(looked, found=found, is_answered=isinstance(error, UnusableError))
    return Configured(listings=listings, value=value, is_answered=True)


def content_of(file: Path, listing: Listing) -> bytes:
    """Return what a look has found in ``file``. Raises ``UnusableError``."""
    if not isinstance(listing, Listed):
        raise UnusableError(f"{file.name} {listing.reason}")
    if not listing.single:
        raise UnusableError(f"{file.name} is a directory, not a file")
    if not listing.entries:
        raise UnusableError(f"{file.name} does not exist")
    match listing.entries[0].found:
        case Content(torn=True):
            raise UnusableError(f"{file.name} is being written")
        case Content(data=data):
            return data
        case Problem(reason=reason) | Ignored(reason=reason):
            raise UnusableError(f"{file.name} {reason}")
        case other:
            assert_never(other)


def _looked(file: Path, known: Listing | None, now: Timestamp) -> Listing:
    return look(file, now=now, previous=known if isinstance(known, Listed) else None)
