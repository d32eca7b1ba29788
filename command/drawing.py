"""Draws tables and lines for people: colours on a terminal only, and lines as wide as it is.

rich draws what has to be folded, and would fold names, too. It takes 60 ms to import, and 200 µs for each
row. So it is not used for files and pipes, for what fits as it is, and for tables with names or many rows.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Final

from command.plain_tables import GAP, BrokenRows, RowLines, cell_count, has_room, styled, wrapped
from command.tables import Column, Sheet, tone
from command.wording import plain

if TYPE_CHECKING:
    from rich.table import Table

UNLIMITED: Final = 2**31
"""Columns for files and pipes, whose readers want whole lines."""
MOST_COLUMNS: Final = 4_000
"""More than any terminal has."""
MANY: Final = 200
"""Rows beyond which a table is made quickly, and not with words that stay whole where they are folded."""
AT_ONCE: Final = 500
"""Lines that are written in one go."""

Row = tuple[str, ...]
_PLAIN: Final[Mapping[str, str]] = {}


class Drawing:
    """Where tables and lines go."""

    def __init__(self, output: IO[str], environment: Mapping[str, str] = os.environ) -> None:
        self._output = output
        self._width = _width(output, environment)
        self._wide_width = self._width if is_terminal(output) else UNLIMITED
        """Of lines that only a terminal breaks: scripts want a line for each row."""
        self._has_colours = _has_colours(output, environment)

    def sheet(self, sheet: Sheet, *, wide: bool = False, is_quick: bool = False) -> None:
        """Draw a table, without lines around it. A row of the wide one is several lines where it has to be.

        A quick one is made without rich, also where it is folded. So is one with names: rich folds them.
        """
        shown = sheet.shown(wide=wide)
        is_own = is_quick or shown.has_names
        if wide or is_own or self._width == UNLIMITED or len(shown.rows) > MANY:
            self._rows(shown.columns, shown.rows, iter(shown.rows), wide=wide, keeps_words=is_own)
        else:
            self._draw(self._table(shown))

    def pages(
        self, columns: tuple[Column, ...], pages: Iterator[Sequence[Row]], *, wide: bool
    ) -> None:
        """Draw a table that comes in pages, each as soon as it is there.

        The first one says how wide columns are. With a second one no column is left out for being empty.
        """
        first, second = next(pages, ()), next(pages, None)
        if second is None:
            self.sheet(Sheet(columns=columns, rows=first), wide=wide)
            return
        places = [place for place, each in enumerate(columns) if wide or not each.is_wide]
        rest = chain(first, second, chain.from_iterable(pages))
        shown = (tuple(row[place] for place in places) for row in rest)
        begin = [tuple(row[place] for place in places) for row in first]
        self._rows([columns[place] for place in places], begin, shown, wide=wide)

    def pairs(self, rows: list[tuple[str, str]], styles: Mapping[str, str] = _PLAIN) -> None:
        """Draw names and what they are, one below the other. Those that are nothing are left out.

        ``styles`` has those of some of them by their names.
        """
        told = [(name, said) for name, said in rows if said]
        width = max((len(name) for name, _ in told), default=0) + GAP
        for name, said in told:
            self._hanging(name.ljust(width), said, style=styles.get(name, ""), mark_style="bold")

    def title(self, said: str) -> None:
        """Draw a heading, with a blank line before it."""
        self.line("")
        self.line(said, style="bold")

    def line(self, said: str, *, style: str = "") -> None:
        """Draw a line, folded where it has to be."""
        self._hanging("", said, style=style)

    def item(self, said: str, *, mark: str = "-", style: str = "") -> None:
        """Draw an item of a list, whose further lines stand below its first."""
        self._hanging(f"{mark} ", said, style=style, mark_style=style)

    def _hanging(self, mark: str, said: str, *, style: str = "", mark_style: str = "") -> None:
        """Draw ``said`` behind ``mark``, and further lines of it below its first."""
        lines = wrapped(plain(said), max(1, self._width - cell_count(mark)))
        shown = f"{self._styled(mark, mark_style)}{self._styled(lines[0], style)}"
        self._output.write(f"{shown if lines[0] else shown.rstrip()}\n")
        blanks = " " * cell_count(mark)
        self._output.writelines(
            f"{blanks}{self._styled(each, style)}\n" if each else "\n" for each in lines[1:]
        )

    def _styled(self, said: str, style: str) -> str:
        return styled(said, style) if self._has_colours else said

    def _rows(
        self,
        columns: Sequence[Column],
        begin: Sequence[Row],
        rows: Iterable[Row],
        *,
        wide: bool,
        keeps_words: bool = False,
    ) -> None:
        """Draw a table by itself. ``begin`` are those of its rows that say how wide columns are.

        Where a terminal is so narrow that words such as states would be folded, a row is several lines.
        """
        limit = self._wide_width if wide else self._width
        has_names = any(column.is_name for column in columns)
        is_broken = wide or (has_names and not has_room(columns, begin, limit))
        maker = (BrokenRows if is_broken else RowLines)(
            columns, begin, limit, has_colours=self._has_colours, keeps_words=keeps_words
        )
        lines = chain(maker.titles(), chain.from_iterable(map(maker.lines, rows)))
        while said := "\n".join(islice(lines, AT_ONCE)):
            self._output.write(f"{said}\n")
            self._output.flush()

    def _table(self, sheet: Sheet) -> Table:
        from rich.table import Table  # noqa: PLC0415 - it takes 60 ms
        from rich.text import Text  # noqa: PLC0415

        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        for column in sheet.columns:
            table.add_column(
                column.title,
                justify="right" if column.is_right else "left",
                no_wrap=not column.is_folded,
                overflow="fold",
            )
        for row in sheet.rows:
            table.add_row(
                *(
                    Text(plain(said), style=tone(said) if column.is_toned else "")
                    for column, said in zip(sheet.columns, row, strict=True)
                )
            )
        return table

    def _draw(self, table: Table) -> None:
        from rich.console import Console  # noqa: PLC0415

        console = Console(
            file=self._output,
            width=self._width,
            color_system="standard" if self._has_colours else None,
            force_terminal=self._has_colours,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
        )
        with console.capture() as captured:
            console.print(table)
        # Without the blanks that fill lines up.
        self._output.writelines(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1])


def is_terminal(output: IO[str]) -> bool:
    """Return whether somebody looks at what is written."""
    try:
        return output.isatty()
    except ValueError:  # it is closed
        return False


def _has_colours(output: IO[str], environment: Mapping[str, str]) -> bool:
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal(output) and environment.get("TERM") != "dumb"


def _width(output: IO[str], environment: Mapping[str, str]) -> int:
    said = environment.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and 0 < int(said) < MOST_COLUMNS:
        return max(20, int(said))
    if not is_terminal(output):
        return UNLIMITED
    return max(20, shutil.get_terminal_size().columns)


def drawing() -> Drawing:
    """Return where the standard output is drawn."""
    return Drawing(sys.stdout)
