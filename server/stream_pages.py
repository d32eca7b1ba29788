"""The streams of the TLS port, for people and for metrics. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client.core import Metric

from messages.pods import JsonObject
from messages.streams import ClientStream, StreamsDescribed
from messages.units import Seconds
from server.families import counter, gauge

KINDS: Final = ("attach", "exec", "port-forward")
"""All of them are shown, those without a stream too: alerts ask for them."""
_REQUEST: Final = ("method", "path", "long_running", "server_type")
_SERVER_TYPE: Final = "readwrite"
"""What a kubelet calls this port."""


def streamz(described: StreamsDescribed | None, now: Seconds | None) -> JsonObject:
    """Return the answer of ``/streamz``. With ``now`` it says who has each stream, and for what.

    ``described`` is None where no TLS port is served. ``now`` is the moment by the monotonic clock; None for
    those who may only count.
    """
    if described is None:
        return {"isServed": False, "counts": _counts(())}
    counts = {"isServed": True, "counts": _counts(described.streams)}
    if now is None:
        return counts
    streams = [_stream(each, now) for each in described.streams]
    return {**counts, "door": described.door, "streams": streams}


def _counts(streams: Iterable[ClientStream]) -> dict[str, int]:
    counted = Counter(each.kind for each in streams)
    return {kind: counted[kind] for kind in KINDS}


def _stream(stream: ClientStream, now: Seconds) -> JsonObject:
    return {
        "kind": stream.kind,
        "user": stream.user,
        "pod": stream.pod,
        "uid": stream.uid,
        "container": stream.container,
        "command": stream.command,
        "seconds": round(now - stream.since, 1),
        "bytesIn": stream.up,
        "bytesOut": stream.down,
    }


def stream_metrics(described: StreamsDescribed) -> Iterable[Metric]:
    """Yield the metrics of the TLS port."""
    yield gauge(
        "actorlet_streams",
        "Streams of clients to containers that are open, by kind.",
        ("kind",),
        {(kind,): count for kind, count in _counts(described.streams).items()},
    )
    yield counter(
        "actorlet_streams_opened",
        "Streams that have begun, by kind.",
        ("kind",),
        {(kind,): described.opened.get(kind, 0) for kind in KINDS},
    )
    yield counter(
        "actorlet_stream_bytes",
        "Bytes of streams that have ended, by kind and direction.",
        ("kind", "direction"),
        described.carried,
    )
    yield counter(
        "actorlet_tls_refused_connections",
        "Connections to the TLS port that were refused or cut, by reason.",
        ("reason",),
        {(reason,): count for reason, count in described.refused.items()},
    )
    yield counter(
        "kubelet_http_requests",
        "Requests to the TLS port.",
        _REQUEST,
        _requests(described.requests),
    )
    yield gauge(
        "kubelet_http_inflight_requests",
        "Requests to the TLS port that are being answered.",
        _REQUEST,
        _requests(described.in_flight),
    )


def _requests(
    counts: Mapping[tuple[str, str, str], int],
) -> dict[tuple[str, str, str, str], float]:
    return {(*kind, _SERVER_TYPE): count for kind, count in counts.items()}
