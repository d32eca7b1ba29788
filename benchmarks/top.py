"""How quickly ``actorlet top`` answers a key beside ten thousand pods, and what it costs the agent.

The program runs in this process, and its terminal takes all at once, so that all is measured but the wire.
Its start is measured as a process of its own in a pseudo-terminal.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import pty
import select
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

from textual import events
from textual.drivers.headless_driver import HeadlessDriver
from typing_extensions import override

from benchmarks.agent import ROOT, Agent, wait_until
from benchmarks.hollow_pods import MANY, POLL_EVERY, PodList, small_pod
from benchmarks.row import P99, Peer, Row, Target, spread, tail
from command.agent_api import AgentApi
from command.server_names import ServerName
from command.top.app import TopApp
from command.top.threads import TopThreads

QUICK: Final = 500
SIZE: Final = (120, 40)
CHANGES: Final = 500
"""Pods that change each second."""
KEYS: Final = (
    "down",
    "down",
    "pagedown",
    "up",
    "end",
    "home",
    "s",
    "S",
    "2",
    "1",
    "enter",
    "escape",
)
_GIVE_UP_AFTER: Final = 120.0
_SCRIPT: Final = """
from textual.app import App
from textual.widget import Widget
class Empty(Widget):
    def render(self): return "load-0"
class Program(App):
    def compose(self): yield Empty()
Program().run()
"""


class TopTimes(NamedTuple):
    """What was measured of one run, in seconds, and per cent of a core."""

    quiet: list[float]
    work: list[float]
    """Processor time of the same."""
    changing: list[float]
    rows: list[float]
    """From the key End or Home until rows of the agent are there."""
    cpu: float
    seen: float
    """Changes that were told in a second."""


def top_rows(*, quick: bool) -> list[Row]:
    """Return how long a key takes, how long a start, and what an open view costs the agent."""
    pods = QUICK if quick else MANY
    with PodList([]) as pod_list:
        answers = _answers(pods)
        pod_list.answer = answers[0]
        flags = (f"--manifest-url={pod_list.url}", "--http-check-frequency=1s")
        with Agent(*flags) as agent:
            wait_until(partial(_runs, agent, pods), POLL_EVERY, _GIVE_UP_AFTER)
            times = asyncio.run(_measured(agent, pod_list, answers, rounds=3 if quick else 20))
            starts = [_start(_top(agent), b"load-0") for _ in range(3 if quick else 10)]
        empty = [_start([sys.executable, "-c", _SCRIPT], b"load-0") for _ in starts]
    size = f"top beside {pods:,} hollow pods"
    return [
        _row(f"{size}: a key, until it is drawn", times.quiet, 50.0),
        _row(f"{size}: processor time of that", times.work, 50.0),
        _row(f"{size}: the same while {times.seen:,.0f} changes/s are told", times.changing, 50.0),
        _row(f"{size}: other rows of the list, until the agent's are drawn", times.rows),
        Row(
            what=f"{size}: process start to the first rows",
            unit="ms",
            figures=spread(starts, 1e3),
            samples=len(starts),
            peer=Peer("a textual program that shows one word", spread(empty, 1e3)["median"]),
        ),
        Row(
            what=f"{size}: processor time of the agent for it",
            unit="%",
            figures={"median": times.cpu},
            samples=1,
            target=Target(5.0),
        ),
    ]


def _row(what: str, samples: list[float], limit: float | None = None) -> Row:
    return Row(
        what=what,
        unit="ms",
        figures=tail(samples, 1e3),
        samples=len(samples),
        target=Target(limit) if limit is not None else None,
        judged=P99,
    )


def _answers(pods: int) -> list[tuple[bytes, str]]:
    """Return lists of pods, each of which has other labels on some of them."""
    found = []
    for turn in range(8):
        documents: list[dict[str, Any]] = [small_pod(f"load-{number}") for number in range(pods)]
        for number in range(CHANGES if turn else 0):
            place = (turn * CHANGES + number) % pods
            documents[place]["metadata"]["labels"] = {"app": "load", "turn": str(turn)}
        body = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": documents}).encode()
        found.append((body, f'"{turn}"'))
    return found


def _runs(agent: Agent, pods: int) -> bool:
    told = agent.document("/ui/agent").get("pods") or {}
    return bool(told.get("phases", {}).get("Running") == pods)


class _Terminal(HeadlessDriver):
    """A terminal that takes everything at once."""

    @property
    @override
    def is_headless(self) -> bool:
        return False


class _MeasuredApp(TopApp):
    """Tells when it has written to its terminal."""

    def __init__(self, threads: TopThreads) -> None:
        super().__init__(threads, _Terminal)
        self.displayed = asyncio.Event()

    @override
    def post_display_hook(self) -> None:
        self.displayed.set()

    async def drawn(self, key: str) -> tuple[float, float]:
        """Press a key; return the seconds until it was drawn, and the processor time of that."""
        self.displayed.clear()
        began, worked = perf_counter(), process_time()
        self.post_message(events.Key(key, key if len(key) == 1 else None))
        await asyncio.wait_for(self.displayed.wait(), 10.0)
        return perf_counter() - began, process_time() - worked


async def _measured(
    agent: Agent, pod_list: PodList, answers: list[tuple[bytes, str]], *, rounds: int
) -> TopTimes:
    window = 10.0 if rounds > 3 else 2.0
    await asyncio.sleep(window / 2)
    idle = await _cpu(agent, window)
    api = AgentApi(ServerName("127.0.0.1", agent.port))
    threads = TopThreads(api, *SIZE)
    threads.start()
    app = _MeasuredApp(threads)
    running = asyncio.create_task(app.run_async(size=SIZE))
    state = threads.session
    await _until(lambda: state.state.current.is_known and state.state.connection.is_live)
    await asyncio.sleep(1.0)
    gc.collect()
    gc.freeze()  # the program itself has nothing of what this process has beside it
    drawn = [await app.drawn(key) for _ in range(rounds) for key in KEYS]
    quiet, work = map(list, zip(*drawn, strict=True))
    rows = [await _rows_after(app, threads, key) for _ in range(rounds) for key in ("end", "home")]
    await asyncio.sleep(window / 2)
    cpu = await _cpu(agent, window) - idle
    changing, told = await _while_changing(app, threads, _Changes(pod_list, answers), rounds)
    app.exit(0)
    await running
    threads.close()
    return TopTimes(quiet, work, changing, rows, max(0.0, cpu * 100), told)


async def _cpu(agent: Agent, window: float) -> float:
    """Return what of a core the agent takes in so many seconds."""
    before, began = agent.cpu_seconds(), perf_counter()
    await asyncio.sleep(window)
    return (agent.cpu_seconds() - before) / (perf_counter() - began)


async def _while_changing(
    app: _MeasuredApp, threads: TopThreads, changes: _Changes, rounds: int
) -> tuple[list[float], float]:
    """Return the seconds of each key while pods change, and how many changes were told in a second."""
    seen, began = threads.changes_seen, perf_counter()
    with changes:
        await asyncio.sleep(2.0)
        changing = []
        for _ in range(rounds):
            for key in KEYS:
                changing.append((await app.drawn(key))[0])
                await asyncio.sleep(0.02)
    return changing, (threads.changes_seen - seen) / (perf_counter() - began)


async def _rows_after(app: _MeasuredApp, threads: TopThreads, key: str) -> float:
    began = perf_counter()
    await app.drawn(key)
    await _until(lambda: threads.session.is_whole)
    return perf_counter() - began


async def _until(is_so: Any) -> None:
    deadline = perf_counter() + _GIVE_UP_AFTER
    while not is_so():
        if perf_counter() > deadline:
            raise TimeoutError("what was awaited did not happen")
        await asyncio.sleep(0.002)


class _Changes:
    """Serves another list each second. A context."""

    def __init__(self, pod_list: PodList, answers: list[tuple[bytes, str]]) -> None:
        self._pod_list, self._answers = pod_list, answers
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        turn = 0
        while not self._ended.wait(1.0):
            turn = turn % (len(self._answers) - 1) + 1
            self._pod_list.answer = self._answers[turn]


def _top(agent: Agent) -> list[str]:
    place = f"127.0.0.1:{agent.port}"
    return [sys.executable, str(Path(ROOT) / "command" / "__main__.py"), "top", "--server", place]


def _start(command: list[str], word: bytes) -> float:
    """Start a program in a terminal; return the seconds until ``word`` is on it."""
    reader, writer = pty.openpty()
    began = perf_counter()
    process = subprocess.Popen(
        command,
        stdin=writer,
        stdout=writer,
        stderr=writer,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
        start_new_session=True,
    )
    os.close(writer)
    said = b""
    try:
        while word not in said:
            if not select.select([reader], [], [], 20.0)[0]:
                raise TimeoutError(f"no {word!r} in {said[-500:]!r}")
            said += os.read(reader, 2**16)
        return perf_counter() - began
    finally:
        process.kill()
        process.wait()
        os.close(reader)
