"""An agent with a crowd of hollow pods, each from a manifest of its own: what commands and the page face."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from benchmarks.agent import Agent, pause, wait_until
from benchmarks.hollow_pods import MANY, POLL_EVERY, runs, small_pod

FEW: Final = 500
"""Pods of a quick run."""
GIVE_UP_AFTER: Final = 180.0


@contextmanager
def crowd(*, quick: bool) -> Iterator[tuple[Agent, int]]:
    """Yield an agent beside which nothing happens any more, and how many pods it has."""
    pods = FEW if quick else MANY
    agent = Agent("--runtime=hollow")
    for number in range(pods):
        write(agent, number)
    with agent:
        wait_until(partial(runs, agent, pods), POLL_EVERY, GIVE_UP_AFTER)
        pause(1.0 if quick else 5.0)
        yield agent, pods


def write(agent: Agent, number: int, version: int = 1) -> None:
    """Write the manifest of a pod. It is another pod with another ``version``."""
    document = small_pod(name(number))
    document["spec"]["containers"][0]["image"] = f"registry.example/load:{version}"
    (agent.manifests / f"{name(number)}.yaml").write_text(json.dumps(document))


def name(number: int) -> str:
    """Return the name of a pod, without that of its node."""
    return f"load-{number}"
