"""Fixtures for tests that look at the page with a browser. They are marked ``browser``.

All of them run in one process, since a browser is large. Playwright runs a loop of its own in the main
thread, so the browser is closed at the end of each module: tests of others may need a loop there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.agent.process import AgentProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Opener = Callable[..., "Page"]
WHY_SKIPPED = "needs Debian's package chromium"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests with a browser in one process."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a running browser. Skip where there is none; in CI fail: nothing is left out there."""
    from tests.support.browser import chromium  # noqa: PLC0415  # a second, for those who need it

    if chromium.program() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(WHY_SKIPPED)
        pytest.skip(WHY_SKIPPED)
    with chromium.started() as browser:
        yield browser


@pytest.fixture
def look_at(browser: Browser) -> Iterator[Opener]:
    """Return what opens a page of an agent: ``look_at(agent, "#/actors", width=360)``."""
    from tests.support.browser import chromium  # noqa: PLC0415

    with ExitStack() as pages:

        def opened(agent: AgentProcess, fragment: str = "", **options: object) -> Page:
            url = f"http://127.0.0.1:{agent.port}/{fragment}"
            return pages.enter_context(chromium.opened(browser, url, **options))  # type: ignore[arg-type]

        yield opened


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    """Return an agent that is not started yet."""
    with AgentProcess(tmp_path) as agent:
        yield agent
