"""What a crash costs: each actor of a running agent is crashed, and watched from outside until it is back."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from time import perf_counter
from typing import NamedTuple

from benchmarks.agent import GIVE_UP_AFTER, Agent, pause, wait_until
from benchmarks.pods import manifest
from benchmarks.row import WORST, Row, Target, spread

_NAMES = {f"pod-{number}" for number in range(10)}


class Recovery(NamedTuple):
    """How one crash went."""

    seconds: float
    """Until the next life runs."""
    pods_lost: int
    """Pods that should be there afterwards and are not, one written meanwhile included."""
    unhealthy: int
    """Answers of the healthz port meanwhile that were not 200."""


def crash_rows(*, quick: bool) -> list[Row]:
    """Return the time to recover for each actor, and what was lost by any of the crashes."""
    recoveries: defaultdict[str, list[Recovery]] = defaultdict(list)
    for _ in range(1 if quick else 5):
        # Anew each time: what fails again soon waits longer, by design.
        with Agent("--enable-chaos", pods=_NAMES) as agent:
            agent.wait_ready()
            for name in _restarts(agent):
                recoveries[name].append(_recovery(agent, name))
    every = [recovery for each in recoveries.values() for recovery in each]
    return [
        *(_time_row(name, each) for name, each in recoveries.items()),
        _count_row("pods lost in all of these crashes", [each.pods_lost for each in every]),
        _count_row("/healthz not 200 meanwhile", [each.unhealthy for each in every]),
    ]


def _time_row(name: str, recoveries: list[Recovery]) -> Row:
    return Row(
        what=f"{name} crashed, until it runs again",
        unit="s",
        figures=spread([each.seconds for each in recoveries]),
        samples=len(recoveries),
        target=Target(1.0),
        judged=WORST,
    )


def _count_row(what: str, counts: list[int]) -> Row:
    return Row(
        what=what, unit="", figures={"total": sum(counts)}, samples=len(counts), target=Target(0.0)
    )


def _restarts(agent: Agent) -> dict[str, int]:
    """Return the actors that run, supervisors apart, and how often each was restarted."""
    actors = agent.document("/actorz").get("actors", ())
    return {
        actor["name"]: actor["restarts"]
        for actor in actors
        if actor["type"] != "supervisor" and actor["state"] == "running"
    }


def _recovery(agent: Agent, name: str) -> Recovery:
    before = _restarts(agent)[name]
    written = f"written-while-{name.replace('/', '-')}-is-down"
    began = perf_counter()
    assert agent.status(f"/debug/actors/{name}/crash", method="POST") in {0, 202}
    (agent.manifests / f"{written}.yaml").write_bytes(manifest(written))
    unhealthy = 0
    while _restarts(agent).get(name, 0) <= before:
        unhealthy += not agent.is_healthy()
        pause(0.002)
        if perf_counter() - began > GIVE_UP_AFTER:
            raise TimeoutError(f"{name} does not come back")
    seconds = perf_counter() - began
    return Recovery(seconds, _pods_lost(agent, written), unhealthy)


def _pods_lost(agent: Agent, written: str) -> int:
    """Return how many pods are missing, once the new one had time enough to be noticed."""
    wait_until(partial(_serves, agent, written), poll_every=0.01)
    return len(_NAMES - agent.pod_names())


def _serves(agent: Agent, name: str) -> bool:
    return name in agent.pod_names()
