"""The kinds of pods that histories have, each with containers whose names say what they do."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

from tests.environment.commands import HOOK
from tests.environment.health import ASKED
from tests.environment.oracle.hooks import POST_START, PRE_STOP
from tests.simulation.reading import WITH_TOKEN

STARTUP, LIVENESS, READINESS = ASKED
KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "plain": {"containers": ["main"]},
    "pair": {"containers": ["main", "beside"]},
    "hooked": {"containers": ["hooked"]},
    "crashing": {"containers": ["crashing"]},
    "aging": {"containers": ["aging"]},
    "pulled": {"containers": ["crashing", "main"], "pull": "Always"},
    "prepared": {"initContainers": ["first", "second"], "containers": ["main"]},
    "unprepared": {"initContainers": ["failing"], "containers": ["main"]},
    "job": {"containers": ["done", "failed"], "restartPolicy": "Never"},
    "keyed": {"containers": ["main"], "reads": "plainly"},
    "looped": {"containers": ["crashing"], "reads": "one"},
    "instructed": {"initContainers": ["first"], "containers": ["main"], "reads": "otherwise"},
    "projecting": {"containers": ["main", "beside"], "reads": "together"},
    "trusted": {"containers": ["main"], "reads": WITH_TOKEN},
    "optional": {"containers": ["crashing", "main"], "reads": "if there"},
    "private": {"containers": ["main"], "pull": "Always", "reads": "by login"},
    "tried": {"containers": ["done", "beside"], "restartPolicy": "OnFailure"},
    "limited": {"containers": ["main", "crashing"], "deadlines": (2, 30, 90)},
    "outrun": {"initContainers": ["second"], "containers": ["hooked"], "deadlines": (1, 3)},
    "awaiting": {"containers": ["crashing"], "reads": "one", "deadlines": (1, 20)},
    "alive": {"containers": ["alive", "main"], "probes": {"alive": (LIVENESS,)}},
    "served": {"containers": ["served"], "probes": {"served": (READINESS, LIVENESS)}},
    "slow": {"containers": ["slow"], "probes": {"slow": (STARTUP, LIVENESS, READINESS)}},
    "stuck": {"containers": ["stuck"], "probes": {"stuck": (STARTUP, READINESS)}},
    "guarded": {
        "initContainers": ["first"],
        "sidecars": ["slow", "served"],
        "containers": ["main"],
        "probes": {"slow": (STARTUP,), "served": (READINESS,)},
    },
}
IN_CONTAINERS: Final[Mapping[str, Mapping[str, Any]]] = {
    **KINDS,
    "commanded": {"containers": ["commanded", "main"]},
    "parted": {"containers": ["crashing", "main"], "reads": "in parts"},
    "greeted": {
        "sidecars": ["greeting"],
        "containers": ["commanded", "beside"],
        "probes": {"greeting": (READINESS,), "commanded": (LIVENESS,)},
    },
}
GOES_ON: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("main", "hooked", "alive", "served", "slow", "stuck"), None),
    **dict.fromkeys(("commanded", "greeting"), None),
    **dict.fromkeys(("first", "second", "done"), True),
    **dict.fromkeys(("beside", "crashing", "aging", "failing", "failed"), False),
    **dict.fromkeys(("healing", "refused", "misspelt"), False),
}
"""By the name of a container: None if it goes on for ever. Else whether its end is surely a success."""
MAY_CHANGE: Final = frozenset({"plain", "hooked", "crashing", "served", "slow", "commanded"})
"""Kinds of pods whose image is changed. Of others it is not said what a change starts again."""
HOOKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "hooked": {"preStop": {"sleep": {"seconds": 1}}},
    "commanded": {
        POST_START: {"exec": {"command": [HOOK, POST_START]}},
        PRE_STOP: {"exec": {"command": [HOOK, PRE_STOP]}},
    },
    "greeting": {POST_START: {"exec": {"command": [HOOK, POST_START]}}},
}
"""Of containers, by their names."""

OF_A_TRAIT: Final = 3
"""Kinds of a history that have the same trait."""


def few_of(kinds: Mapping[str, Mapping[str, Any]], random_: random.Random) -> list[str]:
    """Return some kinds with one trait in common, and one of any: what is rare is frequent among few."""
    by_trait: dict[str, list[str]] = {}
    for kind in sorted(kinds):
        for trait in _traits(kinds[kind]) or {"none"}:
            by_trait.setdefault(trait, []).append(kind)
    alike = by_trait[random_.choice(sorted(by_trait))]
    few = random_.sample(alike, min(OF_A_TRAIT, len(alike)))
    others = [kind for kind in sorted(kinds) if kind not in few]
    return [*few, random_.choice(others)]


def _traits(made: Mapping[str, Any]) -> set[str]:
    """Return what pods of a kind have that some rules are about."""
    names = {*made["containers"], *made.get("sidecars", ())}
    hooks = {"hooks"} if names & set(HOOKS) else set()
    return {"reads", "probes", "deadlines"} & set(made) | hooks
