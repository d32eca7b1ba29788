"""Documents as they are answered: JSON with a line feed at its end, indented if ``?pretty`` is asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import structlog
from aiohttp import web

from kernel import Clock
from messages.units import Seconds

_PIECE: Final = 2_000
"""Words of an indented document that are written in one go: about a millisecond."""
_ITEMS: Final = 100
"""Items of a list that are written in one go: a few milliseconds for pods. No other thread runs meanwhile."""
_NO_HEADERS: Final[Mapping[str, str]] = {}
KEPT_AT_MOST: Final = Seconds(1.0)
"""How old a kept text may get."""
WORTH_KEEPING: Final = 200_000
"""Characters. A shorter text is made for each request: who has heard of a change reads it there."""
_TIMES_ITS_COST: Final = 20
"""A text that took 40 ms is kept for 0.8 s. Who asks again and again takes a twentieth of a core at most."""
NO: Final = frozenset({"0", "f", "false"})
"""What means no in a query."""

_log = structlog.get_logger("http-server")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_OF_THE_BODY = frozenset(
    {"content-type", "content-length", "content-encoding", "transfer-encoding"}
)
"""Headers of the text of an error that is answered as a document instead. All others stay: where a redirect
leads, what is allowed."""


async def json_answer(
    request: web.Request,
    document: Any,
    *,
    status: int = 200,
    headers: Mapping[str, str] = _NO_HEADERS,
) -> web.Response:
    """Return ``document`` as an answer to ``request``."""
    pieces = _indented(document) if _is_pretty(request) else compact(document)
    return _answer(await joined(pieces), status, headers)


async def json_text_answer(request: web.Request, text: str) -> web.Response:
    """Return an answer whose document is written already."""
    if not _is_pretty(request):
        return _answer(text, 200)
    return await json_answer(request, json.loads(text))


class KeptText:
    """A text that is costly to make. It is kept for 20 times as long as it took, and for a second at most.

    A text of less than ``WORTH_KEEPING`` is made for each request. One that could not be made is not kept.
    """

    def __init__(self, make: Callable[[], Awaitable[str]], clock: Clock) -> None:
        self._make = make
        self._clock = clock
        self._text = ""
        self._kept_until = Seconds(0.0)

    async def get(self) -> str:
        """Return the text, made now or at most ``KEPT_AT_MOST`` ago. Raise what making it raises."""
        began = self._clock.monotonic()
        if began < self._kept_until:
            return self._text
        text = await self._make()
        took = self._clock.monotonic() - began
        if len(text) < WORTH_KEEPING:
            return text
        self._text = text
        self._kept_until = Seconds(began + min(_TIMES_ITS_COST * took, KEPT_AT_MOST))
        return text


async def streamed_answer(
    request: web.Request, pieces: Iterable[str], headers: Mapping[str, str] = _NO_HEADERS
) -> web.StreamResponse:
    """Return an answer that is sent while it is made, so that a long one is never in memory as a whole.

    It ends where it is if the client hangs up.
    """
    if _is_pretty(request):
        return await json_answer(request, json.loads(await joined(pieces)), headers=headers)
    kind = {"Content-Type": "application/json; charset=utf-8"}
    response = web.StreamResponse(headers={**headers, **kind})
    try:
        await _send(request, response, pieces)
    except ConnectionError:
        _log.debug("a client hung up in the middle of its answer", path=request.path)
    return response


async def _send(request: web.Request, response: web.StreamResponse, pieces: Iterable[str]) -> None:
    await response.prepare(request)
    if request.method != "HEAD":
        for piece in pieces:
            await response.write(piece.encode())
            await asyncio.sleep(0)
        await response.write(b"\n")
    await response.write_eof()


async def joined(pieces: Iterable[str]) -> str:
    """Return all pieces as one text. Other requests get a turn between two pieces."""
    text: list[str] = []
    for piece in pieces:
        text.append(piece)
        await asyncio.sleep(0)
    return "".join(text)


def compact(document: Any) -> Iterator[str]:
    """Yield what ``json.dumps`` makes of ``document``, with the lists of an object in pieces."""
    if not isinstance(document, dict) or not document:
        yield json.dumps(document)
        return
    before = "{"
    for name, value in document.items():
        yield f"{before}{json.dumps(name)}: "
        yield from _items(value) if isinstance(value, list) else (json.dumps(value),)
        before = ", "
    yield "}"


def _items(values: list[Any]) -> Iterator[str]:
    before = "["
    for start in range(0, len(values), _ITEMS):
        yield before + json.dumps(values[start : start + _ITEMS])[1:-1]
        before = ", "
    yield "]" if values else "[]"


def is_told(query: Mapping[str, str], name: str) -> bool:
    """Return whether ``query`` has ``name``, and does not say no."""
    return query.get(name, "false").lower() not in NO


def _is_pretty(request: web.Request) -> bool:
    return is_told(request.query, "pretty")


def _indented(document: Any) -> Iterator[str]:
    words = json.JSONEncoder(indent=2).iterencode(document)
    while piece := "".join(islice(words, _PIECE)):
        yield piece


def _answer(text: str, status: int, headers: Mapping[str, str] = _NO_HEADERS) -> web.Response:
    return web.json_response(text=text + "\n", status=status, headers=headers)


@web.middleware
async def errors_as_json(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Return errors as JSON, and never with a traceback."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        kept = {
            name: each for name, each in error.headers.items() if name.lower() not in _OF_THE_BODY
        }
        return _error(error.status, error.text or error.reason, kept)
    except Exception:  # noqa: BLE001  # a bug in a handler: no actor is restarted for it
        _log.exception("request failed", path=request.path)
        return _error(500, "internal error, see the log", {})


def _error(status: int, text: str, headers: Mapping[str, str]) -> web.Response:
    body: dict[str, Any] = {"error": text, "code": status}
    return web.Response(
        text=json.dumps(body) + "\n",
        status=status,
        content_type="application/json",
        headers=headers,
    )
