"""Where the container runtime is: found at one of some places, or named, and nobody else's."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runtimes.cri import rpcs
from runtimes.cri.runtime_socket import RuntimeSocket
from runtimes.cri.wire.transport import RpcCode, RpcFailure
from runtimes.cri.wires import FoundWire
from tests.support.cri.noted_wire import NotedWire, nothing


@pytest.fixture
def listen(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return what makes a socket."""
    with ExitStack() as held:

        def made(name: str) -> Path:
            one = held.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(str(tmp_path / name))
            return tmp_path / name

        yield made


def test_the_first_socket_that_is_there_is_found(
    tmp_path: Path, listen: Callable[[str], Path]
) -> None:
    file = tmp_path / "file"
    file.touch()
    too_long = tmp_path / ("a" * 300)
    there = listen("s")
    search = RuntimeSocket([tmp_path / "none", file, file / "below", too_long, there])
    assert search.look()
    assert search.found == there
    alone = RuntimeSocket([file])
    assert not alone.look()
    assert alone.found is None


def test_every_place_is_named_once_while_there_is_no_socket(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    search = RuntimeSocket([tmp_path / "a", tmp_path / "link/a", tmp_path / "b", tmp_path / "c"])
    assert search.trouble == f"there is no socket at {tmp_path}/a, {tmp_path}/b or {tmp_path}/c"
    assert RuntimeSocket([tmp_path / "a"]).trouble == f"there is no socket at {tmp_path}/a"


def test_a_socket_that_is_named_is_not_looked_for(tmp_path: Path) -> None:
    assert RuntimeSocket.of(tmp_path / "none").found == tmp_path / "none"
    assert RuntimeSocket.of(None).found is None


def test_a_socket_of_another_agent_is_not_taken_until_that_one_leaves_it(
    tmp_path: Path, listen: Callable[[str], Path]
) -> None:
    there, said = tmp_path / "s", ["another agent uses it", ""]
    search = RuntimeSocket([there], lambda _: said.pop(0))
    assert not search.look()
    listen("s")
    assert search.look()
    assert (search.found, search.trouble) == (None, "another agent uses it")
    assert search.look()
    assert (search.found, search.trouble) == (there, "")


def test_once_its_socket_is_gone_again_nobody_s_other_agent_is_blamed(
    listen: Callable[[str], Path],
) -> None:
    there = listen("s")
    search = RuntimeSocket([there], lambda _: "another agent uses it")
    search.look()
    there.unlink()
    assert not search.look()
    assert search.trouble == f"there is no socket at {there}"


def test_a_call_before_a_runtime_is_found_fails_as_without_one_and_says_where_it_was_looked_for(
    tmp_path: Path, listen: Callable[[str], Path]
) -> None:
    search = RuntimeSocket([tmp_path / "s"])
    sent = NotedWire()
    asked: list[Path] = []

    def connect(path: Path) -> NotedWire:
        asked.append(path)
        return sent

    wire = FoundWire(search, connect)
    heard: list[object] = []
    assert not wire.call(rpcs.version(), heard.append).cancel()
    assert not wire.follow(rpcs.container_events(), nothing, heard.append).cancel()
    none = f"there is no socket at {tmp_path}/s"
    assert heard == [RpcFailure(code=RpcCode.UNAVAILABLE, message=none)] * 2

    listen("s")
    search.look()
    wire.call(rpcs.version(), nothing)
    wire.follow(rpcs.container_events(), nothing, nothing)
    assert (sent.methods, asked) == (["Version", "GetContainerEvents"], [tmp_path / "s"])
    wire.close()
    assert sent.is_closed
