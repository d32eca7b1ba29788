"""Whoever carries out many probes, in a process of its own: ours, a bare loop, and aiohttp.

``python -m benchmarks.probers WHO http|tcp PORT COUNT`` carries out ``COUNT`` probes, each once a second,
until the process is ended. To each line it answers what it has used and done so far. The bare loop does
without thresholds, limits and redirects: it connects when each probe is due, and looks at the status.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import json
import select
import socket
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass

import aiohttp

from actors.probes.loop import ProbeLoop, ProbeThread
from actors.probes.loop_messages import ProbeEdges
from actors.probes.specs import ProbeSpec
from actors.probes.watched import ProbeMemory, ProbeTarget
from kernel import SystemClock
from manifests.handlers import HttpGetAction, TcpSocketAction
from messages.pods import PodUid
from messages.probing import ProbeKey, ProbeKind
from messages.units import Seconds, Timestamp

HOST = "127.0.0.1"
PERIOD = 1.0
REQUEST = (
    b"GET /healthz HTTP/1.1\r\nHost: target\r\nUser-Agent: kube-probe/1.34\r\nAccept: */*\r\n\r\n"
)
NO_LINGER = b"\1\0\0\0\0\0\0\0"


@dataclass
class Figures:
    """What was done so far."""

    cpu: float = 0.0
    """Seconds of the process."""
    begun: int = 0
    late: int = 0
    """Probes that began more than 100 ms after they were due."""
    worst: float = 0.0
    """The longest of these, in seconds, since the last line."""
    failed: int = 0
    bytes_each: float = 0.0

    def note(self, late: float) -> None:
        """Count a probe that began so late."""
        self.begun += 1
        self.late += late > 0.1
        self.worst = max(self.worst, late)


def ours(kind: str, port: int, count: int) -> Callable[[], Figures]:
    """Begin our probes. Return how to ask what they have done."""
    memory = ProbeMemory()
    edges = ProbeEdges(clock=SystemClock(), tell=lambda _facts: None, user_agent="kube-probe/1.34")
    loop = ProbeLoop(
        memory, edges, ended=lambda bug: print(bug, file=sys.stderr), thread=ProbeThread()
    )
    keys = [ProbeKey(PodUid(f"uid-{each}"), "web", ProbeKind.READINESS) for each in range(count)]
    before = tracemalloc.get_traced_memory()[0]
    for each in keys:
        handler = (
            HttpGetAction(is_https=False, host="", port=port, path="/healthz")
            if kind == "http"
            else TcpSocketAction(host="", port=port)
        )
        spec = ProbeSpec(kind=each.kind, handler=handler, period=Seconds(PERIOD))
        loop.watch(each, spec, ProbeTarget(each.uid, HOST, Timestamp(time.time())))

    def figures() -> Figures:
        lateness = loop.lateness()
        memory.lateness.longest = 0.0
        if tracemalloc.is_tracing():
            gc.collect()
        return Figures(
            begun=lateness.begun,
            late=lateness.late,
            worst=lateness.longest,
            failed=sum(each.failures + each.unknowns for each in loop.figures(keys)),
            bytes_each=(tracemalloc.get_traced_memory()[0] - before) / count,
        )

    return figures


def memory(kind: str, port: int, count: int) -> Callable[[], Figures]:
    """Begin our probes, and measure the memory that they take."""
    tracemalloc.start()
    return ours(kind, port, count)


def bare(kind: str, port: int, count: int) -> Callable[[], Figures]:
    """Begin the same by the least that it takes: one thread, one epoll, one heap."""
    done = Figures()
    threading.Thread(target=_loop, args=(kind, port, count, done), daemon=True).start()
    return lambda: _taken(done)


def _loop(kind: str, port: int, count: int, done: Figures) -> None:
    epoll, sockets = select.epoll(), dict[int, socket.socket]()
    begin = time.monotonic()
    dues = [begin + each * PERIOD / count for each in range(count)]
    events = select.EPOLLIN | select.EPOLLOUT | select.EPOLLET
    while True:
        for fd, mask in epoll.poll(max(0.0, dues[0] - time.monotonic())):
            if _step(kind, sockets[fd], mask, done):
                sockets.pop(fd).close()
        now = time.monotonic()
        while dues[0] <= now:
            due = dues[0]
            heapq.heapreplace(dues, due + PERIOD)
            done.note(now - due)
            opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK, 0)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            opened.connect_ex((HOST, port))
            sockets[opened.fileno()] = opened
            epoll.register(opened.fileno(), events)


def _step(kind: str, connection: socket.socket, mask: int, done: Figures) -> bool:
    """Do what can be done over a connection. Return whether that was all."""
    if kind == "tcp":
        done.failed += bool(mask & select.EPOLLERR)
        return True
    try:
        if mask & select.EPOLLIN:
            done.failed += b" 200 " not in connection.recv(4_096)[:13]
            return True
        connection.send(REQUEST)
    except OSError:
        done.failed += 1
        return True
    return False


def by_aiohttp(_kind: str, port: int, count: int) -> Callable[[], Figures]:
    """Begin the same as tasks of asyncio with a client of aiohttp."""
    done = Figures()
    threading.Thread(target=lambda: asyncio.run(_tasks(port, count, done)), daemon=True).start()
    return lambda: _taken(done)


async def _tasks(port: int, count: int, done: Figures) -> None:
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    timeout = aiohttp.ClientTimeout(total=1.0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        begin = asyncio.get_running_loop().time()
        url = f"http://{HOST}:{port}/healthz"
        await asyncio.gather(
            *(_task(session, url, begin + each * PERIOD / count, done) for each in range(count))
        )


async def _task(session: aiohttp.ClientSession, url: str, due: float, done: Figures) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(max(0.0, due - loop.time()))
        done.note(loop.time() - due)
        try:
            async with session.get(url, allow_redirects=False) as response:
                done.failed += response.status != 200
                await response.read()
        except (aiohttp.ClientError, TimeoutError):
            done.failed += 1
        due += PERIOD


def _taken(done: Figures) -> Figures:
    taken = Figures(**asdict(done))
    done.worst = 0.0
    return taken


WHO: dict[str, Callable[[str, int, int], Callable[[], Figures]]] = {
    "ours": ours,
    "memory": memory,
    "bare": bare,
    "aiohttp": by_aiohttp,
}


def main(who: str, kind: str, port: str, count: str) -> None:
    """Begin, and answer each line."""
    figures = WHO[who](kind, int(port), int(count))
    for _ in sys.stdin:
        told = figures()
        told.cpu = time.process_time()
        print(json.dumps(asdict(told)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
