"""What a page of the site would have a browser load from another host: there must be nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from typing_extensions import override

# A browser follows these by itself. Where <a href> leads is for the reader to decide.
LOADED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
NAMED_ONLY = ("alternate", "canonical", "next", "prev")
"""What a link says of its page without having anything loaded."""
ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
IN_STYLES = re.compile(
    r"""(?:url\(\s*|@import\s+)["']?((?:[a-z][a-z0-9+.-]*:)?//[^"')\s;]*)""", re.IGNORECASE
)


class _Loads(HTMLParser):
    """Collects what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "link" and dict(attrs).get("rel") in NAMED_ONLY:
            return
        for name, value in attrs:
            if name == "style":
                self.found += in_styles(value or "")
            elif name in LOADED.get(tag, ()):
                self.found += [each for each in (value or "").split() if ELSEWHERE.match(each)]


def in_page(text: str) -> list[str]:
    """Return the addresses of other hosts that the page ``text`` loads."""
    loads = _Loads()
    loads.feed(text)
    blocks = re.findall(r"<style\b[^>]*>(.*?)</style>", text, flags=re.DOTALL | re.IGNORECASE)
    return loads.found + [each for block in blocks for each in in_styles(block)]


def in_styles(text: str) -> list[str]:
    """Return the addresses of other hosts that the style sheet ``text`` loads."""
    return IN_STYLES.findall(text)


def in_site(folder: Path) -> list[str]:
    """Return a sentence for each thing of another host that the site in ``folder`` loads."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".html", ".svg"):
            addresses = in_page(path.read_text())
        elif path.suffix == ".css":
            addresses = in_styles(path.read_text())
        else:
            continue
        found += [f"{path.relative_to(folder)} loads {address}" for address in addresses]
    return found
