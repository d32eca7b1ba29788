"""Lines of a screen: pieces of plain text with tones, cut and filled to a width in cells. Pure.

A name may hold anything. ``plain`` writes what a terminal would obey as escapes, and nothing here is markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells, set_cell_size

from command.tables import Sheet, tone
from command.wording import plain

BOLD = "bold"
CHOSEN = "chosen"
"""The tone of the row that keys act upon."""
BAR = "bar"
"""The tone of lines that stand for keys and lists."""
GAP = 2
"""Cells between two columns."""
LONGEST = 2_000
"""Characters of a text that are looked at: no screen has room for more."""


class LinePiece(NamedTuple):
    """A piece of a line."""

    text: str
    tone: str = ""


Line: TypeAlias = tuple[LinePiece, ...]


def line(text: str, tone_of_it: str = "") -> Line:
    """Return a line of one piece."""
    return (LinePiece(plain(text[:LONGEST]), tone_of_it),)


def cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells; ``…`` stands for what is left out."""
    shown = plain(text[:LONGEST])
    if cell_len(shown) <= width:
        return shown
    return f"{set_cell_size(shown, width - 1).rstrip()}…" if width > 0 else ""


def filled(text: str, width: int, *, is_right: bool = False) -> str:
    """Return ``text`` in exactly ``width`` cells."""
    shown = cut(text, width)
    space = " " * (width - cell_len(shown))
    return f"{space}{shown}" if is_right else f"{shown}{space}"


def wide(text: str) -> int:
    """Return how many cells ``text`` takes."""
    return cell_len(plain(text[:LONGEST]))


def wrapped(text: str, width: int) -> list[str]:
    """Return ``text`` in lines of at most ``width`` cells, broken between words where that is possible."""
    lines = [""]
    for word in plain(text[:LONGEST]).split(" "):
        pieces = chop_cells(word, max(1, width)) or [""]
        for place, piece in enumerate(pieces):
            joined = f"{lines[-1]} {piece}" if place == 0 and lines[-1] else piece
            if place == 0 and cell_len(joined) <= width:
                lines[-1] = joined
            else:
                lines.append(piece)
    return [each for each in lines if each] or [""]


def item(text: str, width: int, tone_of_it: str = "", mark: str = "- ") -> Iterator[Line]:
    """Yield ``text`` behind a mark, in as many lines as it takes."""
    for place, each in enumerate(wrapped(text, width - len(mark))):
        yield (LinePiece(mark if place == 0 else " " * len(mark)), LinePiece(each, tone_of_it))


def sheet_lines(sheet: Sheet, width: int) -> Iterator[Line]:
    """Yield a table in lines of at most ``width`` cells. Columns that are folded take several lines."""
    shown = sheet.shown(wide=False)
    widths = _widths(shown, width)
    yield tuple(
        LinePiece(filled(column.title, size) + " " * GAP, "dim")
        for column, size in zip(shown.columns, widths, strict=True)
    )
    for row in shown.rows:
        folded = [wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
        for place in range(max(map(len, folded))):
            yield tuple(
                LinePiece(
                    filled(cell[place] if place < len(cell) else "", size, is_right=column.is_right)
                    + " " * GAP,
                    tone(whole) if column.is_toned else "",
                )
                for cell, size, column, whole in zip(
                    folded, widths, shown.columns, row, strict=True
                )
            )


def _widths(sheet: Sheet, width: int) -> list[int]:
    natural = [
        max([len(column.title), *(wide(row[place]) for row in sheet.rows)])
        for place, column in enumerate(sheet.columns)
    ]
    least = [
        min(size, max(len(column.title), 14)) if column.is_folded else size
        for size, column in zip(natural, sheet.columns, strict=True)
    ]
    return shared(natural, least, width - GAP * len(natural))


def shared(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns that want ``natural``, and need ``least``, where there is ``room``.

    What is left beyond the least goes to the first ones first, and to each no more than it wants. Where
    there is not even that much, the widest ones give.
    """
    widths = list(least)
    left = room - sum(widths)
    for place, wish in enumerate(natural):
        more = min(max(0, left), wish - widths[place])
        widths[place] += more
        left -= more
    while sum(widths) > max(room, len(widths)):
        widths[max(range(len(widths)), key=widths.__getitem__)] -= 1
    return widths


def text_of(lines: Iterable[Line]) -> str:
    """Return what people read, without tones."""
    return "\n".join("".join(span.text for span in each).rstrip() for each in lines)
