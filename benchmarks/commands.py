"""How soon each command answers beside a crowd of pods, from a cold start of its process.

Beside it stands the start of a Python that imports what each command needs. Where much is asked for, so does
curl, which shows nothing.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, NamedTuple

from benchmarks.agent import GIVE_UP_AFTER, ROOT, Agent
from benchmarks.crowds import crowd, name
from benchmarks.pods import manifest
from benchmarks.row import WORST, Peer, Row, Target, spread

BEGINS: Final = Target(300.0)
"""Milliseconds until there is something to see."""
WHOLE: Final = Target(1_000.0)
"""Milliseconds until a table of all pods is there, and until `/events` has told how everything is."""
MANIFESTS: Final = 10
"""Of how many manifests the verdicts are asked for without an agent."""
PYTHON: Final = "python -c 'import click'"


class Times(NamedTuple):
    """Seconds since the start of a process."""

    begins: float
    """Until the first byte of its answer."""
    ends: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command line."""

    words: str
    path: str = ""
    """Where curl gets the same; empty if a comparison would say nothing."""
    is_long: bool = False
    """It shows all pods, so that its end is another matter than its begin."""
    whole: Target | None = None


LINES: Final = (
    Line(words="status"),
    Line(words="pods", path="/pods?brief", is_long=True, whole=WHOLE),
    Line(words="pods -o name", path="/pods?brief", is_long=True, whole=WHOLE),
    Line(words="pods -o json", path="/pods", is_long=True),
    Line(words="pods -o yaml", path="/pods", is_long=True),
    Line(words="pods --troubled"),
    Line(words=f"pod {name(77)}"),
    Line(words="objects"),
    Line(words="sources", path="/sourcez", is_long=True, whole=WHOLE),
    Line(words="sources --troubled"),
    Line(words="actors"),
    Line(words="actors --all", path="/actorz", is_long=True, whole=WHOLE),
    Line(words="events", is_long=True, whole=WHOLE),
    Line(words=f"logs {name(77)}"),
    Line(words=f"exec {name(77)} -- true"),
)


def command_rows(*, quick: bool) -> list[Row]:
    """Return how soon each command answers, and how soon `/events` has told how everything is."""
    times = 2 if quick else 9
    with crowd(quick=quick) as (agent, pods), TemporaryDirectory() as folder:
        for number in range(MANIFESTS):
            (Path(folder) / f"{number}.yaml").write_bytes(manifest(f"pod-{number}"))
        rows = [row for line in LINES for row in _rows(agent, line, pods, times)]
        rows += _rows(agent, Line(words=f"validate {folder}"), MANIFESTS, times)
        told = [_present_state(agent.port) for _ in range(times)]
    what = f"/events, {pods:,} hollow pods: until the present state is told"
    return [*rows, _row(what, told, WHOLE, None)]


def _rows(agent: Agent, line: Line, pods: int, times: int) -> list[Row]:
    command = [sys.executable, "-P", str(ROOT / "command" / "__main__.py"), *line.words.split()]
    asked, bare, curled = list[Times](), list[float](), list[float]()
    for _ in range(times):
        bare.append(_timed([sys.executable, "-c", "import click"], agent).ends)
        asked.append(_timed(command, agent))
        if line.path and (curl := shutil.which("curl")):
            url = f"http://127.0.0.1:{agent.port}{line.path}"
            curled.append(_timed([curl, "-sS", url], agent).ends)
    words = line.words.partition(" /")[0]
    whose = f"{pods:,} manifests" if words == "validate" else f"beside {pods:,} hollow pods"
    start = Peer(PYTHON, _median(bare))
    begins = [each.begins for each in asked]
    if not line.is_long:
        return [_row(f"`{words}` {whose}", [each.ends for each in asked], BEGINS, start)]
    same = Peer(f"curl {line.path}", _median(curled)) if curled else None
    return [
        _row(f"`{words}` {whose}: until it begins", begins, BEGINS, start),
        _row(f"`{words}` {whose}: until its end", [e.ends for e in asked], line.whole, same),
    ]


def _row(what: str, seconds: list[float], target: Target | None, peer: Peer | None) -> Row:
    return Row(
        what=what,
        unit="ms",
        figures=spread(seconds, 1e3),
        samples=len(seconds),
        target=target,
        judged=WORST,
        peer=peer,
    )


def _median(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) // 2] * 1e3


def _timed(command: Sequence[str], agent: Agent) -> Times:
    environment = {
        "ACTORLET_SERVER": f"127.0.0.1:{agent.port}",
        "ACTORLET_ROOT_DIR": str(agent.root_dir),
    }
    began = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, bufsize=0) as process:
        assert process.stdout is not None
        begins = ends = 0.0
        while process.stdout.read(2**20):
            ends = perf_counter() - began
            begins = begins or ends
        code = process.wait(GIVE_UP_AFTER)
    ends = perf_counter() - began
    assert code == 0, f"{' '.join(command)} ended with {code}"
    return Times(begins or ends, ends)


def _present_state(port: int) -> float:
    began = perf_counter()
    with socket.create_connection(("127.0.0.1", port), GIVE_UP_AFTER) as connection:
        connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        last = b""
        while b'"state":"complete"' not in last:
            piece = connection.recv(2**18)
            assert piece, "/events ended before it had told the present state"
            last = last[-100:] + piece
    return perf_counter() - began
