"""Answers of HTTP, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.probes.http_messages import (
    MOST_OF_BODY,
    MOST_OF_HEAD,
    HttpAnswerError,
    HttpAnswerReader,
)

LONG = b"x" * 5_000
WHOLE = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
    (b"HTTP/1.1 200 OK\r\ncontent-length:2 \r\n\r\nok and more", 200, b"ok"),
    (b"HTTP/1.0 404\nContent-Length: 0\n\n", 404, b""),
    (b"HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n", 204, b""),
    (b"HTTP/1.1 304 No\r\n\r\n", 304, b""),
    (b"HTTP/1.1 101 Other\r\nUpgrade: x\r\n\r\n", 101, b""),
    (b"HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\n!", 500, b"!"),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n2;a=b\r\nok\r\n3\r\n!!!\r\n0\r\n\r\n",
        200,
        b"ok!!!",
    ),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + LONG + b"\r\n0\r\n",
        200,
        LONG,
    ),
]


def fed(*pieces: bytes) -> HttpAnswerReader:
    reader = HttpAnswerReader()
    done = [reader.feed(piece) for piece in pieces]
    assert done[-1], "the answer is not complete"
    return reader


@pytest.mark.parametrize(("answer", "status", "body"), WHOLE)
def test_an_answer_is_complete_as_soon_as_all_of_it_is_there(
    answer: bytes, status: int, body: bytes
) -> None:
    reader = fed(answer)
    assert reader.status == status
    assert reader.body.startswith(body[:100])


@given(st.sampled_from(WHOLE), st.lists(st.integers(0, 6_000), max_size=8))
def test_how_an_answer_is_cut_makes_no_difference(
    sample: tuple[bytes, int, bytes], cuts: list[int]
) -> None:
    answer, status, _ = sample
    places = sorted({0, len(answer), *(cut % len(answer) for cut in cuts)})
    reader = HttpAnswerReader()
    pieces = [answer[begin:end] for begin, end in pairwise(places)]
    assert any(reader.feed(piece) for piece in pieces)
    assert (reader.status, reader.body[:50]) == (status, fed(answer).body[:50])


def trouble(*pieces: bytes) -> str:
    """Return what is said of an answer that ends; empty if that is a whole one."""
    reader = HttpAnswerReader()
    try:
        if not any(reader.feed(piece) for piece in pieces):
            reader.end()
    except HttpAnswerError as error:
        return str(error)
    assert reader.status
    return ""


@given(st.binary(max_size=300))
def test_garbage_is_refused_in_words(data: bytes) -> None:
    assert trouble(data).isprintable()


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_garbage_in_chunks_is_refused(pieces: list[bytes]) -> None:
    said = trouble(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *pieces)
    assert said in {"", "malformed chunked encoding", "unexpected EOF"}


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    reader = HttpAnswerReader()
    assert not reader.feed(b"HTTP/1.1 200 OK\r\n\r\nall there is")
    reader.end()
    assert reader.body == b"all there is"


def test_no_more_than_ten_kilobytes_of_a_body_are_read() -> None:
    reader = HttpAnswerReader()
    assert not reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n")
    assert not reader.feed(b"x" * (MOST_OF_BODY - 1))
    assert reader.feed(b"x")
    assert len(reader.body) == 1_024


def test_a_head_has_a_limit_with_all_interim_ones() -> None:
    interim = b"HTTP/1.1 102 Wait\r\n\r\n"
    assert trouble(*[interim] * MOST_OF_HEAD) == "the headers are longer than 65536 bytes"


@pytest.mark.parametrize(
    ("head", "location"),
    [
        (b"HTTP/1.1 302 Found\r\nLOCATION: /Next \r\n\r\n", "/Next"),
        (b"HTTP/1.1 302 Found\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n", ""),
    ],
)
def test_where_an_answer_leads_is_read_of_redirects_alone(head: bytes, location: str) -> None:
    reader = HttpAnswerReader()
    reader.feed(head)
    assert reader.location == location


def test_a_name_within_another_field_is_no_field() -> None:
    reader = HttpAnswerReader()
    reader.feed(b"HTTP/1.1 302 Found\r\nX-Location: /no\r\nX-Content-Length: 0\r\n\r\n")
    assert reader.location == ""
    assert not reader.feed(b"body")
