"""The notify protocol, over a real datagram socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.systemd import Systemd
from tests.support.patience import PATIENCE


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Stand in for systemd: a socket that hears what it is told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "notify"))
        server.settimeout(PATIENCE)
        yield server


def told(manager: socket.socket) -> bytes:
    """Return the next message."""
    return manager.recv(4096)


def test_systemd_hears_ready_status_watchdog_and_stopping(manager: socket.socket) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname()})
    systemd.ready()
    systemd.status("2 pods")
    systemd.watchdog()
    systemd.stopping()
    assert [told(manager) for _ in range(4)] == [
        b"READY=1",
        b"STATUS=2 pods",
        b"WATCHDOG=1",
        b"STOPPING=1",
    ]


def test_a_status_is_one_line_and_cannot_say_anything_else(manager: socket.socket) -> None:
    Systemd({"NOTIFY_SOCKET": manager.getsockname()}).status("a\nREADY=1\r\n\udcff b ")
    assert told(manager) == b"STATUS=a READY=1 ? b"


def test_an_abstract_socket_is_reached() -> None:
    name = f"actorlet-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(f"\0{name}")
        server.settimeout(PATIENCE)
        Systemd({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert told(server) == b"READY=1"


@pytest.mark.parametrize(
    "address", ["", "relative", "vsock:2:1234", "/no/such/socket", "/" + "x" * 200, "@" + "x" * 200]
)
def test_an_address_that_leads_nowhere_is_no_trouble(address: str) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": address})
    systemd.ready()
    systemd.status("fine")
    systemd.watchdog()
    systemd.stopping()


def test_without_systemd_nothing_is_watched() -> None:
    assert Systemd({"WATCHDOG_USEC": "1000000"}).watchdog_interval is None


def test_a_manager_that_does_not_listen_holds_nobody_up(manager: socket.socket) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": manager.getsockname()})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:
        filler.settimeout(0)
        with pytest.raises(BlockingIOError):
            [filler.sendto(b"x", manager.getsockname()) for _ in range(100_000)]
    systemd.ready()  # its queue is full: this returns all the same
    assert told(manager) == b"x"


@pytest.mark.parametrize(
    ("environment", "interval"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_told_twice_in_its_time(
    environment: dict[str, str], interval: float | None
) -> None:
    assert Systemd({"NOTIFY_SOCKET": "/x", **environment}).watchdog_interval == interval


def test_the_environment_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/x")
    Systemd().ready()
    assert os.environ["NOTIFY_SOCKET"] == "/x"
