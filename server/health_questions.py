"""What the health paths and the page ask of the actors, and the checks that follow from the answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from server import health
from server.answers import Unanswered
from server.backend import EndpointBackend
from server.health import HealthCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHealth:
    """A verdict, and the checks that it follows from."""

    ok: bool
    checks: list[HealthCheck]
    """Those that count, and behind them those that are only shown."""


async def healthiness(backend: EndpointBackend) -> AgentHealth:
    """Return whether the agent's loops are well."""
    answer, tree, runtime = await asyncio.gather(
        backend.sign_of_life(), backend.summary(), backend.container_runtime()
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
    sources, runtime = await asyncio.gather(backend.all_sources(), backend.container_runtime())
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
    statuses = await backend.pod_statuses()
    checks = [health.api_server(cluster)]
    return checks if statuses is None else [*checks, health.pod_statuses(statuses)]
