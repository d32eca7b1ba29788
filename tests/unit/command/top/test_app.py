"""The whole live view beside an agent, without a terminal: keys go in, lines come out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from textual.pilot import Pilot

from command.failures import StrangeAnswerError
from command.top.app import TopApp
from command.top.threads import TopThreads
from tests.support.command.live_agent import LiveAgent, live_agent, many_pods

Play = Callable[["Stage"], Awaitable[None]]


class Stage:
    """One run of the program on a screen that nobody sees."""

    def __init__(self, agent: LiveAgent, watch: TopThreads, app: TopApp, pilot: Pilot[int]) -> None:
        self.agent = agent
        self.watch = watch
        self.app = app
        self.pilot = pilot

    def text(self) -> str:
        """Return what is on the screen, as it is drawn."""
        canvas = self.app.query_one("Canvas")
        height = canvas.size.height
        return "\n".join(canvas.render_line(y).text.rstrip() for y in range(height))

    async def shows(self, *words: str, without: str = "\x00") -> str:
        """Return the screen once it has these words."""
        for _ in range(1_000):
            await self.pilot.pause(0.01)
            text = self.text()
            if all(word in text for word in words) and without not in text:
                return text
        raise AssertionError(f"no {words} in:\n{self.text()}")


@contextmanager
def watching(width: int, height: int) -> Iterator[tuple[LiveAgent, TopThreads]]:
    with live_agent() as (agent, api):
        watch = TopThreads(api, width, height)
        try:
            yield agent, watch
        finally:
            watch.close()


def played(
    play: Play,
    *,
    before: Callable[[LiveAgent], None] = lambda _: None,
    size: tuple[int, int] = (80, 24),
) -> TopApp:
    """Run the program, and what a test does to it; return it once it has ended."""
    with watching(*size) as (agent, watch):
        before(agent)

        async def run() -> TopApp:
            watch.start()
            app = TopApp(watch)
            async with app.run_test(size=size) as pilot:
                await play(Stage(agent, watch, app, pilot))
            return app

        return asyncio.run(run())


def test_what_changes_at_the_agent_changes_on_the_screen() -> None:
    async def play(stage: Stage) -> None:
        await stage.shows("web-edge-1", " live")
        row = next(each for each in stage.agent.rows["/ui/pods"] if "web" in each["key"])
        row["metadata"]["name"] = "renamed"
        stage.agent.tell("status", uid=row["metadata"]["uid"], phase="Running")
        await stage.shows("default/renamed", without="web-edge-1")

    assert played(play).fault is None


def test_events_that_are_lost_are_told_and_come_back() -> None:
    async def play(stage: Stage) -> None:
        await stage.shows("web-edge-1", " live")
        stage.agent.refusal = b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\n{}"
        stage.agent.cut_events()
        await stage.shows("not live", "web-edge-1", "This is as of")
        stage.agent.refusal = None
        await stage.pilot.press("r")
        text = await stage.shows(" live", without="as of")
        assert "not live" not in text

    assert played(play).fault is None


def test_keys_and_the_mouse_look_and_come_back() -> None:
    async def play(stage: Stage) -> None:
        await stage.shows("web-edge-1")
        await stage.pilot.press("slash", *"lacking", "enter")
        await stage.shows("1 pod (5 in all)")
        await stage.pilot.press("enter")
        await stage.shows("Secret default/nobody-made-it does not exist")
        await stage.pilot.press("escape", "tab")
        await stage.shows("MAILBOX", "pod-manager")
        await stage.pilot.click("Canvas", offset=(24, 2))
        await stage.shows("secret/default/nobody-made-it")
        await stage.pilot.press("question_mark")
        await stage.shows("Keys")
        await stage.pilot.press("q")

    app = played(play)
    assert (app.return_value, app.fault) == (0, None)


def test_ten_thousand_pods_are_scrolled_through_a_window_at_a_time() -> None:
    async def play(stage: Stage) -> None:
        await stage.shows("load-00000", "of 10,000")
        await stage.pilot.press("end")
        await stage.shows("load-09999")
        assert all("limit=57" in each for each in stage.agent.asked if each.startswith("/ui/pods"))

    played(play, before=lambda agent: many_pods(agent, 10_000))


def test_another_size_is_another_screen() -> None:
    async def play(stage: Stage) -> None:
        await stage.shows("web-edge-1")
        await stage.pilot.resize_terminal(40, 10)
        await stage.shows("top needs 60x15.")
        await stage.pilot.resize_terminal(60, 15)
        await stage.shows("web-edge-1", "q quit")

    played(play)


def test_an_agent_of_another_version_ends_it() -> None:
    async def play(stage: Stage) -> None:
        await stage.shows("web-edge-1")
        stage.agent.instead["/ui/agent"] = None
        await stage.pilot.press("r")
        for _ in range(1_000):
            await stage.pilot.pause(0.01)
            if stage.watch.session.failure is not None:
                break
        assert isinstance(stage.watch.session.failure, StrangeAnswerError)

    assert played(play).return_value == StrangeAnswerError.exit_code


def test_an_error_of_ours_ends_it_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_state: object) -> object:
        raise ZeroDivisionError("a fault")

    async def play(stage: Stage) -> None:
        await stage.shows("web-edge-1")
        monkeypatch.setattr("command.top.app.screen", fails)
        stage.watch.session.key("down", None)
        for _ in range(1_000):
            await asyncio.sleep(0.01)
            if stage.app.fault is not None:
                return

    app = played(play)
    assert isinstance(app.fault, ZeroDivisionError)
