"""How long it takes from a manifest in the directory to a pod in ``/pods``.

Every write makes another pod, in place of the one that the file was before. Seen by asking ``/pods``
every 2 ms, which is included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.agent import Agent, pause, wait_until
from benchmarks.pods import manifest
from benchmarks.row import P99, Peer, Row, Target, tail

_OTHERS = [f"pod-{number}" for number in range(9)]

_KUBELET_NOTIFIED = Peer("kubelet 1.20: 430 ms until a container runs", in_this_run=False)
_KUBELET_SCANNING = Peer("kubelet: every 20 s", in_this_run=False)

Write = Callable[[Path, str], None]


def notify_rows(*, quick: bool) -> list[Row]:
    """Return the latency by notification, one manifest at a time, for both ways to write one."""
    ways: dict[str, Write] = {
        "written in place": _write_in_place,
        "renamed into place": _rename_into_place,
    }
    return [
        Row(
            what=f"manifest {way} to pod in /pods",
            unit="ms",
            figures=tail(latencies := _latencies(write, 10 if quick else 150), 1e3),
            samples=len(latencies),
            target=Target(150.0),
            judged=P99,
            peer=_KUBELET_NOTIFIED,
        )
        for way, write in ways.items()
    ]


def _latencies(write: Write, times: int) -> list[float]:
    moments = Random(1)  # the same in each run
    latencies = []
    with Agent(pods=[*_OTHERS, "edited"]) as agent:
        agent.wait_ready()
        for number in range(times):
            # At no moment in particular of the agent's timers.
            pause(moments.uniform(0.02, 0.12))
            name = f"edited-{number}"
            write(agent.manifests / "edited.yaml", name)
            latencies.append(wait_until(partial(_serves, agent, name), poll_every=0.002))
    return latencies


def _serves(agent: Agent, name: str) -> bool:
    return name in agent.pod_names()


def _write_in_place(path: Path, name: str) -> None:
    path.write_bytes(manifest(name))


def _rename_into_place(path: Path, name: str) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(manifest(name))
    temporary.replace(path)


def scan_rows(*, quick: bool) -> list[Row]:
    """Return the latency of changes that nothing is notified of, as on a network file system."""
    latencies = _latencies_by_scan(8 if quick else 100, writing_for=2.0 if quick else 24.0)
    row = Row(
        what="the same by scan alone, every 2 s",
        unit="ms",
        figures=tail(latencies, 1e3),
        samples=len(latencies),
        target=Target(2500.0),
        judged=P99,
        peer=_KUBELET_SCANNING,
    )
    return [row]


def _latencies_by_scan(times: int, writing_for: float) -> list[float]:
    """Edit files at random moments, without waiting for one before the next, and await them all.

    Each file has a second name in another directory and is written to by that: inotify tells of a
    write only in the directory whose name was used.
    """
    moments = Random(1)
    due = sorted((moments.uniform(0, writing_for), f"edited-{n}") for n in range(times))
    agent = Agent(pods=[f"pod-{n}" for n in range(times)])
    elsewhere = agent.manifests.parent / "elsewhere"
    elsewhere.mkdir()
    for path in agent.manifests.iterdir():
        (elsewhere / path.name).hardlink_to(path)
    latencies: list[float] = []
    with agent:
        agent.wait_ready()
        began = perf_counter()
        written: dict[str, float] = {}
        while due or written:
            while due and due[0][0] <= perf_counter() - began:
                name = due.pop(0)[1]
                written[name] = perf_counter()
                _write_in_place(elsewhere / f"{name.replace('edited', 'pod')}.yaml", name)
            seen = agent.pod_names() & written.keys()
            latencies.extend(perf_counter() - written.pop(name) for name in seen)
            pause(0.02)
    return latencies
