"""The actor that serves the TLS port. The sockets outlive it, so no crash loses the port."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from aiohttp import web
from typing_extensions import override

from kernel import Actor, Key, Port
from messages.certificates import AuthoritiesAre, CertificateFact, CertificateIs, FollowCertificates
from messages.pod_lives import DescribePodLives, PodLivesDescribed
from messages.streams import DescribeStreams
from messages.units import Seconds
from server.door.process import TlsContext
from server.node.counts import ServedCounts
from server.node.serving import NodeServing, ServingListener
from server.serving import ServerLoop

FIRST_PAUSE: Final = Seconds(0.1)
LONGEST_PAUSE: Final = Seconds(10.0)
"""Between the end of a door and the next one. It doubles from ``FIRST_PAUSE`` on."""
CALM: Final = Seconds(60.0)
"""A door that lived so long was well: the next pause is the first again."""
LOOK_EVERY: Final = Seconds(5.0)
"""While there are streams: between two looks for those whose pods are no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeServingEnded:
    """The asyncio loop ended by itself."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorEnded:
    """The process of the door ended, or could not be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBegan:
    """A client has a stream."""


NodeServerMessage: TypeAlias = (
    CertificateFact
    | NodeServingEnded
    | DoorEnded
    | StreamBegan
    | PodLivesDescribed
    | DescribeStreams
)

NODE_SERVER: Key[NodeServerMessage] = Key("node-server")


class NodeServingError(Exception):
    """The TLS port could not be served, or not any longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsRules:
    """What the configuration says of TLS."""

    has_authorities: bool
    """Whether there are authorities of client certificates. Nobody is let in before they are known."""
    least: str
    """The lowest version, as ``ssl.TLSVersion`` names it."""
    ciphers: str
    """As OpenSSL writes it; empty for its own choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeServerPorts:
    """Whom the server tells."""

    certificates: Port[FollowCertificates]
    pod_keeper: Port[DescribePodLives]
    me: Port[NodeServerMessage]
    """Its address, which outlives its lives."""


class NodeServer(Actor[NodeServerMessage]):
    """Serves the TLS port on sockets that it is given.

    Owns: what serves the port on an asyncio loop, and through it the door: a process that speaks TLS.
    Hears: ``CertificateIs`` and ``AuthoritiesAre`` from the keeper of certificates; ``DoorEnded``,
    ``StreamBegan`` and ``NodeServingEnded`` from the loop's thread; ``PodLivesDescribed``;
    ``DescribeStreams``.
    Tells: that keeper ``FollowCertificates``; the keeper of pods ``DescribePodLives`` every few seconds
    while there are streams. Its handlers ask actors from outside of the tree.
    Fails when: the loop cannot start, or ends by itself.

    The newest certificate and the newest authorities count from the next connection on; what is repeated
    changes nothing. Nothing is accepted before both are known. A door that ends is started again with the
    next connection, after a pause. During a restart the operating system queues connections, and streams go
    on. A stream is cut once nothing of its pod is left: who gets the pod's name then was not granted to it.
    """

    def __init__(
        self,
        application: Callable[[NodeServing], web.Application],
        sockets: Sequence[socket.socket],
        rules: TlsRules,
        ports: NodeServerPorts,
        counts: ServedCounts,
        loop: ServerLoop | None = None,
    ) -> None:
        """Without a ``loop`` of the process each life has one of its own."""
        self._counts = counts
        self._make_application = application
        self._sockets = sockets
        self._rules = rules
        self._ports = ports
        self._loop = loop
        self._certificate: CertificateIs | None = None
        self._authorities: AuthoritiesAre | None = None
        self._pause = FIRST_PAUSE
        self._ended_at = Seconds(0.0)

    @override
    def started(self) -> None:
        self._look = self.alarm(self._ask_for_lives)
        self._serving = NodeServing(self._sockets, self._counts, _Told(self.me), self._loop)
        self.resources.callback(self._serving.close)
        self._serving.open(self._make_application(self._serving))
        self._ports.certificates.tell(FollowCertificates(subscriber=self._ports.me))

    @override
    def receive(self, message: NodeServerMessage) -> None:
        match message:
            case CertificateIs():
                self._certificate = message
                self._use()
            case AuthoritiesAre():
                self._authorities = message
                self._use()
            case DoorEnded():
                self._wait()
            case StreamBegan():
                self._look_soon()
            case PodLivesDescribed(lives=lives):
                self._serving.keep_streams_of(
                    {uid for uid, life in lives.items() if not life.is_stopped}
                )
            case DescribeStreams(reply_to=reply_to):
                reply_to.tell(self._serving.described())
            case NodeServingEnded(error=error):
                raise NodeServingError(error)

    def _use(self) -> None:
        """Have the door speak TLS with what is known, if that is all there will be."""
        if self._certificate is None or (self._rules.has_authorities and self._authorities is None):
            return
        context = TlsContext(
            certificate=self._certificate.certificate,
            key=self._certificate.key,
            authorities=self._authorities.pem if self._authorities is not None else b"",
            least=self._rules.least,
            ciphers=self._rules.ciphers,
        )
        self._serving.use(context)

    def _wait(self) -> None:
        """Let the next connection start a door again, in a while if doors end at once."""
        now = self.clock.monotonic()
        if now - self._ended_at > CALM:
            self._pause = FIRST_PAUSE
        self._ended_at = Seconds(now)
        self.later(self._pause, self._serving.open_door)
        self._pause = min(Seconds(self._pause * 2), LONGEST_PAUSE)

    def _look_soon(self) -> None:
        if self._look.due is None:
            self._look.at(Seconds(self.clock.monotonic() + LOOK_EVERY))

    def _ask_for_lives(self) -> None:
        """Have the streams looked at, again and again while there are any."""
        if self._serving.streams():
            self._ports.pod_keeper.tell(DescribePodLives(reply_to=self._ports.me))
            self._look_soon()


class _Told(ServingListener):
    """Tells the actor what happens on the loop."""

    def __init__(self, me: Port[NodeServerMessage]) -> None:
        self._me = me

    @override
    def loop_ended(self, error: str) -> None:
        self._me.tell(NodeServingEnded(error=error))

    @override
    def door_ended(self) -> None:
        self._me.tell(DoorEnded())

    @override
    def stream_began(self) -> None:
        self._me.tell(StreamBegan())
