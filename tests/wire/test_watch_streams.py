"""Lists and streams of one target, against a server that does everything a server may do."""

from __future__ import annotations

from typing import Any

import pytest

from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import ObjectOp, ObjectsAre, WatchEvent, WatchRecovered
from tests.support.kube.watch_stage import (
    DB,
    WEB,
    Answer,
    Feed,
    Script,
    bookmark,
    event_line,
    listing,
    quick_rules,
    secret,
    secret_list,
    secret_target,
    status,
    stream,
    watched_server,
)
from tests.support.wire.http2_server import Exchange


def changed(op: ObjectOp, what: dict[str, Any]) -> WatchEvent:
    return WatchEvent(target=WEB, op=op, object=what)


def test_a_target_is_listed_and_then_watched_from_the_version_of_the_list() -> None:
    script = Script(
        [listing(secret_list("10", secret("web", "7")))],
        [stream(event_line("MODIFIED", secret("web", "11")))],
    )
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        # The items of a list come without apiVersion and kind, and are told with them.
        expected = (secret("web", "7"),)
        assert watches.next_list() == ObjectsAre(
            target=WEB, objects=expected, resource_version="10"
        )
        assert watches.next_change() == changed(ObjectOp.MODIFIED, secret("web", "11"))

    listed, watched = server.requests
    assert listed.path == watched.path == "/api/v1/namespaces/default/secrets"
    # A quorum read: without a resourceVersion. And nothing is asked of the watch but what follows.
    assert listed.query == {"fieldSelector": "metadata.name=web", "limit": "500"}
    assert 300 <= int(watched.query.pop("timeoutSeconds")) <= 600
    assert watched.query == {
        "fieldSelector": "metadata.name=web",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "10",
    }
    assert watched.headers["authorization"] == "Bearer first"
    assert watched.headers["user-agent"] == "actorlet/test"


def test_a_quiet_watch_is_open_at_once() -> None:
    """The head of the answer is enough: a quiet object sends no byte of a body for minutes."""
    with watched_server(Script([listing(secret_list("10"))], [stream()])) as (server, watches):
        watches.watch(WEB)
        assert watches.next_list().objects == ()
        server.wait_until(lambda: server.begun_streams == 1)
        assert watches.probe.drain() == []
        # Another one is not kept waiting by it.
        watches.watch(secret_target("db"))
        assert watches.next_list().target == secret_target("db")
        server.wait_until(lambda: server.begun_streams == 2)


def test_deletions_are_told_with_the_object_as_it_was_last() -> None:
    script = Script(
        [listing(secret_list("10", secret("web", "7")))],
        [stream(event_line("DELETED", secret("web", "11")))],
    )
    with watched_server(script) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        assert watches.next_change() == changed(ObjectOp.DELETED, secret("web", "11"))


def test_a_stream_that_the_server_ends_is_resumed_from_the_last_bookmark() -> None:
    script = Script(
        [listing(secret_list("10"))],
        [
            stream(event_line("ADDED", secret("web", "11")), bookmark("20"), then=Exchange.finish),
            stream(event_line("MODIFIED", secret("web", "21"))),
        ],
    )
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        assert watches.next_change() == changed(ObjectOp.ADDED, secret("web", "11"))
        assert watches.next_change() == changed(ObjectOp.MODIFIED, secret("web", "21"))
        # The end of a stream is nothing to tell; it is counted.
        assert watches.described().reconnects == {"ended": 1}
    assert [each.query.get("resourceVersion") for each in server.requests] == [None, "10", "20"]


def test_a_cut_in_the_middle_of_a_line_loses_nothing() -> None:
    line = event_line("MODIFIED", secret("web", "12"))
    script = Script(
        [listing(secret_list("10"))],
        [
            stream(event_line("ADDED", secret("web", "11")) + line[:25], then=Exchange.cut),
            stream(line),
        ],
    )
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        assert watches.next_change() == changed(ObjectOp.ADDED, secret("web", "11"))
        assert watches.next_change() == changed(ObjectOp.MODIFIED, secret("web", "12"))
    assert server.requests[-1].query["resourceVersion"] == "11"
    assert server.connections_accepted == 2


@pytest.mark.parametrize("end", [Exchange.finish, Exchange.reset], ids=["ended", "reset"])
def test_half_a_line_before_an_end_is_dropped_and_comes_again(end: Any) -> None:
    line = event_line("ADDED", secret("web", "11"))
    script = Script([listing(secret_list("10"))], [stream(line[:30], then=end), stream(line)])
    with watched_server(script) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        assert watches.next_change() == changed(ObjectOp.ADDED, secret("web", "11"))


def test_chunk_borders_inside_of_characters_do_no_harm() -> None:
    """A line is decoded as a whole, never a chunk."""
    emoji = secret("web", "11", note="Zoë läuft über die Brücke 🐎")
    line = event_line("ADDED", emoji)
    assert any(byte > 0x7F for byte in line)
    single_bytes = [line[i : i + 1] for i in range(len(line))]
    script = Script([listing(secret_list("10"))], [stream(*single_bytes)])
    with watched_server(script) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        assert watches.next_change() == changed(ObjectOp.ADDED, emoji)


def test_a_secret_of_a_mebibyte_is_told_whole() -> None:
    large = secret("web", "11", blob="x" * 1_048_576)
    script = Script([listing(secret_list("10"))], [stream(event_line("ADDED", large))])
    with watched_server(script) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        assert watches.next_change() == changed(ObjectOp.ADDED, large)


def test_an_event_that_the_server_repeats_is_told_again() -> None:
    """Nothing of an object is kept here, so who is told compares versions."""
    event = event_line("MODIFIED", secret("web", "11"))
    script = Script([listing(secret_list("10"))], [stream(event, event)])
    with watched_server(script) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        assert watches.next_change() == watches.next_change()


def test_versions_are_not_compared_only_repeated() -> None:
    """They are opaque: after a restore of etcd they jump back, and are what the server says."""
    script = Script(
        [listing(secret_list("9000"))],
        [
            stream(event_line("ADDED", secret("web", "12")), then=Exchange.finish),
            stream(bookmark("90001"), then=Exchange.finish),
            stream(event_line("MODIFIED", secret("web", "13"))),
        ],
    )
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        watches.next_change()
        watches.next_change()
    versions = [each.query["resourceVersion"] for each in server.requests[1:]]
    assert versions == ["9000", "12", "90001"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"<html>Bad Gateway</html>\n",
        b'{"type":"ADDED"}\n',
        b'{"type":"ADDED","object":{"metadata":{}}}\n',
        b'{"type":"SHRUNK","object":{"metadata":{"resourceVersion":"12"}}}\n',
        b'["ADDED"]\n',
        b'{"type":"ADDED","object":{"data":{"a":"\xff\xfe"}}}\n',
        b"[" * 100_000 + b"\n",
        b'{"type":"ADDED","object":"' + b"x" * 2000 + b'"}\n',
        b"x" * 2000,
    ],
    ids=[
        "html",
        "no-object",
        "no-version",
        "type",
        "array",
        "utf8",
        "deep",
        "too-long",
        "endless",
    ],
)
def test_a_line_that_cannot_be_read_is_a_failure_and_then_a_list(garbage: bytes) -> None:
    script = Script(
        [listing(secret_list("10")), listing(secret_list("20", secret("web", "15")))],
        [stream(event_line("ADDED", secret("web", "11")), garbage), stream()],
    )
    rules = quick_rules(most_bytes=1000)
    with watched_server(script, rules=rules) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        watches.next_change()
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.MALFORMED
        assert failure.sentence.startswith(
            "cannot watch /api/v1/namespaces/default/secrets (metadata.name=web) at https://127"
        )
        # The event that could not be read may have said anything: only a list is sure.
        assert watches.next_list().objects == (secret("web", "15"),)
        assert watches.probe.next() == WatchRecovered(target=WEB)
        assert watches.described().reconnects == {"malformed": 1}


def test_a_watch_that_the_server_does_not_end_is_ended_here() -> None:
    script = Script(
        [listing(secret_list("10"))],
        [stream(bookmark("11")), stream(event_line("ADDED", secret("web", "12")))],
    )
    soon = quick_rules(
        shortest_watch=Seconds(0.0), longest_watch=Seconds(0.0), overtime=Seconds(0.1)
    )
    with watched_server(script, rules=soon) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        watches.next_change()
        server.wait_until(lambda: server.open_streams <= 1)


def test_an_error_event_is_a_failure_with_the_words_of_the_server() -> None:
    trouble = status(500, "InternalError", message="etcdserver: leader changed")
    script = Script(
        [listing(secret_list("10"))],
        [stream(event_line("ERROR", trouble)), stream()],
    )
    with watched_server(script) as (server, watches):
        watches.watch(WEB)
        watches.next_list()
        # The stream was open for a moment, and then failed: from the same version it goes on.
        failure = watches.next_failure().failure
        assert failure.kind is FailureKind.SERVER_ERROR
        assert "etcdserver: leader changed" in failure.sentence
        assert watches.probe.next() == WatchRecovered(target=WEB)
    assert [each.query.get("resourceVersion") for each in server.requests] == [None, "10", "10"]


def test_streams_that_never_end_a_line_share_a_bound_and_one_that_ends_gives_room() -> None:
    endless = stream(event_line("MODIFIED", secret("web", "11")) + b"x" * 700)
    event = event_line("MODIFIED", secret("db", "11", blob="y" * 500))
    later = Feed()
    asked: dict[str, Answer] = {"metadata.name=web": endless, "metadata.name=db": later}

    async def answer(exchange: Exchange) -> None:
        if "watch" in exchange.query:
            await asked[exchange.query["fieldSelector"]](exchange)
        else:
            await exchange.respond(200, secret_list("10"))

    rules = quick_rules(most_unfinished_bytes=1000)
    with watched_server(answer, rules=rules) as (_server, watches):
        watches.watch(WEB)
        watches.next_list()
        watches.next_change()  # what comes behind it is in memory, too
        watches.watch(DB)
        watches.next_list()
        watches.wait_until_open(2)
        later.send(event[:400])
        failed = watches.next_failure()
        assert failed.target == DB
        assert (
            "all answers that wait for their end are longer than 1000 bytes"
            in failed.failure.sentence
        )
        watches.unwatch(WEB)
        watches.next_list()
        watches.wait_until(lambda described: described.streams == 1)
        later.send(event)
        assert watches.next_change().object["metadata"]["resourceVersion"] == "11"
