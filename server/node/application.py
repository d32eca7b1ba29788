"""What the TLS port answers: each request is read once, allowed, and answered. On the server's loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import structlog
from aiohttp import hdrs, web

from messages.access import Identity
from server.access.asked import Asked, RefusedTarget, read_request
from server.access.identity import is_of_page
from server.endpoints import Endpoints
from server.json_answers import Handler
from server.node.access import NodeAccess
from server.node.clients import NodeConnection
from server.node.commands import CommandPages
from server.node.counts import ServedCounts, request_kind
from server.node.logs import LogPages

NOT_FOUND: Final = "404 page not found"
DISABLED: Final = "Debug endpoints are disabled."
NO_RUN: Final = "commands are run by exec, not by run: it would split the command at its spaces"
MOST_FIELDS: Final = 100
"""Of the head of a request."""
_READING: Final = ("GET", "HEAD")
_STREAMING: Final = ("GET", "POST")
_DEBUGGING: Final = frozenset(
    {"attach", "containerLogs", "debug", "exec", "logs", "portForward", "run", "runningpods"}
)
"""Roots that ``enableDebuggingHandlers: false`` switches off, each with this sentence."""

Page: TypeAlias = Callable[[web.Request, Asked, Identity], Awaitable[web.StreamResponse]]
_log = structlog.get_logger("node-server")


class NodeApplication:
    """The pages of the TLS port."""

    def __init__(
        self,
        access: NodeAccess,
        endpoints: Endpoints,
        logs: LogPages,
        commands: CommandPages,
        counts: ServedCounts,
        *,
        is_debuggable: bool,
    ) -> None:
        """``is_debuggable`` is ``enableDebuggingHandlers``."""
        self._access = access
        self._counts = counts
        self._is_debuggable = is_debuggable
        self._reads = _documents(endpoints)
        self._pages: Mapping[str, tuple[int, int, tuple[str, ...], Page]] = {
            "containerLogs": (4, 4, _READING, _for_all(logs.container_logs)),
            "exec": (4, 5, _STREAMING, commands.exec),
            "attach": (4, 5, _STREAMING, commands.attach),
            "portForward": (3, 4, _STREAMING, commands.port_forward),
        }
        """By root: the fewest and the most segments of a path, its methods, and what answers."""

    def application(self) -> web.Application:
        """Return what is to be served."""
        application = web.Application(middlewares=[_counted_by(self._counts), errors_as_text])
        application.router.add_route("*", "/{path:.*}", self.answer)
        application.on_response_prepare.append(_forbid_sniffing)
        return application

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request, if whoever sends it may have that. Raises the errors of HTTP."""
        connection = request.protocol
        assert isinstance(connection, NodeConnection)  # noqa: S101  # no other one is served
        connection.head_came()
        asked = _read_request(request, has_certificate=connection.identity is not None)
        identity = await self._access.identity(request)
        if asked.verb is None:
            raise web.HTTPMethodNotAllowed(request.method, ["GET"])
        is_certain = identity is connection.identity
        await self._access.require(identity, asked, is_certain=is_certain)
        return await self._page(request, asked, identity)

    async def _page(
        self, request: web.Request, asked: Asked, identity: Identity
    ) -> web.StreamResponse:
        root, length = asked.segments[0], len(asked.segments)
        if root in _DEBUGGING and not self._is_debuggable:
            raise web.HTTPMethodNotAllowed(request.method, [], text=DISABLED)
        if root == "run":
            raise web.HTTPMethodNotAllowed(request.method, [], text=NO_RUN)
        if root in self._pages:
            fewest, most, methods, page = self._pages[root]
            if fewest <= length <= most:
                _check_method(request, methods)
                return await page(request, asked, identity)
        document = self._reads.get(asked.segments)
        if document is None or (root == "configz" and not self._is_debuggable):
            raise web.HTTPNotFound(text=NOT_FOUND)
        _check_method(request, _READING)
        return await document(request)


def _documents(endpoints: Endpoints) -> Mapping[tuple[str, ...], Handler]:
    """Return what answers by the segments of a path: a closed list, whatever the other ports serve."""
    health, metrics = endpoints.health_routes(), endpoints.metric_routes()
    return {
        ("pods",): endpoints.pods,
        ("runningpods",): endpoints.running_pods,
        ("configz",): endpoints.configz,
        ("healthz",): health["/healthz"],
        ("healthz", "ping"): health["/healthz/ping"],
        ("healthz", "log"): health["/healthz/ping"],
        ("healthz", "syncloop"): health["/healthz"],
        ("metrics",): metrics["/metrics"],
        ("metrics", "probes"): metrics["/metrics/probes"],
    }


def _read_request(request: web.Request, *, has_certificate: bool) -> Asked:
    """Return what a request asks for. Raises the errors of HTTP for one that nobody is asked about."""
    if len(request.raw_headers) > MOST_FIELDS:
        raise web.HTTPRequestHeaderFieldsTooLarge(text=f"more than {MOST_FIELDS} headers")
    asked = read_request(request.method, request.raw_path)
    if isinstance(asked, RefusedTarget):
        raise web.HTTPBadRequest(text=asked.sentence)
    if asked is None:
        raise web.HTTPNotFound(text=NOT_FOUND)
    if is_of_page(request.headers.items(), has_certificate=has_certificate):
        raise web.HTTPForbidden(text="a page in a browser needs a token, and no certificate")
    if request.can_read_body:
        raise web.HTTPBadRequest(text="a request has no body here")
    return asked


def _for_all(page: Callable[[web.Request, Asked], Awaitable[web.StreamResponse]]) -> Page:
    """Return a page that is the same for everybody."""

    async def answer(request: web.Request, asked: Asked, identity: Identity) -> web.StreamResponse:
        del identity
        return await page(request, asked)

    return answer


def _check_method(request: web.Request, methods: tuple[str, ...]) -> None:
    if request.method not in methods:
        raise web.HTTPMethodNotAllowed(request.method, methods)


def _counted_by(counts: ServedCounts) -> Any:
    @web.middleware
    async def counted(request: web.Request, handler: Handler) -> web.StreamResponse:
        follows = request.rel_url.query.get("follow", "") not in {"", "0", "false"}
        kind = request_kind(request.method, request.raw_path, follows=follows)
        counts.note_begun(kind)
        try:
            return await handler(request)
        finally:
            counts.note_answered(kind)

    return counted


@web.middleware
async def errors_as_text(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Return errors as a sentence, and never with a traceback."""
    try:
        response = await handler(request)
    except web.HTTPException as error:
        response = web.Response(status=error.status, text=error.text)
        for name in (hdrs.ALLOW, hdrs.RETRY_AFTER, hdrs.UPGRADE):
            if name in error.headers:
                response.headers[name] = error.headers[name]
    except Exception:  # noqa: BLE001  # a bug in a handler: no actor is restarted for it
        _log.exception("request failed", root=request.path.split("/")[1][:20])
        response = web.Response(status=500, text="internal error, see the log")
    if hdrs.UPGRADE in request.headers:
        response.force_close()  # a refused stream that stays open would be a tunnel
    return response


async def _forbid_sniffing(_: web.Request, answer: web.StreamResponse) -> None:
    """Have browsers believe the type of an answer: the log of a container is no page."""
    answer.headers["X-Content-Type-Options"] = "nosniff"
