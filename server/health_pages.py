"""The handlers of health and readiness, in the words of Kubernetes' own components."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from server import health
from server.backend import EndpointBackend
from server.health_questions import cluster_checks, healthiness, readiness
from server.hosts import gets_details, wants_details


class HealthPages:
    """The verdicts on one agent."""

    def __init__(self, backend: EndpointBackend) -> None:
        self._backend = backend

    def routes(self) -> dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]:
        """Return the handlers by path."""
        return {
            "/healthz": self.healthz,
            "/livez": self.livez,
            "/healthz/ping": self.ping,
            "/readyz": self.readyz,
            "/readyz/{source}": self.readyz_of_source,
        }

    async def ping(self, _request: web.Request) -> web.Response:
        """Return ``ok``: the server runs."""
        return web.Response(text="ok")

    async def healthz(self, request: web.Request) -> web.Response:
        """Return whether the agent's loops are well."""
        return await self._health(request, "healthz")

    async def livez(self, request: web.Request) -> web.Response:
        """Return the same as ``/healthz``, under its newer name."""
        return await self._health(request, "livez")

    async def _health(self, request: web.Request, name: str) -> web.Response:
        report = await healthiness(self._backend)
        return _report(request, report.checks, name, ok=report.ok)

    async def readyz(self, request: web.Request) -> web.Response:
        """Return whether any source has listed and pods can start, and the state of each."""
        report = await readiness(self._backend)
        checks = report.checks
        if not _is_one_word(request, ok=report.ok):
            checks = checks + await cluster_checks(self._backend)
        return _report(request, checks, "readyz", ok=report.ok)

    async def readyz_of_source(self, request: web.Request) -> web.Response:
        """Return whether one source has listed."""
        asked = request.match_info["source"]
        name = next((source for source in self._backend.sources if source == asked), None)
        if name is None:
            raise web.HTTPNotFound(text="there is no such source")
        checks = health.readiness(
            [await self._backend.source(name)], self._backend.system.clock.wall()
        )
        return _report(request, checks, "readyz", ok=all(check.ok for check in checks))


def _report(
    request: web.Request, checks: list[health.HealthCheck], name: str, *, ok: bool
) -> web.Response:
    if _is_one_word(request, ok=ok):
        return web.Response(text="ok")
    shown = checks if gets_details(request) else ()
    return web.Response(text=health.report(shown, name, ok=ok), status=200 if ok else 500)


def _is_one_word(request: web.Request, *, ok: bool) -> bool:
    """Return whether the answer is just ``ok``: all is well, and no details are asked for."""
    return ok and not wants_details(request)
