"""Coroutines run on a loop of their own, which is made when it is needed and ends when nobody wants it."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import CancelledError

import pytest

from kernel.loop_thread import LoopThread
from tests.support.patience import PATIENCE


async def where() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def forever() -> None:
    await asyncio.Event().wait()


def test_the_thread_begins_with_the_first_coroutine_and_is_used_again() -> None:
    loop = LoopThread("beside")
    assert "beside" not in {each.name for each in threading.enumerate()}
    assert [loop.run(where()).result(PATIENCE) for _ in range(3)] == ["beside"] * 3
    assert [each.name for each in threading.enumerate()].count("beside") == 1
    loop.close()


def test_one_that_is_cancelled_keeps_no_other_waiting() -> None:
    loop = LoopThread("beside")
    task = loop.run(forever())
    task.cancel()
    with pytest.raises(CancelledError):
        task.result(PATIENCE)
    assert loop.run(where()).result(PATIENCE) == "beside"
    loop.close()


def test_after_its_end_there_is_another_loop_for_who_begins_something() -> None:
    loop = LoopThread("beside")
    loop.run(where()).result(PATIENCE)
    (thread,) = [each for each in threading.enumerate() if each.name == "beside"]
    loop.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert loop.run(where()).result(PATIENCE) == "beside"
    loop.close()
    loop.close()


def test_what_is_in_progress_when_the_loop_ends_closes_what_it_has_open() -> None:
    begun, closed = threading.Event(), threading.Event()

    async def holding() -> None:
        begun.set()
        try:
            await forever()
        finally:
            await asyncio.sleep(0)
            closed.set()

    loop = LoopThread("beside")
    task = loop.run(holding())
    assert begun.wait(PATIENCE)
    loop.close()
    assert closed.wait(PATIENCE)
    with pytest.raises(CancelledError):
        task.result(PATIENCE)


def test_a_connection_that_is_closed_as_the_loop_ends_gives_its_socket_back() -> None:
    loop = LoopThread("beside")
    ours, peers = socket.socketpair()

    async def closing() -> threading.Thread:
        _, writer = await asyncio.open_connection(sock=ours)
        loop.close()
        await asyncio.sleep(0)
        writer.close()
        return threading.current_thread()

    with peers:
        thread = loop.run(closing()).result(PATIENCE)
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert ours.fileno() == -1


def test_a_loop_that_ends_by_itself_cancels_what_it_has_and_is_replaced() -> None:
    loop = LoopThread("beside")

    async def leaving() -> None:
        raise SystemExit(3)

    held = loop.run(forever())
    (thread,) = [each for each in threading.enumerate() if each.name == "beside"]
    loop.run(leaving())
    with pytest.raises(CancelledError):
        held.result(PATIENCE)
    thread.join(PATIENCE)
    assert loop.run(where()).result(PATIENCE) == "beside"
    loop.close(PATIENCE)
    assert "beside" not in {each.name for each in threading.enumerate()}


def test_all_who_need_a_loop_at_the_same_time_have_the_same_one() -> None:
    loop, found = LoopThread("beside"), []
    ready = threading.Barrier(8)

    def need() -> None:
        assert ready.wait(PATIENCE) < 8
        found.append(loop.loop)

    threads = [threading.Thread(target=need) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert len(set(found)) == 1
    loop.close(PATIENCE)
