"""What a handler says, and with it what is done: ports by name, hosts, headers."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.handlers import ExecAction, HttpGetAction, TcpSocketAction, UnusableHandler
from messages.units import Seconds
from runtimes.lifecycle_hooks.messages import HookAction, SleepAction, action_of

CONTAINER = {"name": "main", "ports": [{"containerPort": 8443, "name": "https"}]}


def action(handler: Any, ip: str = "10.0.0.7") -> HookAction:
    return action_of(handler, CONTAINER, ip)


def test_a_command_a_sleep_and_a_port_are_read_as_they_are() -> None:
    assert action({"exec": {"command": ["sh", "-c", "x"]}}) == ExecAction(command=("sh", "-c", "x"))
    assert action({"sleep": {"seconds": 5}}) == SleepAction(seconds=Seconds(5))
    assert action({"sleep": {"seconds": -5}}) == SleepAction(seconds=Seconds(0))
    assert action({"tcpSocket": {"port": 80}}) == TcpSocketAction(host="10.0.0.7", port=80)
    found = action({"tcpSocket": {"port": "https", "host": "db"}})
    assert found == TcpSocketAction(host="db", port=8443)


def test_a_page_is_asked_of_the_pod_by_default() -> None:
    found = action({"httpGet": {"port": 80, "scheme": "HTTP"}})
    assert found == HttpGetAction(is_https=False, host="10.0.0.7", port=80, path="")


def test_a_page_has_a_scheme_a_host_and_headers() -> None:
    headers = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B"}]
    page = {"port": "https", "scheme": "HTTPS", "host": "h", "path": "/p?q", "httpHeaders": headers}
    assert action({"httpGet": page}) == HttpGetAction(
        is_https=True,
        host="h",
        port=8443,
        path="/p?q",
        headers=(("A", "1"), ("A", "2"), ("B", "")),
    )


def test_a_pod_with_the_network_of_the_node_is_reached_on_loopback() -> None:
    found = action({"tcpSocket": {"port": 80}}, ip="")
    assert found == TcpSocketAction(host="127.0.0.1", port=80)


@pytest.mark.parametrize("port", ["http", "", None, 0, 65_536, "٨٠", "99999999999", -1, True])
def test_a_port_that_the_container_does_not_have_cannot_be_used(port: Any) -> None:
    for handler in ({"tcpSocket": {"port": port}}, {"httpGet": {"port": port}}):
        found = action(handler)
        assert isinstance(found, UnusableHandler)
        assert "no port" in found.why


@pytest.mark.parametrize("handler", [{}, {"exec": {}}, {"httpGet": None}])
def test_a_handler_that_says_nothing_cannot_be_used(handler: Any) -> None:
    assert isinstance(action(handler), UnusableHandler)


def test_what_may_be_confidential_is_not_shown() -> None:
    page = {"port": 80, "path": "/?token=s3cr3t", "httpHeaders": [{"name": "A", "value": "s3cr3t"}]}
    shown = repr([action({"httpGet": page}), action({"exec": {"command": ["s3cr3t"]}})])
    assert "s3cr3t" not in shown
