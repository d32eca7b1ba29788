"""What an agent with few descriptors does about clients that hold more connections than it has."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Final

from benchmarks.agent import Agent, pause, wait_until
from benchmarks.pods import manifest
from benchmarks.row import Row, Target

_DESCRIPTORS: Final = 256
_HELD: Final = 400
_ASK_EVERY: Final = 0.05
"""Seconds between two questions for the agent's health."""


def exhaust_rows(*, quick: bool) -> list[Row]:
    """Return what the log and the health ports said meanwhile, and whether manifests were still noticed."""
    window = 2.0 if quick else 20.0
    with Agent(pods=["pod-0"], descriptors=_DESCRIPTORS) as agent, ExitStack() as held:
        agent.wait_ready()
        lines = agent.log_lines()
        for _ in range(_HELD):
            held.enter_context(socket.create_connection(("127.0.0.1", agent.port)))
        asked, failed = _ask_for_health(agent, window)
        lines = agent.log_lines() - lines
        (agent.manifests / "late.yaml").write_bytes(manifest("late"))
        noticed = wait_until(partial(_serves, agent, "late"), poll_every=0.01)
    what = f"{_DESCRIPTORS} descriptors, {_HELD} connections held for {window:g} s"
    return [
        _row(f"{what}: lines in the log", "", lines, 1, Target(5.0)),
        _row(f"{what}: questions for health not answered well", "", failed, asked, Target(0.0)),
        _row(f"{what}: manifest written to pod in /pods", "s", noticed, 1, Target(2.5)),
    ]


def _ask_for_health(agent: Agent, window: float) -> tuple[int, int]:
    """Return how often both ports were asked, and how often the answer was another than 200."""
    asked = failed = 0
    until = perf_counter() + window
    while perf_counter() < until:
        for on_read_only_port in (False, True):
            asked += 1
            failed += not agent.is_healthy(on_read_only_port=on_read_only_port)
        pause(_ASK_EVERY)
    return asked, failed


def _serves(agent: Agent, name: str) -> bool:
    return name in agent.pod_names()


def _row(what: str, unit: str, figure: float, samples: int, target: Target) -> Row:
    return Row(what=what, unit=unit, figures={"one run": figure}, samples=samples, target=target)
