"""What a request for a stream asks for, and what of it the container runtime gets: one row for each case."""

from __future__ import annotations

import pytest

from messages.container_runtime import Streams
from server.streams.upgrades import (
    NO_STREAM,
    SPDY,
    UPGRADE_REQUIRED,
    WEBSOCKET,
    RuntimePlace,
    UpgradeError,
    head_for,
    place_of,
    ports_asked,
    streams_asked,
    upgrade_of,
)

SPDY_HEAD = [
    ("Connection", "keep-alive, Upgrade"),
    ("Upgrade", "SPDY/3.1"),
    ("X-Stream-Protocol-Version", "v4.channel.k8s.io"),
    ("X-Stream-Protocol-Version", "v3.channel.k8s.io"),
]
WEBSOCKET_HEAD = [
    ("connection", "upgrade"),
    ("upgrade", "WebSocket"),
    ("Sec-WebSocket-Key", "a2V5"),
    ("Sec-WebSocket-Version", "13"),
    (
        "Sec-WebSocket-Protocol",
        "base64url.bearer.authorization.k8s.io.c2VjcmV0, v4.channel.k8s.io",
    ),
]
SECRETS = [
    ("Authorization", "Bearer secret"),
    ("Cookie", "session=secret"),
    ("Origin", "https://secret.example"),
    ("X-Forwarded-For", "10.0.0.1"),
]
PLACE = RuntimePlace("127.0.0.1", 4040, "/exec/token?a=b")


def test_of_spdy_the_runtime_gets_its_protocols_and_nothing_else() -> None:
    head = head_for(upgrade_of("POST", [*SPDY_HEAD, *SECRETS, ("Content-Length", "0")]), PLACE)
    assert head.decode().split("\r\n") == [
        "POST /exec/token?a=b HTTP/1.1",
        "Host: 127.0.0.1:4040",
        "Connection: Upgrade",
        "Upgrade: SPDY/3.1",
        "Content-Length: 0",
        "X-Stream-Protocol-Version: v4.channel.k8s.io",
        "X-Stream-Protocol-Version: v3.channel.k8s.io",
        "",
        "",
    ]


def test_of_a_websocket_the_runtime_gets_all_but_the_token_among_its_protocols() -> None:
    head = head_for(upgrade_of("GET", [*WEBSOCKET_HEAD, *SECRETS]), PLACE)
    assert head.decode().split("\r\n") == [
        "GET /exec/token?a=b HTTP/1.1",
        "Host: 127.0.0.1:4040",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-Websocket-Key: a2V5",
        "Sec-Websocket-Version: 13",
        "Sec-Websocket-Protocol: v4.channel.k8s.io",
        "",
        "",
    ]


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    head = head_for(upgrade_of("GET", SPDY_HEAD), RuntimePlace("::1", 1, "/"))
    assert b"\r\nHost: [::1]:1\r\n" in head


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ([], UPGRADE_REQUIRED),
        (SPDY_HEAD[1:], UPGRADE_REQUIRED),
        ([SPDY_HEAD[0], *SPDY_HEAD[2:]], UPGRADE_REQUIRED),
        ([*SPDY_HEAD, ("Upgrade", "websocket")], UPGRADE_REQUIRED),
        ([("Connection", "Upgrade"), ("Upgrade", "h2c")], UPGRADE_REQUIRED),
        ([("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1, h2c")], UPGRADE_REQUIRED),
        (SPDY_HEAD[:2], "the header X-Stream-Protocol-Version is missing"),
        ([*SPDY_HEAD, ("Transfer-Encoding", "chunked")], "an upgrade has no body"),
        ([*SPDY_HEAD, ("Content-Length", "1")], "an upgrade has no body"),
        ([*SPDY_HEAD, ("Content-Length", "0"), ("Content-Length", "5")], "an upgrade has no body"),
    ],
)
def test_what_is_no_upgrade_is_refused(headers: list[tuple[str, str]], why: str) -> None:
    with pytest.raises(UpgradeError) as error:
        upgrade_of("POST", headers)
    assert str(error.value) == why


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://127.0.0.1:4040/exec/x", RuntimePlace("127.0.0.1", 4040, "/exec/x")),
        ("http://127.0.0.53:1/", RuntimePlace("127.0.0.53", 1, "/")),
        ("http://[::1]:4040/a?b=c&d", RuntimePlace("::1", 4040, "/a?b=c&d")),
        ("http://0.0.0.0:4040/a", RuntimePlace("127.0.0.1", 4040, "/a")),
        ("http://[::]:4040/a", RuntimePlace("::1", 4040, "/a")),
        ("http://127.0.0.1:4040", RuntimePlace("127.0.0.1", 4040, "/")),
    ],
)
def test_a_stream_is_on_this_machine(url: str, place: RuntimePlace) -> None:
    assert place_of(url) == place


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:4040/a",
        "http://10.0.0.1:4040/a",
        "http://169.254.169.254:80/a",
        "http://localhost:4040/a",
        "http://runtime.example:4040/a",
        "http://user@127.0.0.1:4040/a",
        "http://user:secret@127.0.0.1:4040/a",
        "http://127.0.0.1/a",
        "http://127.0.0.1:0/a",
        "http://127.0.0.1:99999/a",
        "http://127.0.0.1:4040/a b",
        "http://127.0.0.1:4040/\u00e4",
        "//127.0.0.1:4040/a",
        "/exec/a",
        "",
    ],
)
def test_nobody_else_is_asked_for_a_stream(url: str) -> None:
    with pytest.raises(UpgradeError) as error:
        place_of(url)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("query", "streams"),
    [
        ({"output": ["1"]}, Streams(stdout=True)),
        ({"error": ["1"]}, Streams(stderr=True)),
        (
            {"input": ["1"], "output": ["1"], "error": ["1"]},
            Streams(stdin=True, stdout=True, stderr=True),
        ),
        ({"input": ["0", "1"]}, Streams(stdin=True)),
        ({"output": ["1"], "error": ["1"], "tty": ["1"]}, Streams(stdout=True, tty=True)),
    ],
)
def test_a_terminal_has_its_errors_among_its_output(
    query: dict[str, list[str]], streams: Streams
) -> None:
    assert streams_asked(query) == streams


@pytest.mark.parametrize(
    "query",
    [{}, {"input": ["true"]}, {"tty": ["1"]}, {"error": ["1"], "tty": ["1"]}, {"output": [""]}],
)
def test_a_stream_has_to_be_asked_for_by_the_value_1(query: dict[str, list[str]]) -> None:
    with pytest.raises(UpgradeError, match=NO_STREAM):
        streams_asked(query)


def test_ports_are_named_by_a_websocket_alone() -> None:
    assert ports_asked({"port": ["80"]}, SPDY) == ()
    assert ports_asked({"port": ["80,1", "65535"]}, WEBSOCKET) == (80, 1, 65535)


@pytest.mark.parametrize("ports", [[], [""], ["0"], ["65536"], ["http"], ["80,"], ["-1"]])
def test_a_websocket_has_to_name_ports(ports: list[str]) -> None:
    with pytest.raises(UpgradeError):
        ports_asked({"port": ports}, WEBSOCKET)


def test_bytes_of_a_header_that_are_no_ascii_are_passed_on_as_they_came() -> None:
    came = b"v4, \xe2\x82\xac \xff"
    value = came.decode("utf-8", "surrogateescape")  # as the server reads it
    headers = [*WEBSOCKET_HEAD, ("Sec-WebSocket-Extensions", value)]
    assert came in head_for(upgrade_of("GET", headers), PLACE)
