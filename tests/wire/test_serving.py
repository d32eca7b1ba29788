"""The loop that serves: what becomes of it when it ends by itself, or is ended."""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Coroutine, Iterator, MutableMapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException, RemoteDisconnected
from typing import Any, TypeVar

import pytest
from aiohttp import web
from typing_extensions import override

from server.actor import HTTP_SERVER, ServingEnded
from server.json_answers import streamed_answer
from server.limits import MOST_CONNECTIONS
from server.serving import ServerLoop, Serving
from tests.support.agent.process import eventually
from tests.support.agent.served import served_tree
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE
from tests.support.wire.client import fetch

T = TypeVar("T")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Return a listening socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def application() -> web.Application:
    """Return something that answers, with much or little, and that exits when it is asked to."""

    async def hello(_request: web.Request) -> web.Response:
        return web.Response(text="hello")

    async def leave(_request: web.Request) -> web.Response:
        raise SystemExit(3)

    async def much(_request: web.Request) -> web.Response:
        return web.Response(body=bytes(2**25))

    application = web.Application()
    application.router.add_get("/much", much)
    application.router.add_get("/hello", hello)
    application.router.add_get("/exit", leave)
    return application


def test_one_life_after_the_other_serves_the_same_socket(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    for _ in range(2):
        serving = Serving(ended=lambda _error: None)
        serving.open(application(), [listener], MOST_CONNECTIONS)
        assert fetch(port, "/hello").text == "hello"
        serving.close()
    assert listener.fileno() > 0


def test_a_client_that_hangs_up_in_the_middle_of_an_answer_is_no_failure(
    listener: socket.socket,
) -> None:
    answered: Probe[str] = Probe()

    async def page(request: web.Request) -> web.StreamResponse:
        def pieces() -> Iterator[str]:
            yield "[1"
            if request.transport is not None:
                request.transport.close()  # as when the client is found to have left
            yield ", 2]"

        response = await streamed_answer(request, pieces())
        answered.tell("without an error")
        return response

    application = web.Application()
    application.router.add_get("/page", page)
    serving = Serving(ended=lambda _error: None)
    serving.open(application, [listener], MOST_CONNECTIONS)
    with pytest.raises(HTTPException):
        fetch(listener.getsockname()[1], "/page")
    answered.expect("without an error")
    serving.close()


def test_a_loop_that_ends_by_itself_is_told_and_leaves_nothing_open(
    listener: socket.socket,
) -> None:
    ended: Probe[str] = Probe()
    serving = Serving(ended=ended.tell)
    serving.open(application(), [listener], MOST_CONNECTIONS)
    with pytest.raises(RemoteDisconnected):
        fetch(listener.getsockname()[1], "/exit")
    ended.expect("SystemExit: 3")
    serving.close()
    ended.expect_silence()
    assert "http-loop" not in {thread.name for thread in threading.enumerate()}


def test_a_loop_that_is_closed_is_not_told_of(listener: socket.socket) -> None:
    ended: Probe[str] = Probe()
    serving = Serving(ended=ended.tell)
    serving.open(application(), [listener], MOST_CONNECTIONS)
    serving.close()
    ended.expect_silence()


def test_a_loop_that_is_closed_leaves_nothing_open_for_a_client_that_does_not_read(
    listener: socket.socket,
) -> None:
    serving = Serving(ended=lambda _error: None)
    serving.open(application(), [listener], MOST_CONNECTIONS)
    with socket.create_connection(listener.getsockname(), timeout=PATIENCE) as deaf:
        deaf.sendall(b"GET /much HTTP/1.1\r\nHost: node\r\n\r\n")
        assert deaf.recv(15) == b"HTTP/1.1 200 OK"
        serving.close()
        # What is on its way still comes, and then the end of it.
        came = sum(map(len, iter(lambda: deaf.recv(2**20), b"")))
        assert came < 2**25


def test_a_socket_that_cannot_be_served_is_an_error(listener: socket.socket) -> None:
    serving = Serving(ended=lambda _error: None)
    listener.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        serving.open(application(), [listener], MOST_CONNECTIONS)
    serving.close()


def test_a_server_whose_loop_ended_is_restarted() -> None:
    with served_tree() as agent:
        agent.system.address(HTTP_SERVER).tell(ServingEnded(error="the loop ended"))
        eventually(lambda: agent.actor("http-server").restarts == 1)
        assert agent.actor("http-server").last_error.endswith("ServingError: the loop ended")
        assert agent.get("/healthz").status == 200


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Have this process open nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_each_trouble_with_connections_is_said_once_whatever_else_was_said(
    listener: socket.socket, logs: list[MutableMapping[str, Any]]
) -> None:
    cut, refused = "too many connections: the oldest are cut", "connections cannot be accepted"
    serving = Serving(ended=lambda _error: None)
    serving.open(application(), [listener], 2)
    with ExitStack() as held:
        address = listener.getsockname()
        clients = [
            held.enter_context(socket.create_connection(address, PATIENCE)) for _ in range(6)
        ]
        clients[-1].sendall(b"GET /hello HTTP/1.1\r\nHost: node\r\n\r\n")
        assert clients[-1].recv(15) == b"HTTP/1.1 200 OK"
        one_more = held.enter_context(socket.socket())
        with no_descriptor_left():
            one_more.connect(address)
            eventually(lambda: any(line["event"] == refused for line in logs))
        assert fetch(address[1], "/hello").text == "hello"
    serving.close()
    assert [line["event"] for line in logs] == [cut, refused]


# --- a loop of several agents -------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[ServerLoop]:
    """Return a loop on which several serve."""
    loop = ServerLoop()
    yield loop
    loop.close()


@contextmanager
def served_on(loop: ServerLoop, told: Probe[str]) -> Iterator[tuple[Serving, int]]:
    """Serve on a loop, and yield at which port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = Serving(told.tell, loop)
        serving.open(application(), [listener], MOST_CONNECTIONS)
        yield serving, listener.getsockname()[1]
        serving.close()


def test_one_of_several_on_a_loop_stops_and_the_others_serve_on(shared: ServerLoop) -> None:
    told: Probe[str] = Probe()
    with served_on(shared, told) as (one, _), served_on(shared, told) as (_, port):
        one.close()
        assert fetch(port, "/hello").text == "hello"
        assert [each.name for each in threading.enumerate()].count("http-loop") == 1
    told.expect_silence()


class LoopThatTells(ServerLoop):
    """A loop that tells each time that something was begun on it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)

    @override
    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        begun = super().begin(coroutine)
        self.begun.release()
        return begun


def test_a_connection_that_is_accepted_while_one_of_several_stops_is_closed() -> None:
    shared = LoopThatTells()

    async def hold_the_loop_until_one_stops() -> None:
        for _ in ("opened", "held", "stops"):
            assert shared.begun.acquire(timeout=PATIENCE)

    with served_on(shared, Probe()) as (serving, port):
        held = shared.begin(hold_the_loop_until_one_stops())
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
            serving.close()
            held.result(PATIENCE)
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""
    shared.close()


def test_a_loop_that_ends_by_itself_is_told_to_all_and_the_next_one_is_there(
    shared: ServerLoop,
) -> None:
    told: Probe[str] = Probe()
    with served_on(shared, told) as (_, one), served_on(shared, told):
        with pytest.raises(RemoteDisconnected):
            fetch(one, "/exit")
        told.expect("SystemExit: 3", "SystemExit: 3")
        with served_on(shared, told) as (_, port):
            assert fetch(port, "/hello").text == "hello"
            assert [each.name for each in threading.enumerate()].count("http-loop") == 1
