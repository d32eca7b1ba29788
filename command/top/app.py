"""The program in the terminal: keys and the mouse go to the session, its state to the canvas."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from typing import ClassVar, Final

from textual import events
from textual.app import App, ComposeResult
from textual.driver import Driver
from typing_extensions import override

from command.top.canvas import Canvas
from command.top.screen import screen
from command.top.state import TopState
from command.top.threads import TopThreads

TICK: Final = 0.1
"""Seconds after which changes are looked at, so that hundreds of them are one."""
ENDED_BY_SIGNAL: Final = 128
ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


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
        """End with the terminal as it was. Whoever started it says why, in a sentence."""
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
