"""The actors of the TLS port: who keeps its certificate, who has requests reviewed, and who serves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from actors.access.reviewer import (
    REVIEWER,
    DecisionTimes,
    Reviewer,
    ReviewerMemory,
    ReviewerPorts,
)
from actors.certificates.checking import CertificateCheck, CertificateOptions
from actors.certificates.keeper import CERTIFICATE_KEEPER, CertificateKeeper, CertificateMemory
from actors.pods.keeper_parts import POD_KEEPER
from agent.composition import CONTAINERS, Composition
from kernel import Port
from messages.access import May, WhoIs
from messages.container_runtime import (
    AskContainer,
    ContainerAnswered,
    OpenStream,
    RuntimeFailure,
    RuntimeFailureKind,
    StreamPlace,
)
from messages.units import Seconds
from server.backend import EndpointBackend
from server.control.console import ContainerConsole
from server.endpoints import Endpoints
from server.node.access import AccessRules, NodeAccess
from server.node.actor import NODE_SERVER, NodeServer, NodeServerPorts, TlsRules
from server.node.application import NodeApplication
from server.node.commands import CommandPages
from server.node.counts import ServedCounts
from server.node.logs import LogPages
from server.node.serving import NodeServing
from server.questions import Unanswered, ask

REVIEWED_WITHIN: Final = Seconds(4.0)
"""Longer than the reviewer asks the API server."""
OPENED_WITHIN: Final = Seconds(10.0)
"""How long the container runtime has to say where a stream is."""
SPARE: Final = Seconds(2.0)
"""How much longer the answer of an actor may take than what it waits for."""


@dataclass(slots=True)
class NodeServerMemory:
    """What outlives the lives of the server."""

    pages: Callable[[], tuple[EndpointBackend, ContainerConsole]]
    """Returns, once there is a system, whom the pages ask."""
    counts: ServedCounts = field(default_factory=ServedCounts)


def certificate_keeper(agent: Composition, memory: CertificateMemory) -> CertificateKeeper:
    """Return the actor that keeps the serving certificate and the authorities of clients."""
    server = agent.settings.server
    options = CertificateOptions(
        node_name=agent.settings.node_name,
        addresses=agent.own_machine.addresses,
        directory=server.certificate_directory,
        certificate_file=server.certificate_file,
        key_file=server.key_file,
        authorities_file=server.client_authorities,
    )
    return CertificateKeeper(CertificateCheck(options), agent.process.certificates, memory)


def reviewer(agent: Composition, memory: ReviewerMemory) -> Reviewer:
    """Return the actor that has the API server say who asks, and whether they may."""
    server = agent.settings.server
    times = DecisionTimes(
        token=server.token_lasts, allowed=server.allowed_lasts, denied=server.denied_lasts
    )
    from agent.cluster import API_CALLS  # noqa: PLC0415  # 10 MB, which this agent has anyway

    ports = ReviewerPorts(calls=agent.port(API_CALLS))
    return Reviewer(ports, agent.settings.node_name, times, memory)


def node_server(agent: Composition, memory: NodeServerMemory) -> NodeServer:
    """Return the actor that serves the TLS port."""
    server = agent.settings.server
    backend, console = memory.pages()
    rules = AccessRules(
        allows_anonymous=server.allows_anonymous,
        allows_always=server.allows_always,
        takes_tokens=server.takes_tokens,
    )
    access = NodeAccess(rules, _review(agent) if agent.has(REVIEWER) else None)

    def application(serving: NodeServing) -> web.Application:
        return NodeApplication(
            access,
            Endpoints(backend),
            LogPages(backend, console),
            CommandPages(backend, _opens_stream(agent), serving),
            serving.counts,
            is_debuggable=server.debugging_handlers,
        ).application()

    shared = agent.edges.process
    return NodeServer(
        application,
        agent.listeners.node,
        TlsRules(
            has_authorities=server.client_authorities is not None,
            least=server.least_version,
            ciphers=server.ciphers,
        ),
        NodeServerPorts(
            certificates=agent.port(CERTIFICATE_KEEPER),
            pod_keeper=agent.port(POD_KEEPER),
            me=agent.port(NODE_SERVER),
        ),
        memory.counts,
        shared.server_loop if shared is not None else None,
    )


def _review(agent: Composition) -> Any:
    async def asked(question: Callable[[Port[Any]], WhoIs | May]) -> Any:
        return await ask(
            "reviewer", agent.system(), agent.port(REVIEWER), question, REVIEWED_WITHIN
        )

    return asked


def _opens_stream(agent: Composition) -> Callable[[OpenStream], Any]:
    containers = agent.port_if_any(CONTAINERS)

    async def opened(question: OpenStream) -> StreamPlace | RuntimeFailure:
        if containers is None:
            return _refused("what runs the pods of this agent gives no streams")

        def carried(reply_to: Port[ContainerAnswered]) -> AskContainer:
            return AskContainer(
                question=question, reply_to=reply_to, ref=None, deadline=OPENED_WITHIN
            )

        within = Seconds(OPENED_WITHIN + SPARE)
        answered = await ask("runtime", agent.system(), containers, carried, within)
        if isinstance(answered, Unanswered):
            message = f"{answered.name}: {answered.reason}"
            return RuntimeFailure(kind=RuntimeFailureKind.UNCERTAIN, message=message)
        answer = answered.answer
        if isinstance(answer, StreamPlace | RuntimeFailure):
            return answer
        return _refused("the runtime has no answer to that")

    return opened


def _refused(message: str) -> RuntimeFailure:
    return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=message)
