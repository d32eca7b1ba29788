"""Documents as they are answered: JSON with a line feed at its end, indented if ``?pretty`` is asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from aiohttp import web

_PIECE: Final = 2_000
"""Words of an indented document that are written in one go: about a millisecond."""
_NO: Final = frozenset({"0", "f", "false"})


async def json_answer(request: web.Request, document: Any, *, status: int = 200) -> web.Response:
    """Return ``document`` as an answer to ``request``."""
    if not _is_pretty(request):
        return _answer(json.dumps(document), status)
    return _answer(await joined(_indented(document)), status)


async def json_text_answer(request: web.Request, text: str) -> web.Response:
    """Return an answer whose document is written already."""
    if not _is_pretty(request):
        return _answer(text, 200)
    return await json_answer(request, json.loads(text))


async def joined(pieces: Iterable[str]) -> str:
    """Return all pieces as one text. Other requests get a turn between two pieces."""
    text: list[str] = []
    for piece in pieces:
        text.append(piece)
        await asyncio.sleep(0)
    return "".join(text)


def _is_pretty(request: web.Request) -> bool:
    return request.query.get("pretty", "false").lower() not in _NO


def _indented(document: Any) -> Iterator[str]:
    words = json.JSONEncoder(indent=2).iterencode(document)
    while piece := "".join(islice(words, _PIECE)):
        yield piece


def _answer(text: str, status: int) -> web.Response:
    return web.json_response(text=text + "\n", status=status)
