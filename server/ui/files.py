"""The files of the page, read once, and the headers that browsers get with them.

The page is files made by hand: no build step, nothing from elsewhere. The browser is told to run and to show
nothing but these, and to refuse texts as markup.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import ETag, web

INDEX: Final = "index.html"
KINDS: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The Content-Security-Policy of every file. The last two make the browser refuse markup made of texts."""

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # asked for each time, so that files of two versions never mix
    "Vary": "Accept",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """One file of the page."""

    body: bytes
    kind: str
    tag: str
    """Another one for another content."""


def static_files() -> dict[str, StaticFile]:
    """Return the files of the page by name. Blocks for the time of reading them."""
    folder = Path(__file__).with_name("static")
    return {path.name: _read(path) for path in sorted(folder.iterdir()) if path.suffix in KINDS}


def tag_of(files: Mapping[str, StaticFile]) -> str:
    """Return what tells this page from that of another version."""
    tags = "".join(each.tag for each in files.values())
    return hashlib.sha256(tags.encode()).hexdigest()[:16]


def file_answer(request: web.Request, file: StaticFile) -> web.Response:
    """Return ``file``, or that the browser has it already."""
    tag = ETag(value=file.tag)
    known = request.if_none_match or ()
    if any(each.value in {file.tag, "*"} for each in known):
        response = web.Response(status=304, headers=HEADERS)
    else:
        response = web.Response(
            body=file.body, content_type=file.kind, charset="utf-8", headers=HEADERS
        )
    response.etag = tag
    return response


def wants_page(request: web.Request) -> bool:
    """Return whether the client is a browser that shows pages, not a program."""
    kinds = (
        each.partition(";")[0].strip().lower()
        for each in request.headers.get("Accept", "").split(",")
    )
    return "text/html" in kinds


def _read(path: Path) -> StaticFile:
    body = path.read_bytes()
    return StaticFile(body=body, kind=KINDS[path.suffix], tag=hashlib.sha256(body).hexdigest()[:32])
