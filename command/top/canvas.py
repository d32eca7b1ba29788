"""The one widget: it shows lines, each of them anew only where it changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from command.tables import BAD, DOUBTFUL, FAINT, GOOD
from command.top.lines import BAR, BOLD, CHOSEN, Line

STYLES: Final = {
    "": Style(),
    GOOD: Style(color="green"),
    BAD: Style(color="red"),
    DOUBTFUL: Style(color="yellow"),
    FAINT: Style(dim=True),
    BAR: Style(dim=True),
    BOLD: Style(bold=True),
    CHOSEN: Style(reverse=True),
}
"""Colours of the terminal's own, so that they fit a light one and a dark one."""


class Canvas(Widget, can_focus=True):
    """Owns the lines that are shown. They are plain text: nothing in them is markup."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[Line] = []
        self._strips: list[Strip] = []

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines."""
        before, self._shown = self._shown, list(lines)
        if len(before) != len(lines):
            self._strips = [_strip(each) for each in lines]
            self.refresh()
            return
        for y, (old, new) in enumerate(zip(before, lines, strict=True)):
            if old != new:
                self._strips[y] = _strip(new)
                self.refresh(Region(0, y, self.size.width, 1))

    @override
    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        width = self.size.width
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(width)
        return strip.adjust_cell_length(width, Style())


def _strip(line: Line) -> Strip:
    return Strip([Segment(span.text, STYLES[span.tone]) for span in line])
