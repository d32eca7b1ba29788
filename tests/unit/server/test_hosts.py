"""Which hosts a request may be for."""

from __future__ import annotations

import pytest

from server.hosts import host_of, is_ours

NAMES = frozenset({"node1", "tools.example", "10.0.0.7", "2001:db8::7"})


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("Node1:10255", "node1"),
        ("node1.", "node1"),
        ("127.0.0.1:", "127.0.0.1"),
        ("[::1]:10255", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("[::ffff:127.0.0.1]", "127.0.0.1"),
    ],
)
def test_a_host_is_read_without_its_port(header: str, host: str) -> None:
    assert host_of(header) == host


@pytest.mark.parametrize("header", ["", ":80", "::1", "a b", "a:b", "u@localhost", "a/b", "[::1"])
def test_what_names_no_host_is_none(header: str) -> None:
    assert host_of(header) is None


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "127.8.9.10",
        "::1",
        "node1",
        "tools.example",
        "2001:db8::7",
        "10.0.0.9",
    ],
)
def test_names_and_addresses_of_this_machine_are_ours(host: str) -> None:
    assert is_ours(host, NAMES, arrived_at="::ffff:10.0.0.9")


def test_a_link_local_address_is_ours_whatever_interface_a_request_came_in_by() -> None:
    header = "[FE80::12:34]:10255"
    host = host_of(header)
    assert host is not None
    assert is_ours(host, NAMES, arrived_at="fe80::12:34%eth0")
    assert not is_ours(host, NAMES, arrived_at="fe80::12:35%eth0")
    assert not is_ours("eth0", NAMES, arrived_at="fe80::12:34%eth0")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "node2", "0.0.0.0", "10.0.0.8", "127.0.0.1.nip.io"],
)
def test_all_others_are_not(host: str) -> None:
    assert not is_ours(host, NAMES, arrived_at="127.0.0.1")
