"""Tables as lines, at a few microseconds a row: for files and pipes, and for many rows. Pure.

Columns are as wide as the first rows need. What is longer further down pushes what is beside it to the right,
or is folded where the line would be too long. Rows that have no room are several lines each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from command.tables import Column, tone
from command.wording import plain

GAP: Final = 2
"""Blanks between two columns."""
INDENT: Final = 4
"""Blanks before what a row has in its further lines."""
NARROW: Final = 8
"""To so many cells those columns are made narrower that may be folded, before all others are too."""
COLOURS: Final = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}
"""The numbers that terminals have for them."""

Cells = Sequence[str]


class RowLines:
    """Makes lines of rows."""

    def __init__(
        self,
        columns: Sequence[Column],
        first: Iterable[Cells],
        limit: int,
        *,
        has_colours: bool,
        keeps_words: bool = False,
    ) -> None:
        """``first`` are the rows that say how wide columns are; ``limit`` is how wide a line may be.

        ``keeps_words``: where a text is folded, words stay whole that fit.
        """
        self._fold = wrapped if keeps_words else folded
        self._columns = columns
        self._has_colours = has_colours
        self._limit = limit
        self._widths = _narrowed(columns, _widths(columns, first), limit)
        pairs = zip(columns, self._widths, strict=True)
        forms = [f"%{'' if column.is_right else '-'}{width}s" for column, width in pairs]
        self._form = (" " * GAP).join(forms)

    def titles(self) -> Iterator[str]:
        """Yield the lines of the head."""
        yield from self._lines([column.title for column in self._columns], is_head=True)

    def lines(self, row: Cells) -> Iterator[str]:
        """Yield the lines of a row: one, unless it is folded."""
        if not self._has_colours:
            line = self._form % tuple(row)
            if line.isascii() and line.isprintable() and len(line := line.rstrip()) <= self._limit:
                yield line
                return
        yield from self._lines(row, is_head=False)

    def _lines(self, row: Cells, *, is_head: bool) -> Iterator[str]:
        told = [plain(each) for each in row]
        styles = [self._style(column, said, is_head) for column, said in self._paired(told)]
        whole = self._line(told, styles)
        if cell_count(self._line(told, [""] * len(told))) <= self._limit:
            yield whole
            return
        yield from self._long_names(told, styles)
        if not any(told):
            return
        pieces = [
            list(self._fold(said, width)) for said, width in zip(told, self._widths, strict=True)
        ]
        for line in zip_longest(*pieces, fillvalue=""):
            yield self._line(line, styles)

    def _long_names(self, told: list[str], styles: Sequence[str]) -> Iterator[str]:
        """Yield the names that are too long for their columns, and take them out of the row."""
        for place, column in enumerate(self._columns):
            if column.is_name and cell_count(told[place]) > self._widths[place]:
                yield styled(told[place], styles[place])
                told[place] = ""

    def _paired(self, row: Cells) -> Iterable[tuple[Column, str]]:
        return zip(self._columns, row, strict=True)

    def _style(self, column: Column, said: str, is_head: bool) -> str:  # noqa: FBT001
        if not self._has_colours:
            return ""
        return "bold" if is_head else tone(said) if column.is_toned else ""

    def _line(self, row: Cells, styles: Sequence[str]) -> str:
        last = len(row) - 1
        told = []
        for place, ((column, said), style) in enumerate(
            zip(self._paired(row), styles, strict=True)
        ):
            blanks = " " * (self._widths[place] - cell_count(said))
            shown = styled(said, style)
            told.append(blanks + shown if column.is_right else shown + blanks * (place < last))
        return (" " * GAP).join(told).rstrip()


def has_room(columns: Sequence[Column], first: Iterable[Cells], limit: int) -> bool:
    """Return whether rows fit into ``limit`` cells while only those columns are folded that may be."""
    widths = zip(columns, _widths(columns, first), strict=True)
    least = [min(NARROW, width) if column.is_folded else width for column, width in widths]
    return sum(least) + GAP * (len(least) - 1) <= limit


class BrokenRows:
    """Makes several lines of each row, where one would be too long: they are broken between columns."""

    def __init__(
        self,
        columns: Sequence[Column],
        first: Sequence[Cells],
        limit: int,
        *,
        has_colours: bool,
        keeps_words: bool = False,
    ) -> None:
        """As for ``RowLines``."""
        widths = _widths(columns, first)
        self._makers = [
            (
                part,
                RowLines(
                    columns[part],
                    [row[part] for row in first],
                    limit - (INDENT if part.start else 0),
                    has_colours=has_colours,
                    keeps_words=keeps_words,
                ),
            )
            for part in _parts(widths, limit)
        ]

    def titles(self) -> Iterator[str]:
        """Yield the lines of the head."""
        for part, maker in self._makers:
            yield from _indented(maker.titles(), part)

    def lines(self, row: Cells) -> Iterator[str]:
        """Yield the lines of a row."""
        for part, maker in self._makers:
            yield from _indented(maker.lines(row[part]), part)


def _parts(widths: Sequence[int], limit: int) -> Iterator[slice]:
    """Yield which columns stand in a line, for each line of a row."""
    begin, left = 0, limit
    for place, width in enumerate(widths):
        if place > begin and width > left:
            yield slice(begin, place)
            begin, left = place, limit - INDENT
        left -= width + GAP
    yield slice(begin, len(widths))


def _indented(lines: Iterable[str], part: slice) -> Iterator[str]:
    blanks = " " * INDENT if part.start else ""
    return (f"{blanks}{each}".rstrip() for each in lines if each or not part.start)


def styled(said: str, style: str) -> str:
    """Return ``said`` as a terminal shows it in a colour."""
    return f"\x1b[{COLOURS[style]}m{said}\x1b[0m" if style and said else said


def cell_count(said: str) -> int:
    """Return how many cells of a terminal ``said`` takes."""
    if said.isascii():
        return len(said)
    return sum(map(_cells, said))


def _cells(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def folded(said: str, width: int) -> Iterator[str]:
    """Yield ``said`` in pieces of ``width`` cells at most; a piece has a character at least."""
    if len(said) <= width and said.isascii():
        yield said
        return
    piece, size = "", 0
    for character in said:
        cells = _cells(character)
        if piece and size + cells > width:
            yield piece
            piece, size = "", 0
        piece += character
        size += cells
    yield piece


def wrapped(said: str, width: int) -> list[str]:
    """Return ``said`` in lines of ``width`` cells at most, at least one. Words stay whole that fit."""
    if len(said) <= width and said.isascii():
        return [said]
    lines, line = [], ""
    for word in said.split(" "):
        longer = f"{line} {word}" if line else word
        if cell_count(longer) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        *whole, line = folded(word, width)
        lines += whole
    return [*lines, line]


def _widths(columns: Sequence[Column], rows: Iterable[Cells]) -> list[int]:
    widths = [len(column.title) for column in columns]
    for row in rows:
        for place, said in enumerate(row):
            if len(said) > widths[place] or not said.isascii():
                widths[place] = max(widths[place], cell_count(plain(said)))
    return widths


def _narrowed(columns: Sequence[Column], widths: list[int], limit: int) -> list[int]:
    """Return ``widths`` that fit into a line, as far as they can."""
    over = sum(widths) + GAP * (len(widths) - 1) - limit
    for may_be, least in ((lambda column: column.is_folded, NARROW), (lambda _: True, 1)):
        while over > 0:
            able = [
                place
                for place, column in enumerate(columns)
                if may_be(column) and widths[place] > least
            ]
            if not able:
                break
            widths[max(able, key=widths.__getitem__)] -= 1
            over -= 1
    return widths
