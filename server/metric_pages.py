"""The handlers of metrics: of the agent, and of its probes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from messages.change_hooks import ChangeHooksDescribed
from messages.container_logs import ContainerLogsDescribed
from messages.container_runtime_health import ContainerRuntimeDescribed
from messages.images import ImagesDescribed
from messages.pod_lives import PodLivesDescribed
from messages.pod_runtime import RuntimeDescribed
from messages.statuses import StatusesDescribed
from messages.tokens import TokensDescribed
from messages.volume_state import VolumesDescribed
from server import metrics, questions
from server.answers import answered
from server.backend import EndpointBackend
from server.pod_metrics import RunningState
from server.probe_pages import ProbeState, probe_exposition


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
        (pods, running), sources, tree, cluster, objects, feed = await asyncio.gather(
            asyncio.gather(self._backend.ask(questions.PODS), self._running()),
            self._backend.all_sources(),
            self._backend.summary(),
            self._backend.cluster_state(),
            self._backend.all_objects(in_detail=False),
            self._backend.ask(questions.FEED),
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
