"""What is shown of the TLS port: who has which stream, and what was counted."""

from __future__ import annotations

import pytest

from messages.pods import PodUid
from messages.streams import ClientStream, StreamsDescribed
from messages.units import Seconds
from server.node.counts import ServedCounts, request_kind
from server.stream_pages import stream_metrics, streamz

STREAM = ClientStream(
    kind="exec",
    user="alice",
    pod="default/web",
    uid=PodUid("1"),
    container="main",
    command="sh",
    since=Seconds(10.0),
    up=1,
    down=2,
)
DESCRIBED = StreamsDescribed(streams=(STREAM,), door=7)
NONE = {"attach": 0, "exec": 0, "port-forward": 0}


def test_everybody_may_count_streams_and_few_may_know_whose_they_are() -> None:
    assert streamz(DESCRIBED, None) == {"isServed": True, "counts": {**NONE, "exec": 1}}
    told = streamz(DESCRIBED, Seconds(12.5))
    (stream,) = told["streams"]
    assert (told["door"], stream["user"], stream["seconds"]) == (7, "alice", 2.5)
    assert streamz(None, Seconds(1.0)) == {"isServed": False, "counts": NONE}


@pytest.mark.parametrize(
    ("method", "path", "follows", "kind"),
    [
        ("GET", "/pods", False, ("GET", "pods", "false")),
        ("GET", "/pods?x=/exec/", False, ("GET", "pods", "false")),
        ("GET", "/containerLogs/a/b/c", True, ("GET", "containerLogs", "true")),
        ("GET", "/containerLogs/a/b/c", False, ("GET", "containerLogs", "false")),
        ("POST", "/exec/a/b/c", False, ("POST", "exec", "true")),
        ("GET", "/pods", True, ("GET", "pods", "false")),
        ("BREW", "/invented/by/somebody", False, ("other", "other", "false")),
        ("GET", "*", False, ("GET", "other", "false")),
    ],
)
def test_requests_are_counted_by_words_of_closed_lists(
    method: str,
    path: str,
    follows: bool,  # noqa: FBT001
    kind: tuple[str, str, str],  # parametrized
) -> None:
    assert request_kind(method, path, follows=follows) == kind


def test_what_was_counted_is_in_the_metrics() -> None:
    counts = ServedCounts()
    kind = request_kind("POST", "/exec/a/b/c", follows=False)
    counts.note_begun(kind)
    counts.note_begun(kind)
    counts.note_answered(kind)
    counts.note_opened(STREAM)
    counts.note_ended(STREAM)
    for _ in range(2):
        counts.note_refused({"too many handshakes": 2})
    described = StreamsDescribed(
        streams=(STREAM,),
        door=7,
        opened=counts.opened,
        carried=counts.carried,
        refused=counts.refused,
        requests=counts.requests,
        in_flight=counts.in_flight,
    )
    found = {
        (each.name, *each.labels.values()): each.value
        for family in stream_metrics(described)
        for each in family.samples
        if each.value
    }
    request = ("POST", "exec", "true", "readwrite")
    assert found == {
        ("actorlet_streams", "exec"): 1,
        ("actorlet_streams_opened_total", "exec"): 1,
        ("actorlet_stream_bytes_total", "exec", "in"): 1,
        ("actorlet_stream_bytes_total", "exec", "out"): 2,
        ("actorlet_tls_refused_connections_total", "too many handshakes"): 4,
        ("kubelet_http_requests_total", *request): 2,
        ("kubelet_http_inflight_requests", *request): 1,
    }
