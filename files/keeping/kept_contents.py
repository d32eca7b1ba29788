"""The last good contents of the files of one path, in a directory of pages, for the next process.

Nothing depends on it while the agent runs. What cannot be written or read is said once and done without.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from files.keeping.pages import (
    PAGES,
    READ_LIMIT,
    Contents,
    Page,
    decoded,
    encoded,
    fitting,
    page_of,
)
from files.looking.steps import Steps

UNUSABLE: Final = ".unusable"
"""Added to the name of a page that is set aside: one that this agent cannot have written. People may look at
it until the next start removes it: it may hold a password."""

_NEW: Final = ".new"
_log = structlog.get_logger("files")


class KeptContents:
    """The pages in ``directory``, for the files at ``path``. Owned by the one actor that looks at these.

    They are for the agent's user alone, since a manifest may hold a password.
    """

    def __init__(self, directory: Path, path: Path) -> None:
        self._directory = directory
        self._path = str(path.absolute())
        self._kept: dict[int, Contents] = {}
        """What is on each page that there is."""
        self._left_out = 0
        self._trouble = ""
        self.is_read = False
        """Whether the pages of the process before were read. It happens once."""

    @property
    def is_behind(self) -> bool:
        """Whether the last attempt to write was in vain."""
        return bool(self._trouble)

    def reading(self) -> Steps[Contents]:
        """Read in steps what the process before has kept for this path.

        Pages of other paths are removed, and so is what earlier processes set aside or had half written.
        """
        found: dict[str, bytes] = {}
        unusable = 0
        for number in range(PAGES):
            self._remove_leftovers(number)
            try:
                page = self._page(number)
            except OSError as error:
                self._note(f"cannot be read: {error.strerror}")
                continue
            if page is None:
                unusable += 1
            elif page.path == self._path:
                self._kept[number] = page.contents
                found.update(page.contents)
            elif page.contents:
                _remove(self._file(number))
            yield
        if unusable:
            _log.warning(
                "last good manifests are set aside", directory=str(self._directory), pages=unusable
            )
        self.is_read = True
        return found

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
            self._note(f"cannot be written: {error.strerror}")
        else:
            self._note("")

    def _writing(self, fit: Mapping[int, Contents]) -> Steps[None]:
        changed = False
        for number in sorted({*fit, *self._kept}):
            contents = fit.get(number, {})
            if self._kept.get(number, {}) != contents:
                self._make_directory()
                self._write(number, contents)
                changed = True
                yield
            # The identical bytes as in memory, not those that were read at the start.
            self._kept[number] = contents
        if changed:
            _sync(self._directory)
        self._kept = {number: contents for number, contents in self._kept.items() if contents}

    def _write(self, number: int, contents: Contents) -> None:
        page = self._file(number)
        if not contents:
            page.unlink(missing_ok=True)
            return
        new = page.with_suffix(_NEW)
        new.unlink(missing_ok=True)
        try:
            _write_new(new, encoded(Page(path=self._path, contents=contents)))
            new.replace(page)
        except OSError:
            _remove(new)
            raise

    def _make_directory(self) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        self._directory.chmod(0o700)

    def _page(self, number: int) -> Page | None:
        """Return a page, an empty one if there is none; None if it is unusable, and set aside."""
        file = self._file(number)
        try:
            data = _read(file)
        except FileNotFoundError:
            return Page(path=self._path, contents={})
        page = decoded(data)
        if page is None:
            file.replace(file.with_suffix(UNUSABLE))
        return page

    def _remove_leftovers(self, number: int) -> None:
        for suffix in (_NEW, UNUSABLE):
            _remove(self._file(number).with_suffix(suffix))

    def _file(self, number: int) -> Path:
        return self._directory / f"{number:02x}.page"

    def _note(self, trouble: str) -> None:
        """Say what is wrong, or that it is over; each once."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble:
            _log.warning(
                "last good manifests are not kept for a restart",
                directory=str(self._directory),
                reason=trouble,
            )
        else:
            _log.info("last good manifests are kept again", directory=str(self._directory))

    def _note_left_out(self, left_out: int) -> None:
        if left_out and not self._left_out:
            _log.warning(
                "too large: some last good manifests are not kept for a restart", manifests=left_out
            )
        self._left_out = left_out


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


def _read(file: Path) -> bytes:
    """Return at most a little more than a page may have; nothing of what is no file."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, READ_LIMIT + 1) if is_file else b""
    finally:
        os.close(descriptor)


def _write_new(file: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(file, flags, 0o600), "wb") as opened:  # noqa: PTH123 - it must not be others' for a moment
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
