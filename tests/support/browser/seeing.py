"""What somebody sees on the page."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from playwright.sync_api import Locator, Page, expect

from tests.support.browser.chromium import PATIENCE_MS

AXE: Final = "axe.min.js"
GRAVE: Final = frozenset({"serious", "critical"})


def row(page: Page, name: str) -> Locator:
    """Return the row of a table whose header has ``name``."""
    header = page.locator("th[scope=row]").get_by_text(name, exact=True)
    return page.get_by_role("row").filter(has=header)


def shows(place: Locator, *texts: str) -> None:
    """Return once ``place`` has all texts."""
    for text in texts:
        expect(place).to_contain_text(text, timeout=PATIENCE_MS)


def is_on_the_first_screen(place: Locator, text: str) -> None:
    """Return once ``text`` is seen without scrolling."""
    expect(place.get_by_text(text).first).to_be_in_viewport(timeout=PATIENCE_MS)


def is_live(page: Page) -> None:
    """Return once the page says that it is live."""
    shows(page.locator("#live"), "live")
    expect(page.locator("#banner")).to_be_hidden(timeout=PATIENCE_MS)


def looks(page: Page) -> Locator:
    """Return the list of what needs a look."""
    return page.get_by_role("region", name="Needs a look")


def grave_findings(page: Page) -> list[str]:
    """Return what axe-core finds serious or critical, with the element."""
    page.evaluate(files("axe_playwright_python").joinpath(AXE).read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("() => axe.run()")
    assert found["passes"], "axe did not look at anything"
    return [
        f"{rule['id']}: {node['html']} {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]
