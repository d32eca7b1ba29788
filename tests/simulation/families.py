"""The families of histories: what runs the pods, which pods there are, and what may happen to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from runtimes.hollow.behaviours import PREFIX
from tests.environment.node import Node, Sources
from tests.environment.oracle.rest import NEVER_RUNS
from tests.environment.outside import Outside
from tests.environment.runtimes.containers import InContainers
from tests.environment.runtimes.hollow import Hollow
from tests.environment.runtimes.provider import ENDS_AFTER, EXIT_CODE, STOPS_AFTER, Provided
from tests.environment.runtimes.runtime import Runtime
from tests.simulation.events.drawing import HAPPENS, WITHOUT_MACHINE
from tests.simulation.events.event import Kinds
from tests.simulation.events.jobs import JOBS
from tests.simulation.events.machine import pull_links
from tests.simulation.events.trouble import DISK
from tests.simulation.kinds import KINDS
from tests.simulation.workload import (
    PLAIN,
    Workload,
    behaviours,
    hooks,
    settle_others,
    sources_of,
    startups,
)


@dataclass(frozen=True, slots=True)
class Family:
    """What is different in histories of one runtime."""

    runtime: Callable[[Outside, random.Random], Runtime]
    workload: Callable[[random.Random], Workload]
    happens: Kinds
    prepare: Callable[[Node, random.Random], None] = lambda _node, _luck: None
    end_trouble: Callable[[Node], None] = lambda _node: None
    sources: Callable[[random.Random], Sources] = lambda _luck: Sources()
    """Where the pods come from."""


# --- containers of a machine ---------------------------------------------------------------------------


def _prepare_machine(node: Node, luck: random.Random) -> None:
    node.machine.behaviours = behaviours(luck)
    node.containers.health.starts_up_in = startups(luck)
    node.containers.hooks.take = hooks(luck)
    settle_others(node.machine)


def _end_trouble_of_machine(node: Node) -> None:
    node.service.faults.clear()
    node.containers.hooks.troubles.clear()
    pull_links(node)
    node.service.loses_events = node.service.repeats_events = False
    node.wire.come_back()


# --- hollow pods ---------------------------------------------------------------------------------------

HOLLOW_KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    **KINDS,
    "healing": {"containers": ["healing"]},
    "slow": {
        "containers": ["main", "beside"],
        "annotations": {
            f"{PREFIX}time-to-create-sandbox": "1s-3s",
            f"{PREFIX}time-to-pull": "500ms-4s",
            f"{PREFIX}time-to-create": "200ms",
            f"{PREFIX}time-to-start": "300ms",
            f"{PREFIX}ready-after.main": "5s",
        },
    },
    "unpulled": {
        "containers": ["main"],
        "annotations": {f"{PREFIX}pull-error": "no such host", f"{PREFIX}pull-error-times": "2"},
    },
    "dying": {
        "containers": ["main", "beside"],
        "annotations": {f"{PREFIX}sandbox-dies-after": "40s"},
    },
    "refused": {
        "containers": ["refused", "main"],
        "annotations": {f"{PREFIX}create-error.refused": "no room", NEVER_RUNS: ""},
    },
    "misspelt": {
        "containers": ["misspelt", "main"],
        "annotations": {f"{PREFIX}run-for.misspelt": "long", NEVER_RUNS: ""},
    },
    "accompanied": {"sidecars": ["main"], "containers": ["done"], "restartPolicy": "Never"},
}


def _hollow_workload(luck: random.Random) -> Workload:
    said = {
        "time-to-stop.main": luck.choice(["0s", "500ms-3s", "40s"]),
        "stop-exit-code.main": "7",
        "ignores-sigterm.hooked": luck.choice(["true", "false"]),
        "run-for.beside": "4s",
        "exits.beside": luck.choice(["0", "1"]),
        "run-for.crashing": luck.choice(["500ms", "3s", "1s-5s"]),
        "exits.crashing": "1",
        "run-for.aging": luck.choice(["400s", "590s", "610s"]),
        "exits.aging": "1",
        "run-for.first": "300ms",
        "run-for.second": "2s",
        "run-for.failing": "500ms",
        "exits.failing": "1",
        "run-for.done": "1s",
        "run-for.failed": "1500ms",
        "exits.failed": "3",
        "started-after.slow": luck.choice(["500ms", "3s", "7s"]),
        "started-after.stuck": "24h",
        "ready-after.served": luck.choice(["1s", "8s"]),
        "hangs-after.alive": luck.choice(["5s", "45s", "24h"]),
        "run-for.healing": "1s",
        "exits.healing": "1,1,run",
    }
    return Workload(HOLLOW_KINDS, {PREFIX + key: value for key, value in said.items()})


# --- a class of somebody's own -------------------------------------------------------------------------

JOB_KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "plain": {"containers": ["main"]},
    "pair": {"containers": ["main", "beside"]},
    "slow": {"containers": ["main"], "annotations": {STOPS_AFTER: "4"}},
    "job": {
        "containers": ["main"],
        "restartPolicy": "Never",
        "annotations": {ENDS_AFTER: "30", EXIT_CODE: "3"},
    },
    "tried": {
        "containers": ["main"],
        "restartPolicy": "OnFailure",
        "annotations": {ENDS_AFTER: "0.4"},
    },
    "limited": {"containers": ["main"], "deadlines": (2, 30, 90)},
    "ending": {"containers": ["main"], "annotations": {ENDS_AFTER: "90", STOPS_AFTER: "60"}},
}


def _end_trouble_of_class(node: Node) -> None:
    if isinstance(node.runtime, Provided):
        node.runtime.faults.clear()


FAMILIES: Final[Mapping[str, Family]] = {
    "cri": Family(
        lambda outside, _: InContainers(outside),
        lambda _: PLAIN,
        HAPPENS,
        _prepare_machine,
        _end_trouble_of_machine,
        sources_of,
    ),
    "hollow": Family(
        lambda outside, luck: Hollow(outside, keeps_records=luck.random() < 0.6),
        _hollow_workload,
        {**WITHOUT_MACHINE, **DISK},
        sources=sources_of,
    ),
    "provider": Family(
        lambda outside, luck: Provided(outside, is_able=luck.random() < 0.5),
        lambda _: Workload(JOB_KINDS),
        {**WITHOUT_MACHINE, **JOBS},
        end_trouble=_end_trouble_of_class,
        sources=sources_of,
    ),
}
"""By the name that ``--runtime`` has for it."""
