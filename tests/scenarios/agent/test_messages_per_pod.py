"""How many messages a hollow pod takes until it runs, and from its removal until it is gone.

Ten thousand of them take ten thousand times as many: a message that is told twice costs a second.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from tests.support.builders import make_pod
from tests.support.worlds.running_alone import RunningAlone

RUN: Final = {
    "event-recorder": 3.0,
    "pod-keeper": 1.0,
    "pods": 1.0,
    "runtime": 7.0,
    "status-keeper": 1.0,
}
GO: Final = {
    "event-recorder": 1.0,
    "pod-keeper": 4.0,
    "pods": 3.0,
    "runtime": 8.0,
    "status-keeper": 1.0,
}
PODS: Final = 320
"""Whole portions of everybody who goes in portions."""


def handled(agent: RunningAlone) -> Counter[str]:
    """Return how many messages each role has handled."""
    return Counter({each.role: each.handled for each in agent.play.system.telemetry.statistics()})


def per_pod(after: Counter[str], before: Counter[str]) -> dict[str, float]:
    """Return the messages for each pod, by role, without those that many share."""
    shares = {role: (after[role] - before[role]) / PODS for role in after}
    return {role: round(share, 1) for role, share in shares.items() if share > 0.5}


def test_a_plain_pod_takes_thirteen_messages_to_run_and_seventeen_to_go() -> None:
    agent = RunningAlone()
    pods = [make_pod(f"web-{number}", uid=f"uid-{number}") for number in range(PODS)]
    begin = handled(agent)
    agent.lists(*pods)
    agent.play.advance(1.0)
    assert len(agent.watch.running()) == PODS
    run = handled(agent)
    assert per_pod(run, begin) == RUN
    agent.lists()
    agent.play.advance(5.0)
    assert not agent.watch.has(pods[0].uid)
    assert per_pod(handled(agent), run) == GO
    assert agent.play.stop() == 0
