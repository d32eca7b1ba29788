"""One connection of the door: a handshake, then bytes between the client and the agent, or a stream."""

from __future__ import annotations

import os
import socket
import ssl
from typing import Any, Final

from server.door.ways import End, PlainEnd, TlsEnd, Way

HANDSHAKE_WITHIN: Final = 10.0
"""Seconds."""
ENDS_WITHIN: Final = 10.0
"""Seconds without progress, after which a client does not get the rest of what the other side has written."""
_HAS_EXPIRED: Final = 10
"""``X509_V_ERR_CERT_HAS_EXPIRED``."""
TAKES_WITHIN: Final = 60.0
"""Seconds in which a client has to take something, if there is something to take."""
ASKED_AFTER: Final = 30
"""Seconds of silence, after which the kernel asks whether a client's machine is there, and between that."""
ASKED_TIMES: Final = 3
"""Without an answer the client has gone: its machine lost power, or somebody between has forgotten it."""


class DoorConnection:
    """One client. ``inner`` is the other side: the agent, and a container runtime once it is a stream."""

    def __init__(self, number: int, client: TlsEnd, peer: str, now: float) -> None:
        self.number = number
        self.client = client
        self.peer = peer
        """The address of the client."""
        self.user = ""
        """Whose certificate it has; the same word for all that have none."""
        self.is_stream = False
        self.inner: End | None = None
        """None until the handshake has ended."""
        self.progress_at = now
        """Until when the client had taken all that there was, or when it took something last. In seconds of
        the monotonic clock."""
        self._up: Way | None = None
        self._down: Way | None = None
        self._taken = 0

    def ends(self) -> tuple[End, ...]:
        """Return the ends that it has by now."""
        return (self.client,) if self.inner is None else (self.client, self.inner)

    def identity(self) -> dict[str, Any]:
        """Return what the client's certificate says, as ``ssl`` tells it. Empty if it has none.

        Raises SSLError for a name that is no text: authorities sign such, too.
        """
        try:
            told: dict[str, Any] = dict(self.client.tls.getpeercert() or {})
        except ValueError as error:
            raise ssl.SSLError(f"the certificate has a name that is no text: {error}") from None
        return {key: told[key] for key in ("subject", "notAfter") if key in told}

    def open(self, now: float) -> socket.socket:
        """Note that the handshake has ended. Return the agent's side of the connection."""
        ours, theirs = socket.socketpair()
        self._join(PlainEnd(ours), b"")
        self.progress_at = now
        return theirs

    def switch(self, descriptor: int, first: bytes) -> None:
        """Make it a stream: ``first`` are the first bytes to the client. Raises OSError.

        What the agent wrote before is not for the client, and what the client has written for the agent is
        not for anybody: no client writes before it was answered.
        """
        assert self.inner is not None  # noqa: S101  # it was opened
        self.inner.close()
        self.is_stream = True
        self._join(PlainEnd(socket.socket(fileno=descriptor)), first)

    def carried(self) -> tuple[int, int]:
        """Return the bytes from the client and to it."""
        if self._up is None or self._down is None:
            return 0, 0
        return self._up.moved, self._down.moved

    def move(self, scratch: bytearray, now: float) -> bool:
        """Move bytes both ways. Return whether there may be more at once. Raises OSError at its end."""
        assert self._up is not None  # noqa: S101  # it was opened
        assert self._down is not None  # noqa: S101  # the same
        if not self._down.is_blocked:
            self.progress_at = now
        more = self._down.move(scratch)
        more |= self._up.move(scratch)
        if self._down.moved != self._taken:
            self._taken, self.progress_at = self._down.moved, now
        if self._down.is_done or self._up.has_ended:
            raise EOFError
        return more

    def interest(self, end: End) -> int:
        """Return the events at one of its ends that it waits for."""
        if self._up is None or self._down is None:
            return end.reads_on
        return self._up.interest(end) | self._down.interest(end)

    def is_late(self, now: float) -> str:
        """Return in a word why it has to be cut by now; empty if it need not."""
        waited = now - self.progress_at
        if self._down is None:
            return "handshake too slow" if waited > HANDSHAKE_WITHIN else ""
        within = ENDS_WITHIN if self._down.has_ended else TAKES_WITHIN
        return "client takes nothing" if self._down.is_blocked and waited > within else ""

    def close(self) -> None:
        """Close both sides."""
        for end in self.ends():
            end.close()

    def _join(self, inner: End, first: bytes) -> None:
        self.inner = inner
        self._up = Way(self.client, inner)
        self._down = Way(inner, self.client, first)


class Tls:
    """How the door speaks TLS at present. Replaced as a whole: an authority that goes is gone."""

    def __init__(self, fields: dict[str, Any], descriptors: tuple[int, ...]) -> None:
        """Read certificate, key and authorities from files in memory. Raises OSError, ValueError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        paths = [f"/proc/self/fd/{each}" for each in descriptors]
        try:
            context.load_cert_chain(paths[0], paths[1])
            if len(paths) > 2:  # authorities, too
                context.load_verify_locations(paths[2])
                context.verify_mode = ssl.CERT_OPTIONAL
        finally:
            for each in descriptors:
                os.close(each)
        context.minimum_version = ssl.TLSVersion[fields["least"]]
        if fields["ciphers"]:
            context.set_ciphers(fields["ciphers"])
        context.set_alpn_protocols(["http/1.1"])
        # A session that is resumed would keep a certificate that is not verified again.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        self._context = context

    def accepted(self, connection: socket.socket) -> TlsEnd:
        """Return a connection whose handshake is to begin."""
        connection.settimeout(0)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, ASKED_AFTER)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, ASKED_AFTER)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, ASKED_TIMES)
        return TlsEnd(
            self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        )


def reason_of(error: OSError) -> str:
    """Return in a few words why a handshake was refused: one of a closed list, since it names a metric."""
    if not isinstance(error, ssl.SSLError):
        return "connection lost"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "certificate expired" if error.verify_code == _HAS_EXPIRED else "unknown authority"
    if getattr(error, "reason", "") in {  # one that Python itself raises has none
        "UNSUPPORTED_PROTOCOL",
        "HTTP_REQUEST",
        "WRONG_VERSION_NUMBER",
        "NO_SHARED_CIPHER",
    }:
        return "protocol"
    return "broken handshake"
