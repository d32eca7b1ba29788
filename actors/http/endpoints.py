"""Which path answers what. Each request asks the actors anew: there is nothing in between to go stale."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from actors.http import documents, health, metrics
from actors.http.state import Surroundings
from actors.kernel import ActorCrashedError, ActorDeadError, AskTimeoutError, asking

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

UNAVAILABLE = (AskTimeoutError, ActorDeadError, ActorCrashedError)


class Endpoints:
    """The handlers, for one agent."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._of = surroundings

    def health_application(self) -> web.Application:
        """Return what the healthz port serves."""
        return self._application(self._health_routes())

    def application(self) -> web.Application:
        """Return what the read-only port serves."""
        routes = {
            "/": self.index,
            "/pods": self.pods,
            "/metrics": self.metrics,
            "/configz": self.configz,
            "/sourcez": self.sourcez,
            "/actorz": self.actorz,
        }
        application = self._application(self._health_routes() | routes)
        if self._of.chaos:
            application.router.add_post("/debug/actors/{name:.+}/crash", self.crash)
        return application

    def _health_routes(self) -> dict[str, Handler]:
        return {
            "/healthz": self.healthz,
            "/livez": self.healthz,
            "/healthz/ping": self.ping,
            "/readyz": self.readyz,
            "/readyz/{source}": self.readyz_of_source,
        }

    def _application(self, routes: dict[str, Handler]) -> web.Application:
        application = web.Application(middlewares=[_errors_as_json])
        for path, handler in routes.items():
            application.router.add_get(path, handler)
        return application

    async def index(self, request: web.Request) -> web.Response:
        """List the paths there are."""
        resources = request.app.router.resources()
        return web.json_response({"paths": sorted({each.canonical for each in resources})})

    async def ping(self, _request: web.Request) -> web.Response:
        """Say that somebody is there."""
        return web.Response(text="ok")

    async def healthz(self, request: web.Request) -> web.Response:
        """Say whether the agent's loops are well."""
        checks = [health.Check(name="pod-manager/answers", ok=True)]
        try:
            await self._of.pods()
        except UNAVAILABLE as error:
            checks = [health.Check(name="pod-manager/answers", ok=False, text=str(error))]
        checks += health.loops(await self._of.tree())
        return _report(request, checks, "healthz", ok=all(check.ok for check in checks))

    async def readyz(self, request: web.Request) -> web.Response:
        """Say whether any source has listed, and how each is."""
        checks = health.readiness(await self._of.described_sources(), self._of.system.clock.wall())
        return _report(request, checks, "readyz", ok=health.is_ready(checks))

    async def readyz_of_source(self, request: web.Request) -> web.Response:
        """Say whether one source has listed."""
        name = next((s for s in self._of.sources if s == request.match_info["source"]), None)
        if name is None:
            raise web.HTTPNotFound(text="there is no such source")
        checks = health.readiness([await self._of.source(name)], self._of.system.clock.wall())
        return _report(request, checks, "readyz", ok=all(check.ok for check in checks))

    async def pods(self, _request: web.Request) -> web.Response:
        """Return the pods that this node should have."""
        return web.json_response(documents.pod_list(await self._of.pods()))

    async def configz(self, _request: web.Request) -> web.Response:
        """Return the configuration in effect."""
        return web.json_response(self._of.configuration)

    async def sourcez(self, _request: web.Request) -> web.Response:
        """Return what became of every manifest."""
        return web.json_response(documents.sources(await self._of.described_sources()))

    async def actorz(self, _request: web.Request) -> web.Response:
        """Return the tree of actors."""
        return web.json_response(documents.actors(await self._of.tree()))

    async def metrics(self, _request: web.Request) -> web.Response:
        """Return the metrics."""
        telemetry = self._of.system.telemetry
        measured = metrics.Measured(
            node_name=self._of.node_name,
            pods=await self._of.pods(),
            sources=await self._of.described_sources(),
            tree=await self._of.tree(),
            roles=telemetry.statistics(),
            dead_letters=telemetry.dead_letters(),
        )
        return web.Response(
            body=metrics.exposition(measured), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def crash(self, request: web.Request) -> web.Response:
        """Make an actor fail."""
        if "Origin" in request.headers:
            # Sent by browsers: a page that somebody visits must not crash the agent of this machine.
            raise web.HTTPForbidden(text="not from a browser")
        name = request.match_info["name"]
        if not await asking.crash(self._of.system, name):
            raise web.HTTPNotFound(text=f"there is no actor {name}")
        return web.json_response({"crashed": name}, status=202)


def _report(
    request: web.Request, checks: list[health.Check], name: str, *, ok: bool
) -> web.Response:
    status = 200 if ok else 500
    if ok and "verbose" not in request.query:
        return web.Response(text="ok", status=status)
    return web.Response(text=health.report(checks, name, ok=ok), status=status)


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer failures in the shape of everything else, and never with a traceback."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        return _error(error.status, error.text or error.reason, error.headers.get("Allow"))
    except UNAVAILABLE as error:
        return _error(503, str(error), None)


def _error(status: int, text: str, allow: str | None) -> web.Response:
    body: dict[str, Any] = {"error": text, "code": status}
    headers = {"Allow": allow} if allow else {}
    return web.Response(
        text=json.dumps(body), status=status, content_type="application/json", headers=headers
    )
