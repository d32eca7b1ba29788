"""How long it takes until the agent is of use: with a few manifests, and with many."""

from __future__ import annotations

from time import perf_counter

from benchmarks.agent import Agent, wait_until
from benchmarks.row import WORST, Row, Target, spread


def start_rows(*, quick: bool) -> list[Row]:
    """Return the time from starting the process to the first 200 of ``/readyz``."""
    seconds = [_seconds_to_be_ready(10) for _ in range(2 if quick else 8)]
    row = Row(
        what="process start to /readyz 200, 10 manifests",
        unit="s",
        figures=spread(seconds),
        samples=len(seconds),
        target=Target(1.5),
        judged=WORST,
    )
    return [row]


def thousand_rows(*, quick: bool) -> list[Row]:
    """Return the time from starting the process to 1,000 pods in ``/pods``."""
    seconds = [_seconds_to_serve(1000) for _ in range(1 if quick else 4)]
    row = Row(
        what="1,000 manifests at start, until all are in /pods",
        unit="s",
        figures=spread(seconds),
        samples=len(seconds),
        target=Target(3.0),
        judged=WORST,
    )
    return [row]


def _seconds_to_be_ready(pods: int) -> float:
    agent = Agent(pods=_names(pods))
    began = perf_counter()
    with agent:
        agent.wait_ready()
        return perf_counter() - began


def _seconds_to_serve(pods: int) -> float:
    agent = Agent(pods=_names(pods))
    began = perf_counter()
    with agent:
        # Asking for a thousand pods all the time would be what slows it down: once it is ready it
        # has listed them all.
        agent.wait_ready()
        wait_until(lambda: agent.pod_names() == _names(pods), poll_every=0.002)
        return perf_counter() - began


def _names(pods: int) -> set[str]:
    return {f"pod-{number}" for number in range(pods)}
