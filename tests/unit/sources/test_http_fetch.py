"""What cannot be had on loopback: the well-known ports, and an error that shows a URL."""

from __future__ import annotations

import pytest
from pyreqwest.exceptions import ConnectError, PyreqwestError
from pyreqwest.http import Url

from sources.http.asking import Validators
from sources.http.fetch import _is_same_server, _sentence


@pytest.mark.parametrize(
    ("first", "target", "same"),
    [
        ("http://pods.example/a", "https://pods.example/b", True),
        ("http://pods.example:80/a", "http://pods.example/b", True),
        ("https://pods.example/a", "https://Pods.Example:443/b", True),
        ("http://pods.example/", "http://pods.example:8080/", False),
        ("http://pods.example:8080/", "https://pods.example/", False),
        ("http://pods.example/", "http://www.pods.example/", False),
        ("http://www.pods.example/", "http://pods.example/", False),
    ],
)
def test_a_server_is_host_and_port_and_may_move_from_http_to_https(
    first: str, target: str, *, same: bool
) -> None:
    assert _is_same_server(Url(first), Url(target)) is same


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            ConnectError("x", {"causes": [{"message": "http://hunter2"}, {"message": "refused"}]}),
            "no connection: refused",
        ),
        (ConnectError("x", {"causes": [{"message": "for http://hunter2"}]}), "no connection"),
        (ConnectError("x", {"causes": None}), "no connection"),
        (PyreqwestError("http://hunter2"), "no usable answer"),
    ],
)
def test_only_the_innermost_cause_is_told_and_no_url(error: PyreqwestError, sentence: str) -> None:
    assert _sentence(error) == sentence


def test_validators_show_no_url() -> None:
    known = Validators(url="http://pods.example?hunter2", etag="a", last_modified="")
    assert "hunter2" not in repr(known)
