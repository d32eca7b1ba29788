"""The documents as a site, in a browser: found by a search, readable anywhere, all from one host."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest
from playwright.sync_api import Browser, expect
from typing_extensions import override

from tests.support.browser.chromium import Scheme, opened
from tests.support.browser.seeing import grave_findings
from tests.support.patience import PATIENCE
from tests.support.project.checkout import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(180),
    pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs what make docs installs"),
]
PAGES = ["index.html", "concepts.html", "troubleshooting.html"]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of the site, made of this checkout."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (2560, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_loads_from_its_own_host_alone(
    browser: Browser, site: str, name: str, width: int, scheme: Scheme
) -> None:
    with opened(browser, "about:blank", width=width, scheme=scheme) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{site}/{name}")
        expect(page.locator("h1")).to_be_visible()
        page.wait_for_load_state("networkidle")
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert page.evaluate(wide) is False
        loaded = "[...document.images].every(each => each.complete && each.naturalWidth > 0)"
        assert page.evaluate(loaded) is True
        nameless = "[...document.querySelectorAll('article img')].filter(each => !each.alt).length"
        assert page.evaluate(nameless) == 0
        assert grave_findings(page) == []
    assert asked
    assert [url for url in asked if not url.startswith((f"{site}/", "data:", "blob:"))] == []


def test_the_search_finds_a_trouble_by_its_words(browser: Browser, site: str) -> None:
    with opened(browser, f"{site}/index.html") as page:
        page.get_by_role("textbox", name="Search").click()
        page.keyboard.type("ImagePullBackOff")
        found = page.locator(".md-search-result__link").filter(has_text="ImagePullBackOff").first
        found.click()
        expect(page.locator("article h3").filter(has_text="ImagePullBackOff")).to_be_visible()


def test_a_file_beside_the_documents_is_a_page_of_the_site(browser: Browser, site: str) -> None:
    with opened(browser, f"{site}/index.html") as page:
        page.get_by_role("link", name="Contributing", exact=True).last.click()
        expect(page.locator("h1").first).to_contain_text("Contributing")
        page.locator("article").get_by_role("link", name="Architecture").first.click()
        expect(page.locator("h2#rooms")).to_be_visible()
