"""The handlers of all paths. Each request asks the actors: what is told is how things are.

Only ``/watchz`` of a thousand objects and more may be up to a second old: it is costly, and programs ask for
it again and again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import structlog
from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from messages.change_hooks import ChangeHooksDescribed
from messages.container_logs import ContainerLogsDescribed
from messages.container_runtime_health import ContainerRuntimeDescribed, ImagesDescribed
from messages.pod_lives import PodLivesDescribed
from messages.pod_runtime import RuntimeDescribed
from messages.pods import PodUid
from messages.statuses import PodStatus, StatusesDescribed
from messages.streams import StreamsDescribed
from messages.tokens import TokensDescribed
from messages.volumes import VolumesDescribed
from server import documents, metrics, questions
from server.backend import EndpointBackend
from server.control.console import ContainerConsole, allowed_users, only_users
from server.control.pages import ControlPages
from server.event_streams import EventStreams
from server.health_pages import HealthPages
from server.hosts import only_for
from server.json_answers import (
    Handler,
    KeptText,
    errors_as_json,
    is_told,
    joined,
    json_answer,
    json_text_answer,
    streamed_answer,
)
from server.object_pages import volumez, watchz
from server.pod_metrics import RunningState
from server.pod_pages import PodsAsked, pod_list, running_pods
from server.probe_pages import ProbeState, probe_exposition, probez
from server.questions import Unanswered, answered
from server.serving import EXEMPT
from server.stream_pages import streamz
from server.ui.pages import UiPages, wants_page
from server.verdicts import choice_of

T = TypeVar("T")

STATUSES_HEADER = "Actorlet-Statuses"
"""Of ``/pods`` and ``/runningpods``: present if the statuses are not those that the node gives at present."""

NO_ROUTES: Mapping[str, Handler] = {}

_log = structlog.get_logger("http-server")


async def probes(backend: EndpointBackend) -> ProbeState:
    """Return the probes of all pods, and what they answered. Raises the errors of HTTP."""
    wanted, answers = await asyncio.gather(
        backend.ask(questions.PROBES), backend.ask(questions.PROBE_ANSWERS)
    )
    if wanted is None or answers is None:
        raise web.HTTPNotFound(text="this agent runs no pods")
    return ProbeState(probes=answered(wanted), answers=answered(answers))


class MetricPages:
    """The metrics of one agent."""

    def __init__(self, backend: EndpointBackend) -> None:
        self._backend = backend

    def routes(self) -> dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]:
        """Return the handlers by path."""
        return {"/metrics": self.metrics, "/metrics/probes": self.probe_metrics}

    async def metrics(self, _request: web.Request) -> web.Response:
        """Return the metrics. Those of an actor that does not answer are missing."""
        (pods, running), sources, tree, cluster, objects, (feed, streams) = await asyncio.gather(
            asyncio.gather(self._backend.ask(questions.PODS), self._running()),
            self._backend.all_sources(),
            self._backend.summary(),
            self._backend.cluster_state(),
            self._backend.all_objects(in_detail=False),
            asyncio.gather(self._backend.ask(questions.FEED), self._backend.ask(questions.STREAMS)),
        )
        telemetry = self._backend.system.telemetry
        measured = metrics.Measurements(
            node_name=self._backend.node_name,
            releases=self._backend.releases(),
            pods=pods,
            running=running,
            sources=sources,
            tree=tree,
            roles=telemetry.statistics(),
            dead_letters=telemetry.dead_letters(),
            cluster=cluster,
            objects=objects,
            feed=feed,
            streams=streams,
        )
        return web.Response(
            body=metrics.exposition(measured), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def probe_metrics(self, _request: web.Request) -> web.Response:
        """Return the metrics of probes. A kubelet has them apart from the others too: they may be many."""
        body = probe_exposition(await probes(self._backend))
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

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
            backend.ask(questions.STATUSES),
            backend.ask(questions.LIVES),
            backend.ask(questions.RUNTIME),
            backend.ask(questions.CONTAINER_RUNTIME),
            backend.ask(questions.IMAGES),
            backend.ask(questions.LOGS),
            backend.ask(questions.TOKENS),
            backend.ask(questions.VOLUMES, in_detail=False),
            backend.ask(questions.CHANGE_HOOKS),
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


class Endpoints:
    """The handlers of one agent."""

    def __init__(self, backend: EndpointBackend) -> None:
        self._backend = backend
        self._streams = EventStreams(backend)
        self._pages = UiPages(backend)
        self._health = HealthPages(backend)
        self._metrics = MetricPages(backend)
        self._watchz = KeptText(self._objects_text, backend.system.clock)

    def health_routes(self) -> Mapping[str, Handler]:
        """Return the handlers of health and readiness by path."""
        return self._health.routes()

    def metric_routes(self) -> Mapping[str, Handler]:
        """Return the handlers of metrics by path."""
        return self._metrics.routes()

    def health_application(self) -> web.Application:
        """Return what the healthz port serves, verdicts alone, for any name of the host."""
        return self._application(self._health.routes(), others_get_verdicts=True)

    def control_application(self, console: ContainerConsole | None) -> web.Application:
        """Return what the control socket serves: the same as the read-only port, and more if there is more.

        Only the users that may have it are answered.
        """
        pages = ControlPages(self._backend, console) if console is not None else None
        more = pages.routes() if pages is not None else {}
        application = self.application({**more, "/streamz": self.streamz_in_full})
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
            "/configz": self.configz,
            "/sourcez": self.sourcez,
            "/actorz": self.actorz,
            "/watchz": self.watchz,
            "/volumez": self.volumez,
            "/probez": self.probez,
            "/streamz": self.streamz,
            "/events": self._streams.stream,
        }
        application = self._application(
            self._health.routes()
            | self._metrics.routes()
            | routes
            | self._pages.routes()
            | dict(more)
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
        application = web.Application(middlewares=[errors_as_json, known_hosts])
        for path, handler in routes.items():
            application.router.add_get(path, handler)
        return application

    async def index(self, request: web.Request) -> web.Response:
        """Return the page to browsers, and to others the paths that are served."""
        if wants_page(request):
            return await self._pages.page(request)
        resources = request.app.router.resources()
        paths = sorted({each.canonical for each in resources})
        return await json_answer(request, {"paths": paths}, headers={"Vary": "Accept"})

    async def pods(self, request: web.Request) -> web.StreamResponse:
        """Return the pods that this node should have, each with its status."""
        pods, statuses = await asyncio.gather(
            self._backend.ask(questions.PODS), self._backend.ask(questions.STATUSES)
        )
        asked, now = PodsAsked.of(request.query), self._backend.system.clock.wall()
        pieces = pod_list(answered(pods), _statuses(statuses), now, asked)
        return await streamed_answer(request, pieces, headers=_freshness(statuses))

    async def running_pods(self, request: web.Request) -> web.Response:
        """Return the pods that the runtime runs."""
        runtime, statuses = await asyncio.gather(
            self._backend.ask(questions.RUNTIME), self._backend.ask(questions.STATUSES)
        )
        if runtime is None:
            raise web.HTTPNotFound(text="this agent runs no pods")
        document = running_pods(answered(runtime), _statuses(statuses))
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
        return await json_answer(request, documents.actors(answered(await self._backend.tree())))

    async def watchz(self, request: web.Request) -> web.Response:
        """Return the state of each Secret and ConfigMap that the agent keeps."""
        return await json_text_answer(request, await self._watchz.get())

    async def _objects_text(self) -> str:
        kinds, watches = await asyncio.gather(
            self._backend.all_objects(in_detail=True), self._backend.ask(questions.WATCHES)
        )
        now = self._backend.system.clock.wall()
        return await joined(watchz([answered(kind) for kind in kinds], watches, now))

    async def volumez(self, request: web.Request) -> web.StreamResponse:
        """Return the volumes of pods: how each is, and what it shows."""
        volumes = await self._backend.ask(questions.VOLUMES, in_detail=True)
        if volumes is None:
            raise web.HTTPNotFound(text="this agent makes no volumes")
        now = self._backend.system.clock.monotonic()
        document = volumez(
            answered(volumes), now, request.query.get("uid", ""), request.query.get("state", "")
        )
        return await json_answer(request, document)

    async def probez(self, request: web.Request) -> web.StreamResponse:
        """Return the probes of all pods, what they answered, and why pods are not ready."""
        statuses, state = await asyncio.gather(
            self._backend.ask(questions.STATUSES), probes(self._backend)
        )
        state = state._replace(statuses=_statuses(statuses))
        return await streamed_answer(request, probez(state), headers=_freshness(statuses))

    async def streamz(self, request: web.Request) -> web.StreamResponse:
        """Return how many streams the TLS port has. Who has them is not for everybody."""
        return await json_answer(request, streamz(await self._described_streams(), None))

    async def streamz_in_full(self, request: web.Request) -> web.StreamResponse:
        """Return the streams of the TLS port: who has which, and for what."""
        now = self._backend.system.clock.monotonic()
        return await json_answer(request, streamz(await self._described_streams(), now))

    async def _described_streams(self) -> StreamsDescribed | None:
        return answered(await self._backend.ask(questions.STREAMS))

    async def crash(self, request: web.Request) -> web.Response:
        """Crash an actor, for tests of restarts. Refused to browsers."""
        if "Origin" in request.headers:
            # Browsers send it. A web page that somebody visits must not crash the agent of this machine.
            raise web.HTTPForbidden(text="not from a browser")
        name = request.match_info["name"]
        if not answered(await self._backend.crash(name)):
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
