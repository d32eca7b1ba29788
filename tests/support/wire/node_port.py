"""The TLS port of a node with a real door: a pod, clients of all kinds, and an API server that knows them."""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import trustme
from typing_extensions import override

from actors.events.feed_parts import EVENT_FEED
from actors.pod_manager import POD_MANAGER
from kernel import Key, Port
from messages.access import (
    Allowed,
    Denied,
    Identity,
    Known,
    May,
    NobodyToAsk,
    Review,
    Unknown,
    WhoIs,
)
from messages.container_runtime import OpenStream, RuntimeFailure, StreamPlace
from messages.statuses import DescribeStatuses, StatusesDescribed
from messages.units import Seconds, Timestamp
from server import questions
from server.backend import EndpointBackend
from server.control.console import CommandEnded, ConsoleError, ContainerConsole, LogAsked, StillRuns
from server.endpoints import Endpoints
from server.node.access import AccessRules, NodeAccess
from server.node.application import NodeApplication
from server.node.commands import CommandPages
from server.node.counts import ServedCounts
from server.node.logs import LogPages
from server.node.serving import NodeServing, ServingListener
from server.questions import Question
from settings.version import Releases
from stores.statuses.status import StatusSituation, status_after
from tests.support.agent.served import NO_PODS, Served, StandIns, served_tree
from tests.support.builders import make_mirror, make_pod
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE
from tests.support.pods.observations import observation, restarted, running, waiting
from tests.support.wire.client import Answer
from tests.support.wire.doors import Keys

WEB: Final = make_pod("web", spec={"containers": [{"name": "main"}, {"name": "side"}]})
"""Of its containers ``main`` was restarted and runs, and ``side`` waits for its image."""
MIRROR: Final = make_mirror(WEB)
OBSERVED: Final = observation(
    restarted(running("main", attempt=1)), waiting("side", "ImagePullBackOff")
)
WEB_STATUS: Final = status_after(StatusSituation(pod=WEB, observed=OBSERVED, now=Timestamp(1.0)))

VIEWER, COLLECTOR, ADMIN = "viewer", "collector", "admin"
RIGHTS: Final[Mapping[str, frozenset[tuple[str, str]] | None]] = {
    VIEWER: frozenset({("get", "proxy")}),
    COLLECTOR: frozenset({("get", "metrics")}),
    ADMIN: None,
}
"""Verbs and subresources of the Node. None for all."""
RULES: Final = AccessRules(allows_anonymous=False, allows_always=False, takes_tokens=True)


class KnownUsers:
    """What the API server says of tokens and rights: a token is ``<user>-token``."""

    def __init__(self) -> None:
        self.is_away = False
        self.asked: list[WhoIs | May] = []

    async def __call__(self, question: Callable[[Any], WhoIs | May]) -> Any:
        asked = question(Probe[Any]())
        self.asked.append(asked)
        match asked:
            case _ if self.is_away:
                review = Review.TOKEN if isinstance(asked, WhoIs) else Review.ACCESS
                return NobodyToAsk(review=review)
            case WhoIs(token=token):
                user = token.removesuffix("-token")
                return (
                    Known(identity=Identity(user=user)) if user in RIGHTS else Unknown(sentence="")
                )
            case May():
                rights = RIGHTS.get(asked.identity.user, frozenset())
                wanted = {(asked.verb.value, each) for each in asked.subresources}
                return Allowed() if rights is None or wanted & rights else Denied()


class TestConsole(ContainerConsole):
    """Logs that are what a test says."""

    __test__ = False

    def __init__(self) -> None:
        self.pieces: list[bytes] = [b"", b"one\n", b"two\n"]
        self.lacks = ""
        """Why there is no log; empty if there is one."""
        self.asked: list[LogAsked] = []
        self.ends = Probe[None]()
        """Hears when a log is read no more."""

    @override
    async def log(
        self, asked: LogAsked, still_runs: StillRuns | None
    ) -> AsyncGenerator[bytes, None]:
        self.asked.append(asked)
        if self.lacks:
            raise ConsoleError(self.lacks)
        try:
            for piece in self.pieces:
                yield piece
            if still_runs is not None and await still_runs():
                await asyncio.Event().wait()
        finally:
            self.ends.tell(None)

    @override
    async def run(
        self, container_id: str, command: tuple[str, ...], within: Seconds
    ) -> CommandEnded:
        raise AssertionError("nobody runs a command by this port")


class Deaf(ServingListener):
    """Hears nothing of what happens at the port."""

    @override
    def loop_ended(self, error: str) -> None:
        pass

    @override
    def door_ended(self) -> None:
        pass

    @override
    def stream_began(self) -> None:
        pass


@dataclass(slots=True, kw_only=True)
class NodePort:
    """A TLS port that is served, and what stands behind it."""

    keys: Keys
    people: trustme.CA
    """Issues the certificates of clients."""
    port: int
    users: KnownUsers
    console: TestConsole
    serving: NodeServing
    opened: list[OpenStream] = field(default_factory=list)
    """What the runtime was asked to open."""
    opens: Callable[[OpenStream], Any] = lambda _: None
    """What it says to that."""

    def certificate(self, user: str, group: str = "people") -> ssl.SSLContext:
        """Return how a client speaks TLS that has a certificate for this user."""
        return self.keys.client(self.people, user, group)

    def fetch(
        self,
        path: str,
        method: str = "GET",
        *,
        tls: ssl.SSLContext | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """Return what a request is answered, of a client without a certificate unless ``tls`` has one."""
        connection = http.client.HTTPSConnection(
            "localhost", self.port, timeout=PATIENCE, context=tls or self.keys.client()
        )
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read().decode())
        finally:
            connection.close()

    @contextmanager
    def connected(self, tls: ssl.SSLContext | None = None) -> Iterator[ssl.SSLSocket]:
        """Yield a connection of a client that speaks for itself."""
        with (
            socket.create_connection(("127.0.0.1", self.port), PATIENCE) as plain,
            (tls or self.keys.client()).wrap_socket(plain, server_hostname="localhost") as client,
        ):
            yield client

    async def _opened(self, question: OpenStream) -> StreamPlace | RuntimeFailure:
        self.opened.append(question)
        answer: StreamPlace | RuntimeFailure = await self.opens(question)
        return answer


@contextmanager
def node_port(
    rules: AccessRules = RULES, *, has_cluster: bool = True, is_debuggable: bool = True
) -> Iterator[NodePort]:
    """Serve a TLS port. Without a cluster there is nobody to ask who may."""
    pods = replace(NO_PODS, pods=(WEB,), static_to_mirror={WEB.uid: MIRROR.uid})
    statuses = StatusesDescribed(statuses={WEB.uid: WEB_STATUS})
    running_pods = StandIns(pods=pods, running={DescribeStatuses: statuses})
    with served_tree(stand_ins=running_pods) as served, ExitStack() as held:
        listener = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        serving = NodeServing([listener], ServedCounts(), Deaf())
        held.callback(_close, serving)
        people = trustme.CA()
        stage = NodePort(
            keys=Keys(),
            people=people,
            port=listener.getsockname()[1],
            users=KnownUsers(),
            console=TestConsole(),
            serving=serving,
        )
        backend = _backend(served)
        application = NodeApplication(
            NodeAccess(rules, stage.users if has_cluster else None),
            Endpoints(backend),
            LogPages(backend, stage.console),
            CommandPages(backend, stage._opened, serving),
            serving.counts,
            is_debuggable=is_debuggable,
        )
        serving.open(application.application())
        serving.use(stage.keys.context(people))
        yield stage


def _close(serving: NodeServing) -> None:
    """Have it end, and return when its door has."""
    clients = serving._clients
    serving.close()
    if clients is not None:
        clients._door.wait()


def _backend(served: Served) -> EndpointBackend:
    system = served.system
    asked: dict[Question[Any], Port[Any]] = {
        questions.PODS: system.address(POD_MANAGER),
        questions.POD: system.address(POD_MANAGER),
        questions.FEED: system.address(EVENT_FEED),
        questions.STATUSES: system.address(Key[Any]("running")),
    }
    return EndpointBackend(
        system=system,
        answering=asked,
        sources={},
        objects={},
        node_name="node1",
        configuration={"kubeletconfig": {}},
        chaos=False,
        releases=Releases(),
        answer_within=Seconds(PATIENCE),
    )
