"""Where the head of a request ends, in whatever pieces it comes: nothing may follow that of an upgrade."""

from __future__ import annotations

import pytest

from server.node.clients import FirstHead

HEAD = b"GET /exec HTTP/1.1\r\nHost: node\r\n\r\n"


@pytest.mark.parametrize("size", range(1, len(HEAD) + 1))
def test_a_head_is_alone_in_whatever_pieces_it_comes(size: int) -> None:
    head = FirstHead()
    for start in range(0, len(HEAD), size):
        assert not head.is_alone
        head.takes(HEAD[start : start + size])
    assert head.is_alone


@pytest.mark.parametrize(
    "pieces",
    [
        (HEAD + b"x",),
        (HEAD, b"x"),
        (HEAD + HEAD,),
        (HEAD, HEAD),
        (HEAD[:-1], HEAD[-1:] + b"more\r\n\r\n"),
        (HEAD, b"\r\n", b"\r\n"),
    ],
)
def test_what_follows_a_head_is_noticed_even_if_it_ends_like_one(pieces: tuple[bytes, ...]) -> None:
    head = FirstHead()
    for piece in pieces:
        head.takes(piece)
    assert not head.is_alone
