"""The program in the terminal: keys and the mouse go to the session, its state to the one widget."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from command.tables import BAD, DOUBTFUL, FAINT, GOOD
from command.top.lines import BAR, BOLD, CHOSEN, Line
from command.top.screen import screen
from command.top.state import TopState
from command.top.threads import TopThreads

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

TICK: Final = 0.1
"""Seconds after which changes are looked at, so that hundreds of them are one."""
ENDED_BY_SIGNAL: Final = 128
ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


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


class TopApp(App[int]):
    """The screen."""

    ENABLE_COMMAND_PALETTE = False
    CSS: ClassVar[str] = "Screen { overflow: hidden; } Canvas { width: 100%; height: 100%; }"

    def __init__(self, watch: TopThreads, driver_class: type[Driver] | None = None) -> None:
        super().__init__(driver_class=driver_class, ansi_color=True)
        self.theme = "ansi-dark"
        self.fault: Exception | None = None
        """An error of ours that ended it."""
        self._watch = watch
        self._session = watch.session
        self._canvas = Canvas()
        self._drawn: TopState | None = None

    @override
    def compose(self) -> ComposeResult:
        yield self._canvas

    def on_mount(self) -> None:
        """Begin to show what is known."""
        self._canvas.focus()
        self._watch.inbox.opened(lambda: self.call_later(self.proceed))
        self.set_interval(TICK, self.proceed)
        self.proceed()
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in ENDING:
                loop.add_signal_handler(number, self._ended, number)

    def on_resize(self, event: events.Resize) -> None:
        """Use the whole terminal."""
        self._session.resized(event.size.width, event.size.height)
        self.draw()

    def proceed(self) -> None:
        """Take what came, ask what is due, and show it."""
        self._watch.proceed()
        if self._session.failure is not None:
            self.exit(self._session.failure.exit_code)
        elif self._visible() != self._drawn:
            self.draw()

    def draw(self) -> None:
        """Show the state."""
        self._drawn = self._visible()
        self._canvas.show(screen(self._session.state))

    def _visible(self) -> TopState:
        """Return what the screen follows from: ages are shown in whole seconds."""
        state = self._session.state
        return replace(state, now=float(int(state.now)))

    def on_key(self, event: events.Key) -> None:
        """Do what a key stands for."""
        event.stop()
        event.prevent_default()
        if self._session.key(event.key, event.character):
            self.exit(0)
        else:
            self.draw()

    def on_click(self, event: events.Click) -> None:
        """Do what a click stands for."""
        self._session.click(event.screen_x, event.screen_y)
        self.draw()

    def on_mouse_scroll_down(self, _event: events.MouseScrollDown) -> None:
        """Scroll down."""
        self._session.wheel(1)
        self.draw()

    def on_mouse_scroll_up(self, _event: events.MouseScrollUp) -> None:
        """Scroll up."""
        self._session.wheel(-1)
        self.draw()

    def on_paste(self, event: events.Paste) -> None:
        """Use a text from the clipboard."""
        self._session.paste(event.text)
        self.draw()

    def _ended(self, number: signal.Signals) -> None:
        self.exit(ENDED_BY_SIGNAL + number)

    @override
    def _handle_exception(self, error: Exception) -> None:
        """End with the terminal as it was. The caller says why, in a sentence."""
        if self.fault is None:
            self.fault = error
        self.exit(1)


def run_top(watch: TopThreads) -> int:
    """Show the live view until somebody ends it; return the exit code. Raises what ended it otherwise."""
    app = TopApp(watch)
    code = app.run()
    if app.fault is not None:
        raise app.fault
    if watch.session.failure is not None:
        raise watch.session.failure
    return code or 0
