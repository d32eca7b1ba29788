"""Pods of all kinds in all states, drawn by a seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from random import Random
from typing import Any

from messages.pod_runtime import ContainerHistory
from messages.pods import Pod
from messages.statuses import PodStatus
from messages.units import Timestamp
from stores.statuses.status import StatusSituation, status_after
from tests.support.builders import make_pod
from tests.support.pods.observations import (
    backing_off,
    created,
    exited,
    lost,
    observation,
    restarted,
    running,
    waiting,
)

NOW = Timestamp(1_700_000_400.0)
"""Some minutes after the containers of observations have ended."""


def generated_pods(many: int, seed: int) -> Iterator[tuple[Pod, PodStatus | None]]:
    """Yield pods with the status that the node gives them, None for some to which it gave none yet."""
    draw = Random(seed)  # the same pods in each run
    for number in range(many):
        pod = _pod(f"pod-{number:03}", draw)
        yield pod, _status(pod, draw) if draw.random() < 0.95 else None


def _pod(name: str, draw: Random) -> Pod:
    inits = [f"init-{each}" for each in range(draw.choice([0, 0, 1, 2]))]
    spec: dict[str, Any] = {
        "restartPolicy": draw.choice(["Always", "OnFailure", "Never"]),
        "containers": [{"name": f"main-{each}"} for each in range(draw.choice([1, 1, 2]))],
    }
    if inits:
        sidecar = {"restartPolicy": "Always"}
        spec["initContainers"] = [
            {"name": each, **(sidecar if draw.random() < 1 / 3 else {})} for each in inits
        ]
    pod = make_pod(name, spec=spec)
    if draw.random() < 0.1:
        pod.document["metadata"]["deletionTimestamp"] = "2026-11-22T00:00:00Z"
    return pod


def _status(pod: Pod, draw: Random) -> PodStatus:
    spec = pod.document["spec"]
    names = [each["name"] for each in (*spec.get("initContainers", ()), *spec["containers"])]
    histories = [found for name in names if (found := _history(name, draw))]
    seen = observation(*histories, uid=pod.uid)
    status = status_after(StatusSituation(pod=pod, observed=seen, now=NOW))
    reason = draw.choice([""] * 9 + ["Evicted"])
    return dataclasses.replace(status, reason=status.reason or reason)


def _history(name: str, draw: Random) -> ContainerHistory | None:
    runs = running(name, attempt=draw.choice([0, 0, 1, 3]))
    found = [
        None,
        runs,
        runs,
        restarted(runs),
        restarted(runs, code=0),
        exited(name),
        exited(name, code=3),
        exited(name, code=137, reason="OOMKilled"),
        waiting(name, "ImagePullBackOff"),
        waiting(name),
        backing_off(name, attempt=2),
        created(name),
        lost(name),
    ]
    return draw.choice(found)
