"""Calls of the health service: heads of HTTP/2, frames, and what answers come to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from actors.probes.exchanges import Answer, LeadsTo
from actors.probes.grpc_exchanges import GrpcExchange, call_of
from actors.probes.http2_frames import (
    END_HEADERS,
    END_STREAM,
    PREFACE,
    FrameReader,
    FrameType,
    FramingError,
    framed,
)
from messages.probing import ProbeOutcome, ProbeResult
from messages.units import Seconds


def test_a_call_is_one_request_in_frames() -> None:
    call = call_of("10.0.0.7:9000", "db", Seconds(2.0), "kube-probe/1.34")
    assert call.startswith(PREFACE)
    settings, head, data = FrameReader().feed(call[len(PREFACE) :])
    assert (settings.type, head.type, data.type) == (4, 1, 0)
    assert dict(Decoder().decode(head.payload, raw=True)) == {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": b"/grpc.health.v1.Health/Check",
        b":authority": b"10.0.0.7:9000",
        b"content-type": b"application/grpc",
        b"user-agent": b"kube-probe/1.34",
        b"te": b"trailers",
        b"grpc-timeout": b"2S",
    }
    assert data.payload == b"\0\0\0\0\x04\x0a\x02db"


@given(st.lists(st.integers(0, 400), max_size=6))
def test_how_frames_are_cut_makes_no_difference(cuts: list[int]) -> None:
    frames = framed(FrameType.SETTINGS, 0, 0) + framed(FrameType.DATA, END_STREAM, 1, b"x" * 300)
    places = sorted({0, len(frames), *(cut % len(frames) for cut in cuts)})
    reader = FrameReader()
    found = [
        (each.type, each.flags, each.stream, each.content)
        for begin, end in pairwise(places)
        for each in reader.feed(frames[begin:end])
    ]
    assert found == [(4, 0, 0, b""), (0, END_STREAM, 1, b"x" * 300)]


def test_what_only_fills_a_frame_is_left_out() -> None:
    padded = framed(FrameType.HEADERS, 0x28, 1, b"\x02" + bytes(5) + b"head" + b"\0\0")
    (frame,) = FrameReader().feed(padded)
    assert frame.content == b"head"
    (frame,) = FrameReader().feed(framed(FrameType.DATA, 0x08, 1, b"\x09ab"))
    with pytest.raises(FramingError):
        _ = frame.content


# --- answers -------------------------------------------------------------------------------------------

SETTINGS = framed(FrameType.SETTINGS, 0, 0)


def answered(*frames: bytes) -> Answer:
    exchange = GrpcExchange("10.0.0.7:9000", b"", Seconds(1.0))
    exchange.connected()
    return exchange.received(SETTINGS + b"".join(frames)) or exchange.ended()


def trailers(*fields: tuple[bytes, bytes]) -> bytes:
    return framed(FrameType.HEADERS, END_HEADERS | END_STREAM, 1, Encoder().encode(fields))


def text_of(answer: Answer) -> str:
    assert isinstance(answer, ProbeOutcome)
    assert not isinstance(answer, LeadsTo)
    return answer.text


HEAD = framed(FrameType.HEADERS, END_HEADERS, 1, b"\x88")
OK = trailers((b"grpc-status", b"0"))


def message(data: bytes, length: int | None = None) -> bytes:
    head = b"\0" + (len(data) if length is None else length).to_bytes(4, "big")
    return framed(FrameType.DATA, 0, 1, head + data)


def test_serving_is_a_success() -> None:
    assert answered(HEAD, message(b"\x08\x01"), OK) == ProbeOutcome(
        ProbeResult.SUCCESS, "service healthy"
    )


def test_what_the_first_head_said_need_not_be_said_again() -> None:
    encoder = Encoder()
    first = framed(FrameType.HEADERS, END_HEADERS, 1, encoder.encode([(b"grpc-status", b"0")]))
    again = encoder.encode([(b"grpc-status", b"0")])
    assert len(again) == 1
    last = framed(FrameType.HEADERS, END_HEADERS | END_STREAM, 1, again)
    assert text_of(answered(first, message(b"\x08\x01"), last)) == "service healthy"


def test_a_head_that_becomes_too_long_is_a_failure() -> None:
    encoder = Encoder()
    long = framed(FrameType.HEADERS, END_HEADERS, 1, encoder.encode([(b"x", b"v" * 3_000)]))
    references = encoder.encode([(b"x", b"v" * 3_000)] * 30)
    assert len(references) == 30
    more = framed(FrameType.HEADERS, END_HEADERS, 1, references)
    assert "a head that cannot be read" in text_of(answered(long, more, OK))


def test_a_head_in_pieces_is_read_as_one() -> None:
    head = Encoder().encode([(b"grpc-status", b"0")])
    pieces = (
        framed(FrameType.HEADERS, END_STREAM, 1, head[:5]),
        framed(FrameType.CONTINUATION, END_HEADERS, 1, head[5:]),
    )
    assert text_of(answered(HEAD, message(b"\x08\x01"), *pieces)) == "service healthy"


@pytest.mark.parametrize(
    "data",
    [
        b"\x08",
        b"\x08\x80",
        b"\x10\x01",
        b"\xff" * 12,
    ],
)
def test_a_message_of_something_else_is_a_failure(data: bytes) -> None:
    assert "no message of the health service" in text_of(answered(HEAD, message(data), OK))


def test_a_message_of_another_length_is_a_failure() -> None:
    assert "no message" in text_of(answered(HEAD, message(b"\x08\x01", 3), OK))


def test_a_call_that_ends_too_late_says_how_far_it_came() -> None:
    exchange = GrpcExchange("10.0.0.7:9000", b"", Seconds(1.0))
    assert exchange.given_up(Seconds(1.0)).text == (
        'timeout: failed to connect service "10.0.0.7:9000" within 1s'
    )
    exchange.received(SETTINGS)
    assert exchange.given_up(Seconds(1.0)).text == "timeout: health rpc did not complete within 1s"


def test_what_concerns_no_call_is_passed_over() -> None:
    strange = framed(FrameType.HEADERS, END_HEADERS, 3, b"\x88") + framed(FrameType.PING, 1, 0)
    of_the_call = framed(FrameType.SETTINGS, 0, 1)
    frames = (strange, of_the_call, HEAD, message(b"\x08\x01"), OK)
    assert text_of(answered(*frames)) == "service healthy"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (b"4", "timeout: health rpc did not complete within 1s"),
        (b"12", "error: this server does not implement the grpc health protocol"),
        (b"14", "rpc error: code = Unavailable desc = so it is"),
        (b"99", "rpc error: code = Code(99) desc = so it is"),
        (b"no", "unexpected HTTP status code received from server: "),
    ],
)
def test_the_code_of_a_call_is_a_failure_with_its_name(code: bytes, text: str) -> None:
    fields = (b"grpc-status", code), (b"grpc-message", b"so%20it is\x00")
    assert text in text_of(answered(trailers(*fields)))


@given(st.lists(st.binary(max_size=100), max_size=10))
def test_garbage_is_a_failure_or_waited_for(pieces: list[bytes]) -> None:
    exchange = GrpcExchange("10.0.0.7:9000", b"", Seconds(1.0))
    exchange.connected()
    answer = exchange.received(SETTINGS)
    for piece in pieces:
        answer = answer or exchange.received(piece)
    assert answer is None or text_of(answer).isprintable()
