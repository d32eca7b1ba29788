"""The handlers of health and readiness, and what they ask the actors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from server import health, questions
from server.backend import EndpointBackend
from server.health import HealthCheck
from server.hosts import gets_details, wants_details
from server.questions import Unanswered


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHealth:
    """A verdict, and the checks that it follows from."""

    ok: bool
    checks: list[HealthCheck]
    """Those that count, and behind them those that are only shown."""


async def healthiness(backend: EndpointBackend) -> AgentHealth:
    """Return whether the agent's loops are well."""
    answer, tree, runtime = await asyncio.gather(
        backend.ask(questions.POD), backend.summary(), backend.ask(questions.CONTAINER_RUNTIME)
    )
    checks = [health.answers("pod-manager", answer), health.answers("tree", tree)]
    shown = []
    if not isinstance(tree, Unanswered):
        checks += health.loops(tree)
        shown = health.members(tree)
    checks += [health.pleg(runtime)] if runtime is not None else []
    return AgentHealth(ok=all(check.ok for check in checks), checks=checks + shown)


async def readiness(backend: EndpointBackend) -> AgentHealth:
    """Return whether any source has listed and pods can start, and the state of each source."""
    sources, runtime = await asyncio.gather(
        backend.all_sources(), backend.ask(questions.CONTAINER_RUNTIME)
    )
    checks = health.readiness(sources, backend.system.clock.wall())
    of_runtime = health.container_runtime(runtime) if runtime is not None else []
    ok = health.is_ready(checks) and all(check.ok for check in of_runtime)
    return AgentHealth(ok=ok, checks=checks + of_runtime)


async def cluster_checks(backend: EndpointBackend) -> list[HealthCheck]:
    """Return checks of the API server and of statuses there. None for a standalone agent.

    They are shown only: pods run without the API server, so its troubles make nothing unready.
    """
    cluster = await backend.cluster_state()
    if cluster is None:
        return []
    statuses = await backend.ask(questions.STATUSES)
    checks = [health.api_server(cluster)]
    return checks if statuses is None else [*checks, health.pod_statuses(statuses)]


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
