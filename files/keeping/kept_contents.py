"""The last good contents of the files of one path, in a directory of pages, for the next process.

Nothing depends on it while the agent runs. What cannot be written or read is said once and done without.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import structlog

from files.keeping.disk import (
    NEW,
    UNUSABLE,
    make_directory,
    read_file,
    remove_file,
    sync_directory,
    write_file,
)
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

_log = structlog.get_logger("files")


class KeptContents:
    """The pages in ``directory``, for the files at ``path``. Owned by the one actor that looks at these.

    They are for the agent's user alone, since a manifest may hold a password. People may look at a page that
    is set aside until the next start removes it.
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
                remove_file(self._file(number))
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
                make_directory(self._directory)
                self._write(number, contents)
                changed = True
                yield
            # The identical bytes as in memory, not those that were read at the start.
            self._kept[number] = contents
        if changed:
            sync_directory(self._directory)
        self._kept = {number: contents for number, contents in self._kept.items() if contents}

    def _write(self, number: int, contents: Contents) -> None:
        page = self._file(number)
        if not contents:
            page.unlink(missing_ok=True)
            return
        write_file(page, encoded(Page(path=self._path, contents=contents)))

    def _page(self, number: int) -> Page | None:
        """Return a page, an empty one if there is none; None if it is unusable, and set aside."""
        file = self._file(number)
        try:
            data = read_file(file, READ_LIMIT)
        except FileNotFoundError:
            return Page(path=self._path, contents={})
        page = decoded(data)
        if page is None:
            file.replace(file.with_suffix(UNUSABLE))
        return page

    def _remove_leftovers(self, number: int) -> None:
        for suffix in (NEW, UNUSABLE):
            remove_file(self._file(number).with_suffix(suffix))

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
