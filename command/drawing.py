"""Draws tables and lines for whoever reads: colours on a terminal only, and lines as wide as it is.

rich takes 60 ms to import, so only what is about to draw imports this module.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import IO, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from command.tables import Sheet, tone
from command.wording import plain

UNLIMITED: Final = 4_000
"""Columns where nobody looks: whoever reads a file or a pipe wants whole lines."""
GAP: Final = 2
"""Columns between two columns of a table."""


class Drawing:
    """Where tables and lines go."""

    def __init__(self, output: IO[str], environment: Mapping[str, str] = os.environ) -> None:
        self._output = output
        self._width = _width(output, environment)
        has_colours = _has_colours(output, environment)
        self._console = Console(
            file=output,
            color_system="standard" if has_colours else None,
            force_terminal=has_colours,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
        )

    def sheet(self, sheet: Sheet, *, wide: bool = False) -> None:
        """Draw a table, without lines around it. The wide one is as wide as it has to be."""
        shown = sheet.shown(wide=wide)
        width = UNLIMITED if wide else None
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        for column in shown.columns:
            table.add_column(
                column.title,
                justify="right" if column.is_right else "left",
                no_wrap=not column.is_folded,
                overflow="fold",
            )
        for row in shown.rows:
            table.add_row(
                *(
                    Text(plain(said), style=tone(said) if column.is_toned else "")
                    for column, said in zip(shown.columns, row, strict=True)
                )
            )
        self._draw(table, width=width)

    def pairs(self, rows: list[tuple[str, str]]) -> None:
        """Draw names and what they are, one below the other. Those that are nothing are left out."""
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
        table.add_column(no_wrap=True, style="bold")
        table.add_column(overflow="fold")
        for name, said in rows:
            if said:
                table.add_row(Text(name), Text(plain(said)))
        self._draw(table)

    def title(self, said: str) -> None:
        """Draw a heading, with a blank line before it."""
        self.line("")
        self.line(said, style="bold")

    def line(self, said: str, *, style: str = "") -> None:
        """Draw a line, folded where it has to be."""
        self._draw(Text(plain(said), style=style))

    def item(self, said: str, *, mark: str = "-", style: str = "") -> None:
        """Draw an item of a list, whose further lines stand below its first."""
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row(Text(mark, style=style), Text(plain(said), style=style))
        self._draw(table)

    def _draw(self, what: Table | Text, *, width: int | None = None) -> None:
        self._console.width = width or self._width
        with self._console.capture() as captured:
            self._console.print(what)
        # Without the blanks that fill lines up.
        self._output.writelines(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1])


def is_terminal(output: IO[str]) -> bool:
    """Return whether somebody looks at what is written."""
    try:
        return output.isatty()
    except ValueError:  # it is closed
        return False


def _has_colours(output: IO[str], environment: Mapping[str, str]) -> bool:
    is_plain = environment.get("NO_COLOR") or environment.get("TERM") == "dumb"
    return is_terminal(output) and not is_plain


def _width(output: IO[str], environment: Mapping[str, str]) -> int:
    said = environment.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and 0 < int(said) < UNLIMITED:
        return max(20, int(said))
    if not is_terminal(output):
        return UNLIMITED
    return max(20, shutil.get_terminal_size().columns)


def drawing() -> Drawing:
    """Return where the standard output is drawn."""
    return Drawing(sys.stdout)
