"""The probes of pods in histories: how containers are asked, and what is drawn of that."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tests.environment.health import ASKED, Question


def probes_of(
    name: str, probed: Mapping[str, Sequence[str]], random_: random.Random
) -> dict[str, Any]:
    """Return the probes of a container, by their fields. ``probed`` says which containers have which."""
    return {field: probe(name, field, random_) for field in probed.get(name, ())}


def probe(name: str, field: str, random_: random.Random) -> dict[str, Any]:
    """Return a probe of a container, for one of its fields."""
    made = {
        **_handler(Question(name, ASKED[field]), random_),
        "initialDelaySeconds": random_.choice([0, 0, 3]),
        "periodSeconds": random_.choice([2, 5, 10]),
        "timeoutSeconds": 1,
        "failureThreshold": random_.choice([1, 2, 3]),
        "successThreshold": random_.choice([1, 2]) if field == "readinessProbe" else 1,
    }
    if field != "readinessProbe" and random_.random() < 0.5:
        made["terminationGracePeriodSeconds"] = random_.choice([1, 3])
    return made


def _handler(question: Question, random_: random.Random) -> dict[str, Any]:
    handlers = {
        "exec": {"command": question.command},
        "httpGet": {"path": question.path, "port": question.port, "scheme": "HTTP"},
        "tcpSocket": {"port": question.port},
        "grpc": {"port": question.port, "service": question.path.removeprefix("/")},
    }
    kind = random_.choice(sorted(handlers))
    return {kind: handlers[kind]}
