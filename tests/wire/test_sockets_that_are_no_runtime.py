"""What is said of a socket where no container runtime is, as gRPC really meets it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtimes.cri import rpcs
from runtimes.cri.wire.grpc_wire import GrpcWire
from runtimes.cri.wire.transport import RpcCode, RpcFailure, RpcOutcome, unreachable_in_words
from tests.support.patience import PATIENCE


def failure_at(path: Path) -> RpcFailure:
    """Return why nobody can be asked there."""
    outcomes, has_ended = list[RpcOutcome](), threading.Event()

    def done(outcome: RpcOutcome) -> None:
        outcomes.append(outcome)
        has_ended.set()

    wire = GrpcWire(path)
    wire.call(rpcs.version(), done)
    assert has_ended.wait(PATIENCE)
    wire.close()
    (outcome,) = outcomes
    assert isinstance(outcome, RpcFailure)
    assert outcome.code is RpcCode.UNAVAILABLE
    return outcome


@contextmanager
def answering(path: Path, answer: bytes) -> Iterator[None]:
    """Have somebody listen there who gives everybody this answer, and hangs up."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(1024)
                    client.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_socket_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "s"
    assert failure_at(path).message == f"there is no socket at {path}"


def test_a_file_and_a_directory_are_no_sockets(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert failure_at(file).message == f"{file} is no socket"
    assert failure_at(tmp_path).message == f"{tmp_path} is no socket"


def test_a_socket_that_its_owner_has_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert failure_at(path).message == f"nobody listens at {path}"


def test_a_server_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with answering(path, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"):
        said = failure_at(path).message
    assert said == f"what listens at {path} speaks no gRPC, so it is no container runtime"


@pytest.mark.parametrize(
    ("details", "said"),
    [
        (
            "failed to connect to all addresses; last error: UNKNOWN: Permission denied",
            "permission denied at the socket /s",
        ),
        ("Deadline Exceeded", "it does not answer in time"),
        ("timeout 1s exceeded", "timeout 1s exceeded"),
        ("failed to connect to all addresses; odd", "failed to connect to all addresses; odd"),
        ("Connection refused by a registry", "Connection refused by a registry"),
    ],
)
def test_words_of_the_runtime_itself_stay(details: str, said: str) -> None:
    assert unreachable_in_words(details, Path("/s"), is_socket=True) == said
