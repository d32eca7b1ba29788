"""What becomes of pods whose directory is moved away and back while it is scanned. None may be lost."""

from __future__ import annotations

from random import Random

from benchmarks.agent import Agent, pause, wait_until
from benchmarks.following import Follower
from benchmarks.row import Row, Target

_LONGEST_AWAY = 0.019
"""Seconds. A scan of so many files takes about as long."""
_SETTLED_AFTER = 3.0
"""Seconds. By then there was another look at the directory."""


def swap_rows(*, quick: bool) -> list[Row]:
    """Return how many pods were removed in so many swaps of their directory."""
    manifests, swaps = (500, 10) if quick else (5_000, 100)
    names = {f"pod-{number}" for number in range(manifests)}
    with Agent(pods=names) as agent:
        wait_until(lambda: agent.pod_names() == names, poll_every=0.5)
        with Follower(agent.port) as follower:
            _swap(agent, swaps)
            pause(_SETTLED_AFTER)
            assert agent.pod_names() == names
            lost = follower.pods_told("REMOVE")
    return [
        Row(
            what=f"directory of {manifests:,} manifests moved away and back {swaps} times: pods lost",
            unit="",
            figures={"total": lost},
            samples=swaps,
            target=Target(0.0),
        )
    ]


def _swap(agent: Agent, times: int) -> None:
    moments = Random(1)  # the same in each run
    away = agent.manifests.with_name("away")
    for _ in range(times):
        agent.rescan()
        pause(moments.uniform(0.0, 0.1))
        agent.manifests.rename(away)
        pause(moments.uniform(0.0, _LONGEST_AWAY))
        away.rename(agent.manifests)
