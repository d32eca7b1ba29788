"""Ports: had, off, or a sentence for who has to mend it. And the limit of open descriptors."""

from __future__ import annotations

import socket
import subprocess
import sys
from resource import RLIM_INFINITY

import pytest

from agent.listeners import ENOUGH, listen, raised
from settings.errors import StartError
from tests.support.patience import PATIENCE
from tests.support.project.checkout import ROOT
from tests.support.wire.ports import free_ports


def test_a_port_is_bound_and_listens_at_once() -> None:
    (port,) = free_ports(1)
    (listener,) = listen("127.0.0.1", port, "the port")
    with listener, socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        assert connection.getpeername() == ("127.0.0.1", port)
        assert not listener.get_inheritable()


def test_port_0_is_off() -> None:
    assert listen("127.0.0.1", 0, "the port") == ()


def test_a_port_in_use_is_said_to_be_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = there.getsockname()[1]
        with pytest.raises(StartError) as refused:
            listen("127.0.0.1", port, "the healthz port")
    assert str(refused.value) == (
        f"cannot listen on the healthz port 127.0.0.1:{port}: Address already in use"
    )
    assert refused.value.exit_code == 1


@pytest.mark.parametrize(
    ("address", "place"), [("192.0.2.1", "192.0.2.1:{}"), ("2001:db8::1", "[2001:db8::1]:{}")]
)
def test_an_address_of_another_machine_is_said_to_be_one(address: str, place: str) -> None:
    (port,) = free_ports(1)
    with pytest.raises(StartError) as refused:
        listen(address, port, "the port")
    said = str(refused.value)
    assert said.startswith(f"cannot listen on the port {place.format(port)}: ")
    assert "Traceback" not in said


def test_an_agent_that_is_started_again_gets_its_port_while_old_connections_linger() -> None:
    (port,) = free_ports(1)
    (first,) = listen("127.0.0.1", port, "the port")
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    accepted, _ = first.accept()
    # The side that closes first is the one that lingers.
    accepted.close()
    first.close()
    assert client.recv(1) == b""
    client.close()
    (second,) = listen("127.0.0.1", port, "the port")
    second.close()


RAISE = """
import resource
from agent.listeners import raise_descriptor_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 500))
print(raise_descriptor_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (1_024, 4_096, 4_096),
        (4_096, 4_096, 4_096),
        (1_024, 1_073_741_816, ENOUGH),
        (1_024, RLIM_INFINITY, ENOUGH),
        (100_000, 1_073_741_816, 100_000),
        (RLIM_INFINITY, RLIM_INFINITY, RLIM_INFINITY),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_is_enough(soft: int, hard: int, expected: int) -> None:
    assert raised(soft, hard) == expected


def test_the_limit_of_the_process_is_raised() -> None:
    # In a process of its own: a hard limit that was lowered cannot be raised again.
    command = [sys.executable, "-c", RAISE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["500", "500", "500"]
