"""Debian's Chromium without a screen, driven by Playwright, which downloads nothing for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.patience import PATIENCE

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_MS: Final = PATIENCE * 1000
Scheme = Literal["light", "dark"]


def program() -> str | None:
    """Return the path of this machine's Chromium; None if it has none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def started() -> Iterator[Browser]:
    """Run a Chromium. Its pages share nothing."""
    flags = ["--disable-gpu", "--disable-dev-shm-usage"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # it refuses to make one for root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=flags)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser,
    url: str,
    *,
    width: int = 1280,
    height: int = 900,
    scheme: Scheme = "light",
    forgiven: str | None = None,
) -> Iterator[Page]:
    """Show ``url`` in a window of its own. Its scripts may complain of nothing but what is ``forgiven``."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        locale="en-GB",
    )
    context.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.extend(_complaint(message)))
    page.goto(url)
    try:
        yield page
    finally:
        context.close()
    assert [each for each in errors if forgiven is None or forgiven not in each] == []


def _complaint(message: Any) -> list[str]:
    """Return what the browser complains of. That nobody answers is told by the page itself."""
    is_error = (
        message.type in {"error", "warning"} and "Failed to load resource" not in message.text
    )
    return [message.text] if is_error else []
