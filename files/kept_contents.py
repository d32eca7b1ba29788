"""The last good contents of the files of one path, in a directory of pages, for the next process.

A page is a record with the contents of the files whose names lead to its number. So one edit writes one page,
and ten thousand files take 256 of them. A manifest may hold a password.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

import structlog

from files.looking.steps import Steps
from files.records import RecordDirectory, RecordForm, decoded, encoded

PAGES: Final = 256
PAGE_LIMIT: Final = 512 * 1024
"""Bytes of content in a page. All pages together have 128 MiB at most."""
COUNT_LIMIT: Final = 256
"""Files in a page."""
_FORM: Final = b"actorlet-last-good 1"

Contents: TypeAlias = Mapping[str, bytes]
"""What files hold, by their names."""

_log = structlog.get_logger("files")


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


def encoded_page(page: Page) -> bytes:
    """Return ``page`` as it is on disk."""
    contents = {
        name: data.decode("utf-8", "surrogateescape") for name, data in page.contents.items()
    }
    return encoded(_FORM, {"path": page.path, "contents": contents})


def decoded_page(data: bytes) -> Page | None:
    """Return the page that ``data`` is; None if it is torn, of another version, or no page at all."""
    document: Mapping[str, Any] | None = decoded(_FORM, data)
    if document is None:
        return None
    contents = {
        name: text.encode("utf-8", "surrogateescape") for name, text in document["contents"].items()
    }
    return Page(path=document["path"], contents=contents)


def page_name(number: int) -> str:
    """Return the name of the file of a page."""
    return f"{number:02x}.page"


def _record(name: str, data: bytes) -> tuple[int, Page] | None:
    page = decoded_page(data)
    return None if page is None else (int(name.removesuffix(".page"), 16), page)


PAGE: Final[RecordForm[int, Page]] = RecordForm(
    what="last good manifests",
    pattern="[0-9a-f][0-9a-f].page",
    limit=8 * PAGE_LIMIT,  # in JSON a byte may take six
    name_of=page_name,
    encode=lambda _, page: encoded_page(page),
    decode=_record,
)


class KeptContents:
    """The pages in ``directory``, for the files at ``path``. Owned by the one actor that looks at these.

    It writes them itself, a page in each step: it has read them before its first look, and nothing waits for
    the disk. Nothing depends on it while the agent runs.
    """

    def __init__(self, directory: Path, path: Path) -> None:
        self._pages = RecordDirectory(directory, PAGE)
        self._path = str(path.absolute())
        self._kept: dict[int, Contents] = {}
        """What is on each page that there is."""
        self._left_out = 0
        self.is_read = False
        """Whether the pages of the process before were read. It happens once."""

    @property
    def is_behind(self) -> bool:
        """Whether the last attempt to write was in vain."""
        return bool(self._pages.trouble)

    def reading(self) -> Steps[Contents]:
        """Read in steps what the process before has kept for this path. Pages of other paths are removed."""
        found: dict[str, bytes] = {}
        for record in self._pages.reading():
            if record is not None:
                self._take(*record, found)
            yield
        self.is_read = True
        return found

    def _take(self, number: int, page: Page, found: dict[str, bytes]) -> None:
        if page.path == self._path:
            self._kept[number] = page.contents
            found |= page.contents
        else:
            with suppress(OSError):
                self._pages.put(number, None)

    def writing(self, wanted: Contents) -> Steps[None]:
        """Write in steps what differs from ``wanted``: a page in each step. Gives up at the first trouble."""
        pages: dict[int, dict[str, bytes]] = {}
        for name, data in wanted.items():
            pages.setdefault(page_of(name), {})[name] = data
        yield
        fit = {number: fitting(contents) for number, contents in pages.items()}
        self._note_left_out(len(wanted) - sum(map(len, fit.values())))
        yield
        try:
            yield from self._writing(fit)
        except OSError as error:
            self._pages.trouble.note(f"cannot be written: {error.strerror}")
        else:
            self._pages.trouble.note("")

    def _writing(self, fit: Mapping[int, Contents]) -> Steps[None]:
        is_changed = self.is_behind  # then the names of an earlier attempt may not be on the disk
        for number in sorted({*fit, *self._kept}):
            contents = fit.get(number) or None
            if self._kept.get(number) != contents:
                self._pages.make()
                page = None if contents is None else Page(path=self._path, contents=contents)
                self._pages.put(number, page)
                is_changed = True
                yield
            if contents is None:
                self._kept.pop(number, None)
            else:
                # The identical bytes as in memory, not those that were read at the start.
                self._kept[number] = contents
        if is_changed:
            self._pages.make()
            self._pages.sync()

    def _note_left_out(self, left_out: int) -> None:
        if left_out and not self._left_out:
            _log.warning(
                "too large: some last good manifests are not kept for a restart", manifests=left_out
            )
        self._left_out = left_out
