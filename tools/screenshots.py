"""Makes the pictures of the page in ``docs/images``: ``make screenshots``. Needs Debian's chromium."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from tests.support.agent.process import ROOT, AgentProcess
from tests.support.browser.chromium import Scheme, opened, started
from tests.support.browser.seeing import is_live, looks, row, shows
from tools.terminal_pictures import take_terminal_pictures

IMAGES = ROOT / "docs" / "images"
PICTURES: tuple[tuple[str, str, int, int, Scheme], ...] = (
    ("page-light", "#/", 1280, 800, "light"),
    ("page-dark", "#/", 1280, 800, "dark"),
    ("page-narrow", "#/", 360, 720, "dark"),
    ("page-wide", "#/", 2560, 1000, "light"),
    ("pod-light", "#/pods/", 1280, 900, "light"),
    ("actors-dark", "#/actors", 1280, 800, "dark"),
)
BROKEN = "apiVersion: v1\nkind: Pod\nmetadata: {name: shop}\nspec:\n  containrs: []\n"


def main() -> None:
    """Start an agent on the examples, and take pictures of its page."""
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentProcess(Path(folder)) as agent,
        started() as browser,
    ):
        for name in ("etcd", "logging", "web", "batch"):
            agent.write(f"{name}.yaml", (ROOT / f"examples/manifests/{name}.yaml").read_text())
        for name in ("crash-loop", "image-error"):
            agent.write(f"{name}.yaml", (ROOT / f"examples/hollow/{name}.yaml").read_text())
        agent.write("shop.yaml", BROKEN)
        agent.start_on_manifests()
        _take_pictures(browser, agent)
        take_terminal_pictures(IMAGES, agent.port)


def _take_pictures(browser: Browser, agent: AgentProcess) -> None:
    failing = agent.pods()["crash-loop-node1"]
    for name, view, width, height, scheme in PICTURES:
        target = view + failing if view == "#/pods/" else view
        url = f"http://127.0.0.1:{agent.port}/{target}"
        with opened(browser, url, width=width, height=height, scheme=scheme) as page:
            is_live(page)
            if view == "#/":
                shows(looks(page), "shop.yaml", "crash-loop-node1", "image-error-node1")
                shows(row(page, "web-node1"), "Running")
            elif view == "#/actors":
                shows(row(page, "status-keeper"), "running")
            else:
                shows(page.get_by_role("region", name="Timeline"), "exit code 1")
            page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")


if __name__ == "__main__":
    main()
