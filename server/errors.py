"""Errors as documents, on every port."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_log = structlog.get_logger("http-server")

_OF_THE_BODY = frozenset(
    {"content-type", "content-length", "content-encoding", "transfer-encoding"}
)
"""Headers of the text of an error that is answered as a document instead. All others stay: where a redirect
leads, what is allowed."""


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
