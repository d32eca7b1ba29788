"""The handlers of all paths. Each request asks the actors; nothing is cached, so nothing can be stale."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import structlog
from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from messages.change_hooks import ChangeHooksDescribed
from messages.container_logs import ContainerLogsDescribed
from messages.container_runtime_health import ContainerRuntimeDescribed
from messages.images import ImagesDescribed
from messages.pod_lives import PodLivesDescribed
from messages.pod_runtime import RuntimeDescribed
from messages.pods import PodUid
from messages.statuses import PodStatus, StatusesDescribed
from messages.tokens import TokensDescribed
from messages.volume_state import VolumesDescribed
from server import documents, health, metrics
from server.answers import Unanswered
from server.backend import EndpointBackend
from server.brief_pods import PodsAsked
from server.control.console import ContainerConsole
from server.control.pages import ControlPages
from server.control.peers import allowed_users, only_users
from server.event_streams import EventStreams
from server.health_questions import cluster_checks, healthiness, readiness
from server.hosts import gets_details, only_for, wants_details
from server.json_answers import is_told, joined, json_answer, json_text_answer, streamed_answer
from server.object_pages import watchz
from server.pod_metrics import RunningState
from server.pod_pages import pod_list, running_pods
from server.probe_pages import ProbeState, probe_exposition, probez
from server.serving import EXEMPT
from server.ui.files import wants_page
from server.ui.pages import UiPages
from server.verdicts import choice_of
from server.volume_pages import volumez

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
T = TypeVar("T")

STATUSES_HEADER = "Actorlet-Statuses"
"""Of ``/pods`` and ``/runningpods``: present if the statuses are not those that the node gives at present."""

NO_ROUTES: Mapping[str, Handler] = {}

_log = structlog.get_logger("http-server")


class Endpoints:
    """The handlers of one agent."""

    def __init__(self, backend: EndpointBackend) -> None:
        self._backend = backend
        self._streams = EventStreams(backend)
        self._pages = UiPages(backend)

    def health_application(self) -> web.Application:
        """Return what the healthz port serves, verdicts for whatever host is asked for."""
        return self._application(self._health_routes(), others_get_verdicts=True)

    def control_application(self, console: ContainerConsole | None) -> web.Application:
        """Return what the control socket serves: the same as the read-only port, and more if there is more.

        Only the users that may have it are answered.
        """
        pages = ControlPages(self._backend, console) if console is not None else None
        application = self.application(pages.routes() if pages is not None else {})
        # Behind the one that makes documents of errors, before the one that looks for hosts.
        application.middlewares.insert(1, only_users(allowed_users()))
        for path, handler in (pages.actions() if pages is not None else {}).items():
            application.router.add_post(path, handler)
        return application

    def application(self, more: Mapping[str, Handler] = NO_ROUTES) -> web.Application:
        """Return what the read-only port serves, and ``more``."""
        routes = {
            "/": self.index,
            "/pods": self.pods,
            "/runningpods": self.running_pods,
            "/metrics": self.metrics,
            "/metrics/probes": self.probe_metrics,
            "/configz": self.configz,
            "/sourcez": self.sourcez,
            "/actorz": self.actorz,
            "/watchz": self.watchz,
            "/volumez": self.volumez,
            "/probez": self.probez,
            "/events": self._streams.stream,
        }
        application = self._application(
            self._health_routes() | routes | self._pages.routes() | dict(more)
        )
        application[EXEMPT] = self._streams.connections
        application.on_shutdown.append(self._streams.close)
        if self._backend.chaos:
            application.router.add_post("/debug/actors/{name:.+}/crash", self.crash)
        return application

    def _application(
        self, routes: Mapping[str, Handler], *, others_get_verdicts: bool = False
    ) -> web.Application:
        known_hosts = only_for(self._backend.hosts, others_get_verdicts=others_get_verdicts)
        application = web.Application(middlewares=[_errors_as_json, known_hosts])
        for path, handler in routes.items():
            application.router.add_get(path, handler)
        return application

    def _health_routes(self) -> dict[str, Handler]:
        return {
            "/healthz": self.healthz,
            "/livez": self.livez,
            "/healthz/ping": self.ping,
            "/readyz": self.readyz,
            "/readyz/{source}": self.readyz_of_source,
        }

    async def index(self, request: web.Request) -> web.Response:
        """Return the page to browsers, and to others the paths that are served."""
        if wants_page(request):
            return await self._pages.page(request)
        resources = request.app.router.resources()
        paths = sorted({each.canonical for each in resources})
        return await json_answer(request, {"paths": paths}, headers={"Vary": "Accept"})

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

    async def pods(self, request: web.Request) -> web.StreamResponse:
        """Return the pods that this node should have, each with its status."""
        pods, statuses = await asyncio.gather(self._backend.pods(), self._backend.pod_statuses())
        pieces = pod_list(_answered(pods), _statuses(statuses), PodsAsked.of(request.query))
        return await streamed_answer(request, pieces, headers=_freshness(statuses))

    async def running_pods(self, request: web.Request) -> web.Response:
        """Return the pods that the runtime runs."""
        runtime, statuses = await asyncio.gather(
            self._backend.runtime_state(), self._backend.pod_statuses()
        )
        if runtime is None:
            raise web.HTTPNotFound(text="this agent runs no pods")
        document = running_pods(_answered(runtime), _statuses(statuses))
        return await json_answer(request, document, headers=_freshness(statuses))

    async def configz(self, request: web.Request) -> web.Response:
        """Return the configuration in effect."""
        return await json_answer(request, self._backend.configuration)

    async def sourcez(self, request: web.Request) -> web.Response:
        """Return the sources, and the verdicts on their manifests: on all, or on those asked for."""
        choice = choice_of(
            request.query.getall("name", []), only_troubled=is_told(request.query, "troubled")
        )
        document = documents.sources(await self._backend.all_sources(), choice)
        return await json_answer(request, document)

    async def actorz(self, request: web.Request) -> web.Response:
        """Return the tree of actors."""
        return await json_answer(request, documents.actors(_answered(await self._backend.tree())))

    async def watchz(self, request: web.Request) -> web.Response:
        """Return the state of each Secret and ConfigMap that the agent keeps."""
        kinds, watches = await asyncio.gather(
            self._backend.all_objects(in_detail=True), self._backend.watches()
        )
        now = self._backend.system.clock.wall()
        pieces = watchz([_answered(kind) for kind in kinds], watches, now)
        return await json_text_answer(request, await joined(pieces))

    async def volumez(self, request: web.Request) -> web.StreamResponse:
        """Return the volumes of pods: how each is, and what it shows."""
        volumes = await self._backend.volume_state(in_detail=True)
        if volumes is None:
            raise web.HTTPNotFound(text="this agent makes no volumes")
        now = self._backend.system.clock.monotonic()
        document = volumez(_answered(volumes), now, request.query.get("uid", ""))
        return await json_answer(request, document)

    async def metrics(self, _request: web.Request) -> web.Response:
        """Return the metrics. Those of an actor that does not answer are missing."""
        (pods, running), sources, tree, cluster, objects, feed = await asyncio.gather(
            asyncio.gather(self._backend.pods(), self._running()),
            self._backend.all_sources(),
            self._backend.summary(),
            self._backend.cluster_state(),
            self._backend.all_objects(in_detail=False),
            self._backend.feed_state(),
        )
        telemetry = self._backend.system.telemetry
        measured = metrics.Measurements(
            node_name=self._backend.node_name,
            pods=pods,
            running=running,
            sources=sources,
            tree=tree,
            roles=telemetry.statistics(),
            dead_letters=telemetry.dead_letters(),
            cluster=cluster,
            objects=objects,
            feed=feed,
        )
        return web.Response(
            body=metrics.exposition(measured), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def probez(self, request: web.Request) -> web.StreamResponse:
        """Return the probes of all pods, what they answered, and why pods are not ready."""
        statuses, state = await asyncio.gather(self._backend.pod_statuses(), self._probes())
        state = state._replace(statuses=_statuses(statuses))
        return await streamed_answer(request, probez(state), headers=_freshness(statuses))

    async def probe_metrics(self, _request: web.Request) -> web.Response:
        """Return the metrics of probes. A kubelet has them apart from the others too: they may be many."""
        body = probe_exposition(await self._probes())
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _probes(self) -> ProbeState:
        probes, answers = await asyncio.gather(
            self._backend.probes_wanted(), self._backend.probe_answers()
        )
        if probes is None or answers is None:
            raise web.HTTPNotFound(text="this agent runs no pods")
        return ProbeState(probes=_answered(probes), answers=_answered(answers))

    async def _running(self) -> RunningState:
        backend = self._backend
        (
            statuses,
            lives,
            runtime,
            containers,
            images,
            logs,
            tokens,
            volumes,
            hooks,
        ) = await asyncio.gather(
            backend.pod_statuses(),
            backend.pod_lives(),
            backend.runtime_state(),
            backend.container_runtime(),
            backend.image_state(),
            backend.container_logs(),
            backend.token_state(),
            backend.volume_state(in_detail=False),
            backend.change_hooks(),
        )
        return RunningState(
            statuses=statuses if isinstance(statuses, StatusesDescribed) else None,
            lives=lives if isinstance(lives, PodLivesDescribed) else None,
            runtime=runtime if isinstance(runtime, RuntimeDescribed) else None,
            containers=containers if isinstance(containers, ContainerRuntimeDescribed) else None,
            images=images if isinstance(images, ImagesDescribed) else None,
            logs=logs if isinstance(logs, ContainerLogsDescribed) else None,
            tokens=tokens if isinstance(tokens, TokensDescribed) else None,
            volumes=volumes if isinstance(volumes, VolumesDescribed) else None,
            hooks=hooks if isinstance(hooks, ChangeHooksDescribed) else None,
        )

    async def crash(self, request: web.Request) -> web.Response:
        """Crash an actor, for tests of restarts. Refused to browsers."""
        if "Origin" in request.headers:
            # Browsers send it. A web page that somebody visits must not crash the agent of this machine.
            raise web.HTTPForbidden(text="not from a browser")
        name = request.match_info["name"]
        if not _answered(await self._backend.crash(name)):
            raise web.HTTPNotFound(text="there is no such actor")
        return await json_answer(request, {"crashed": name}, status=202)


def _statuses(
    answer: StatusesDescribed | Unanswered | None,
) -> Mapping[PodUid, PodStatus] | None:
    return None if answer is None or isinstance(answer, Unanswered) else answer.statuses


def _freshness(statuses: StatusesDescribed | Unanswered | None) -> Mapping[str, str]:
    """Return the header that says so if statuses are not those that the node gives at present."""
    if not isinstance(statuses, Unanswered):
        return {}
    return {STATUSES_HEADER: f"last known, {statuses.name} does not answer"}


def _answered(answer: T | Unanswered) -> T:
    if isinstance(answer, Unanswered):
        raise web.HTTPServiceUnavailable(text=f"{answer.name}: {answer.reason}")
    return answer


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


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Return errors as JSON, and never with a traceback."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
        return _error(error.status, error.text or error.reason, allow)
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
