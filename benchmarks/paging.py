"""The page beside a crowd of pods: until it can be used, and what it costs the agent while it is open."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final

from playwright.sync_api import Browser, Page

from benchmarks.agent import Agent, pause
from benchmarks.crowds import crowd, write
from benchmarks.row import WORST, Row, Target, spread
from tests.support.browser import chromium

ROWS: Final = 50
"""Rows of a page of the table."""
CHURN_EVERY: Final = 1.0
"""Seconds between two pods that are changed, where something happens."""


def page_rows(*, quick: bool) -> list[Row]:
    """Return the time until its rows are there, and the agent's processor time; none without Chromium."""
    if chromium.program() is None:
        return []
    times, window = (1, 4.0) if quick else (5, 30.0)
    with crowd(quick=quick) as (agent, pods):
        browser = _Window(agent)
        with chromium.started() as program:
            waits = [browser.usable(program) for _ in range(times)]
            idle = browser.cost(program, window, lambda _: None)
            churning = browser.cost(program, window, lambda number: write(agent, 0, number + 2))
    size = f"page beside {pods:,} hollow pods"
    usable = Row(
        what=f"{size}: until its rows are there",
        unit="ms",
        figures=spread(waits, 1e3),
        samples=len(waits),
        target=Target(1_000.0),
        judged=WORST,
    )
    return [
        usable,
        _cost(f"{size}: what an open one costs the agent, nothing happens", idle),
        _cost(f"{size}: the same, a pod is changed each second", churning),
    ]


def _cost(what: str, percent: float) -> Row:
    return Row(what=what, unit="%", figures={"of a core": percent}, samples=1, target=Target(5.0))


class _Window:
    """A window of a browser with the page of an agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._url = f"http://127.0.0.1:{agent.port}/"

    def usable(self, browser: Browser) -> float:
        """Open the page in a window of its own; return the seconds from its address until its rows."""
        with chromium.opened(browser, self._url) as page:
            _wait_for_rows(page)
            return float(page.evaluate("() => performance.now()")) / 1e3

    def cost(self, browser: Browser, window: float, churn: Callable[[int], None]) -> float:
        """Return by how many percent of a core the agent works more while the page is open."""
        without = self._percent(window, churn)
        with chromium.opened(browser, self._url) as page:
            _wait_for_rows(page)
            page.wait_for_timeout(5_000)  # what it asks for once is asked for
            return self._percent(window, churn, page) - without

    def _percent(
        self, window: float, churn: Callable[[int], None], page: Page | None = None
    ) -> float:
        began, before = perf_counter(), self._agent.cpu_seconds()
        number = 0
        while perf_counter() - began < window:
            churn(number)
            number += 1
            if page is None:
                pause(CHURN_EVERY)
            else:
                page.wait_for_timeout(CHURN_EVERY * 1e3)  # its messages are handled meanwhile
        return (self._agent.cpu_seconds() - before) / (perf_counter() - began) * 100


def _wait_for_rows(page: Page) -> None:
    page.locator("th[scope=row]").nth(ROWS - 1).wait_for(state="attached")
