"""One connection of a probe, which never blocks: whoever polls says when something can be done."""

from __future__ import annotations

import errno
import select
import socket
import ssl
import struct
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from actors.probes.exchanges import Answer, ProbeExchange, words_for
from messages.probing import ProbeOutcome, ProbeResult

EVENTS: Final = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET
"""What is waited for: each change of a connection, once."""
HTTP2: Final = ("h2",)
"""What a server of gRPC speaks over TLS, and wants to hear so."""
AT_ONCE: Final = 8_192
"""Bytes that are read at a time."""
_HAS_ENDED: Final = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
_CONNECTED: Final = frozenset({0, errno.EISCONN})
_READABLE: Final = select.EPOLLIN | _HAS_ENDED
_RESET: Final = struct.pack("ii", 1, 0)
"""A linger of 0 s: the connection is gone when it is closed, and its port is free."""
_WAITS: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"})
OUR_FAULTS: Final = frozenset(
    {
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOMEM,
        errno.EADDRNOTAVAIL,
        errno.EAGAIN,
        errno.EPERM,
    }
)
"""Errors that say nothing of the target: this machine has no descriptors, memory or ports left."""


class SocketAddress(NamedTuple):
    """An address and a port as sockets take them."""

    family: socket.AddressFamily
    place: tuple[str, int]

    @property
    def text(self) -> str:
        """It as it stands in a URL."""
        host, port = self.place
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class UnreachableTarget(NamedTuple):
    """There is no connection. The target may have another address."""

    outcome: ProbeOutcome


Progress: TypeAlias = Answer | UnreachableTarget


def our_fault(error: OSError) -> ProbeOutcome:
    """Return the outcome of an attempt that could not be made."""
    return ProbeOutcome(ProbeResult.UNKNOWN, f"no connection can be made: {words_for(error)}")


class ProbeConnection:
    """A connection to one address, and what is said over it."""

    __slots__ = (
        "_address",
        "_exchange",
        "_is_connected",
        "_is_reset",
        "_is_shaking",
        "_socket",
        "_speaks",
        "_tls_name",
        "fd",
    )

    def __init__(
        self,
        exchange: ProbeExchange,
        address: SocketAddress,
        *,
        is_reset: bool = False,
        tls_name: str | None = None,
        speaks: tuple[str, ...] = (),
    ) -> None:
        """With ``is_reset`` the connection is broken off at the end, which leaves no port in use.

        ``tls_name`` is what the server may choose its certificate by; None for a connection without TLS.
        ``speaks`` names the protocols that the server may choose from over TLS; it is not named for HTTP/1.
        """
        self._exchange = exchange
        self._address = address
        self._is_reset = is_reset
        self._tls_name = tls_name
        self._speaks = speaks
        self._is_shaking = tls_name is not None
        self._is_connected = False
        self._socket: socket.socket | None = None
        self.fd = -1

    def open(self) -> Progress:
        """Begin to connect."""
        family, place = self._address
        try:
            opened = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK, 0)
        except OSError as error:
            return our_fault(error)
        self._socket, self.fd = opened, opened.fileno()
        code = opened.connect_ex(place)
        if code == errno.EINPROGRESS:
            # A target on this machine, as pods are, has mostly answered by now: that saves a wait.
            code = opened.connect_ex(place)
        if code in _CONNECTED:
            return self.proceed(select.EPOLLOUT)
        return None if code == errno.EALREADY else self._not_connected(code)

    def proceed(self, events: int) -> Progress:
        """Do what can be done now."""
        if not self._is_connected:
            if events & _HAS_ENDED and (code := self._error()):
                return self._not_connected(code)
            if not events & select.EPOLLOUT:
                return None
            self._is_connected = True
            if self._is_shaking:
                self._begin_tls()
            if answer := self._exchange.connected():
                return answer
        if self._is_shaking and ((answer := self._shake()) or self._is_shaking):
            return answer
        if self._exchange.outgoing and (answer := self._send()):
            return answer
        return self._receive(events) if events & _READABLE else None

    def close(self) -> None:
        """End it, at whatever stage it is. May be repeated."""
        closing, self._socket = self._socket, None
        if closing is None:
            return
        if self._is_reset and self._is_connected:
            closing.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        closing.close()

    def _error(self) -> int:
        assert self._socket is not None  # noqa: S101  # it was opened
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def _not_connected(self, code: int) -> Progress:
        error = OSError(code, "")
        if code in OUR_FAULTS:
            return our_fault(error)
        if code == errno.ECONNRESET:
            # The target took the connection, and broke it off at once.
            return self._exchange.connected() or self._exchange.failed(_reading(error))
        text = f"dial tcp {self._address.text}: connect: {words_for(error)}"
        return UnreachableTarget(self._exchange.failed(text))

    def _begin_tls(self) -> None:
        assert self._socket is not None  # noqa: S101  # it was opened
        self._socket = tls_context(self._speaks).wrap_socket(
            self._socket,
            do_handshake_on_connect=False,
            server_hostname=self._tls_name or None,
        )

    def _shake(self) -> Answer:
        """Go on with the beginning of TLS."""
        assert isinstance(self._socket, ssl.SSLSocket)  # noqa: S101  # it was made one
        try:
            self._socket.do_handshake()
        except _WAITS:
            return None
        except ssl.SSLError as error:
            return self._exchange.failed(_tls_trouble(error))
        except OSError as error:
            return self._exchange.failed(_reading(error))
        self._is_shaking = False
        return None

    def _send(self) -> Answer:
        assert self._socket is not None  # noqa: S101  # it was opened
        try:
            sent = self._socket.send(self._exchange.outgoing)
        except _WAITS:
            return None
        except OSError as error:
            return self._exchange.failed(f"write: {words_for(error)}")
        self._exchange.outgoing = self._exchange.outgoing[sent:]
        return None

    def _receive(self, events: int) -> Answer:
        """Read until there is an answer, or nothing left to read."""
        assert self._socket is not None  # noqa: S101  # it was opened
        while True:
            try:
                data = self._socket.recv(AT_ONCE)
            except _WAITS:
                return None
            except OSError as error:
                return self._exchange.failed(_reading(error))
            answer = self._exchange.received(data) if data else self._exchange.ended()
            if answer is not None:
                return answer
            if self._exchange.outgoing:
                self._send()  # who takes no more may still have answered
            if len(data) < AT_ONCE and not events & _HAS_ENDED and self._tls_name is None:
                return None


Connect: TypeAlias = Callable[..., ProbeConnection]
"""Makes a connection, which is not open yet. It takes what ``ProbeConnection`` does."""


@cache
def tls_context(speaks: tuple[str, ...] = ()) -> ssl.SSLContext:
    """Return a context that takes any certificate: a pod's own, mostly, that nobody signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # Short keys too. Nothing is secret here, and a target is to be asked whatever it shows.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    if speaks:
        context.set_alpn_protocols([*speaks])
    return context


def _tls_trouble(error: ssl.SSLError) -> str:
    if error.reason in _NO_TLS:
        return "http: server gave HTTP response to HTTPS client"
    if isinstance(error, ssl.SSLEOFError):
        return "EOF"
    return f"tls: {(error.reason or type(error).__name__).lower().replace('_', ' ')}"


def _reading(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return _tls_trouble(error)
    return f"read: {words_for(error)}"
