"""The manifest URL over real sockets: bodies and statuses that a server answers."""

from __future__ import annotations

import gzip

import pytest

from manifests.reading.document import MAX_BYTES
from messages.sources import (
    RejectReason,
)
from tests.support.patience import PATIENCE
from tests.support.sources.http_wire import (
    OK,
    body,
    failure,
)
from tests.support.wire.http1_server import Http1Server, reply


def test_the_type_of_the_body_does_not_matter_and_it_comes_as_it_is(server: Http1Server) -> None:
    latin = "name: café".encode("latin-1")
    server.routes["/"] = reply(latin, "Content-Type: image/png; charset=latin-1")
    assert body(server.url()).data == latin


def test_a_packed_body_is_unpacked(server: Http1Server) -> None:
    server.routes["/"] = reply(gzip.compress(b"x" * 100_000), "Content-Encoding: gzip")
    assert body(server.url()).data == b"x" * 100_000


def test_more_than_a_manifest_may_have_is_read_since_it_may_be_a_list(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x" * (MAX_BYTES + 1))
    assert len(body(server.url()).data) == MAX_BYTES + 1


def test_rule_h3_a_body_that_is_too_large_is_refused(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x" * 2_000_000)
    error = failure(server.url(), most=2_000_000)
    assert (error.sentence, error.code) == ("the body is 2 MB or more", RejectReason.TOO_LARGE)


@pytest.mark.parametrize("packed", [False, True])
def test_a_body_without_end_is_refused_while_it_is_read(
    server: Http1Server, *, packed: bool
) -> None:
    # 30 MB and no end of it; packed it is 30 kB.
    data = gzip.compress(b"0" * 30_000_000) if packed else b"0" * 1_000_000
    encoding = "Content-Encoding: gzip\r\n" if packed else ""
    server.routes["/"] = server.trickle(f"{OK}{encoding}\r\n".encode(), data, pause=0.0)
    assert failure(server.url(), most=20_000_000).code is RejectReason.TOO_LARGE
    assert server.hung_up.wait(PATIENCE)


@pytest.mark.parametrize(
    "status", ["204 No Content", "206 Partial", "401 No", "403 No", "404 No", "418 Tea", "500 Oh"]
)
def test_rule_h3_any_other_status_is_an_error(server: Http1Server, status: str) -> None:
    server.routes["/"] = reply(b"", status=status)
    error = failure(server.url())
    assert error.sentence == f"answered with status {status[:3]}"
    assert error.code is None
