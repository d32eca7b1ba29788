"""Where an agent is asked."""

from __future__ import annotations

import pytest

from command.failures import WrongUsageError
from command.server_names import server_name


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("127.0.0.1:10255", "127.0.0.1:10255"),
        ("localhost", "localhost:10255"),
        ("http://edge-1:80/", "edge-1:80"),
        ("[::1]:99", "[::1]:99"),
        ("[::1]", "[::1]:10255"),
        ("host:", "host:10255"),
    ],
)
def test_a_server_is_a_host_with_a_port_or_without(said: str, means: str) -> None:
    assert str(server_name(said)) == means


@pytest.mark.parametrize(
    "said",
    ["", ":10255", "host:0", "host:65536", "host:x", "::1", "a b:1", "https://h:1", "h:1/path",
     "[::1", "[::1]x", "h\r\nX: y:80", "höst:1", "host:\uff11"],
)  # fmt: skip
def test_anything_else_is_wrong_usage_in_a_sentence(said: str) -> None:
    with pytest.raises(WrongUsageError, match="the server has to be HOST:PORT, such as"):
        server_name(said)
