"""What the TLS port has served since the process began, for people and metrics.

Counted on the server's loop, read by the actor: each mapping is never changed, but replaced whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from messages.streams import ClientStream

K = TypeVar("K")

_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_ROOTS: Final = frozenset(
    {"attach", "configz", "containerLogs", "exec", "healthz", "logs", "metrics", "pods"}
    | {"portForward", "run", "runningpods", "stats"}
)
"""Whatever else clients invent is counted together."""
_LASTING: Final = frozenset({"attach", "exec", "portForward"})
_OTHER: Final = "other"

RequestKind = tuple[str, str, str]
"""Method, root of the path, and whether it may last."""


class ServedCounts:
    """Outlives the lives of the server. Counts of the loop's thread; any thread may read."""

    def __init__(self) -> None:
        self.opened: Mapping[str, int] = {}
        """Streams by kind."""
        self.carried: Mapping[tuple[str, str], int] = {}
        """Bytes of streams that have ended, by kind and direction."""
        self.refused: Mapping[str, int] = {}
        """Connections by the reason."""
        self.requests: Mapping[RequestKind, int] = {}
        self.in_flight: Mapping[RequestKind, int] = {}

    def note_begun(self, kind: RequestKind) -> None:
        """Note that a request is being answered."""
        self.requests = _plus(self.requests, {kind: 1})
        self.in_flight = _plus(self.in_flight, {kind: 1})

    def note_answered(self, kind: RequestKind) -> None:
        """Note that it is answered, or became a stream."""
        self.in_flight = _plus(self.in_flight, {kind: -1})

    def note_opened(self, stream: ClientStream) -> None:
        """Note that a stream has begun."""
        self.opened = _plus(self.opened, {stream.kind: 1})

    def note_ended(self, stream: ClientStream) -> None:
        """Note what a stream has carried that has ended."""
        carried = {(stream.kind, "in"): stream.up, (stream.kind, "out"): stream.down}
        self.carried = _plus(self.carried, carried)

    def note_refused(self, reasons: Mapping[str, int]) -> None:
        """Note connections that the door has refused."""
        self.refused = _plus(self.refused, reasons)


def request_kind(method: str, path: str, *, follows: bool) -> RequestKind:
    """Return how a request is counted: by words of closed lists, whatever clients send.

    ``follows`` says that a log is followed.
    """
    root = path.split("?", 1)[0].split("/")[1] if path.startswith("/") else ""
    is_lasting = root in _LASTING or (root == "containerLogs" and follows)
    return (
        method if method in _METHODS else _OTHER,
        root if root in _ROOTS else _OTHER,
        "true" if is_lasting else "false",
    )


def _plus(counts: Mapping[K, int], more: Mapping[K, int]) -> Mapping[K, int]:
    return {**counts, **{key: counts.get(key, 0) + n for key, n in more.items()}}
