"""The form in which the last good contents of many files are on disk: pages. Pure.

A page holds the contents of the files whose names lead to its number. So one edit writes one page, and ten
thousand files take 256 of them.

A page is a line with the version of the form and a digest of the rest, then JSON. A page that is torn, of
another version, or anything else, is not taken.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypeAlias
from zlib import crc32

PAGES: Final = 256
PAGE_LIMIT: Final = 512 * 1024
"""Bytes of content in a page. All pages together have 128 MiB at most."""
COUNT_LIMIT: Final = 256
"""Files in a page."""
READ_LIMIT: Final = 8 * PAGE_LIMIT
"""Bytes of a page on disk: in JSON a byte may take six."""

_FORM: Final = b"actorlet-last-good 1"

Contents: TypeAlias = Mapping[str, bytes]
"""What files hold, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page on disk says. The ``repr`` does not show contents, since they may hold a password."""

    path: str
    """The directory of the files, or the single file: contents of another one are nobody's here."""
    contents: Contents = field(repr=False)


def page_of(name: str) -> int:
    """Return the number of the page that the file ``name`` is on: the same in every process."""
    return crc32(os.fsencode(name)) % PAGES


def fitting(contents: Contents) -> Contents:
    """Return those of ``contents`` that fit on one page, in the order of their names."""
    kept: dict[str, bytes] = {}
    left = PAGE_LIMIT
    for name in sorted(contents):
        size = len(contents[name])
        if size <= left and len(kept) < COUNT_LIMIT:
            kept[name] = contents[name]
            left -= size
    return kept


def encoded(page: Page) -> bytes:
    """Return ``page`` as it is on disk."""
    contents = {name: _text(data) for name, data in page.contents.items()}
    body = json.dumps({"path": page.path, "contents": contents}).encode("ascii")
    return b"%s %s\n%s" % (_FORM, _digest(body), body)


def decoded(data: bytes) -> Page | None:
    """Return the page that ``data`` is; None if it is torn, of another version, or no page at all."""
    head, _, body = data.partition(b"\n")
    if head != b"%s %s" % (_FORM, _digest(body)):
        return None
    # Nobody but ``encoded`` makes a body with this digest by accident; who does it on purpose is root.
    document = json.loads(body)
    contents = {name: _bytes(text) for name, text in document["contents"].items()}
    return Page(path=document["path"], contents=contents)


def _digest(body: bytes) -> bytes:
    return sha256(body).hexdigest().encode("ascii")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
