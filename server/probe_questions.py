"""What paths about probes ask."""

from __future__ import annotations

import asyncio

from aiohttp import web

from server.answers import answered
from server.backend import EndpointBackend
from server.probe_pages import ProbeState


async def probes(backend: EndpointBackend) -> ProbeState:
    """Return the probes of all pods, and what they answered. Raises the errors of HTTP."""
    wanted, answers = await asyncio.gather(backend.probes_wanted(), backend.probe_answers())
    if wanted is None or answers is None:
        raise web.HTTPNotFound(text="this agent runs no pods")
    return ProbeState(probes=answered(wanted), answers=answered(answers))
