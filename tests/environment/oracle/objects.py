"""Rules of what containers are given of Secrets and ConfigMaps.

Each value of an object ends with a number, which grows from one to the next.
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from messages.pods import Pod
from tests.environment.cluster import KEY
from tests.environment.machine import Instance
from tests.environment.oracle.rule import Rule
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import CONFIG_MAP, POD, SECRET
from tests.support.canary import revealed


class Given(Rule):
    """A container is given of an object what it said at some moment since the pod was there, and never less
    new than the pod was given before.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._said: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
        self._wanted_since: dict[str, float] = {}
        self._used: dict[tuple[str, str], int] = {}

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        now, metadata = self.wishes.now(), change.after["metadata"]
        if change.kind is POD:
            self._wanted_since.setdefault(metadata["uid"], now)
        if change.kind in {SECRET, CONFIG_MAP}:
            key = change.kind.name, metadata["name"]
            self._said[key].append((now, number(text_of(change))))
            self.wishes.said[key] = text_of(change)

    @override
    def starts(self, one: Instance) -> None:
        for value in one.given:
            text = revealed(value)
            for key in tuple(self._said):
                if text.startswith(f"{key[1]}-"):
                    self._look_at(one, key, number(text))

    def _look_at(self, one: Instance, key: tuple[str, str], given: int) -> None:
        since = self._wanted_since.get(one.uid, 0.0)
        said = self._said[key]
        ends = [begin for begin, _ in said[1:]] + [math.inf]
        if not any(
            which == given and end >= since for (_, which), end in zip(said, ends, strict=True)
        ):
            self.broken(
                f"{one.name} of {one.uid} is given {given} of {key}, which was over before it"
            )
        if given < self._used.get((one.uid, key[1]), -1):
            self.broken(f"{one.name} of {one.uid} is given {given} of {key}, and was given more")
        self._used[one.uid, key[1]] = given


def text_of(change: Change) -> str:
    """Return the value of an object after a change; empty if it is gone."""
    if change.is_gone:
        return ""
    value = change.after["data"][KEY].encode()
    return revealed(b64decode(value) if change.kind is SECRET else value)


def number(text: str) -> int:
    """Return which of its values this is of an object; -1 for none."""
    return int(text.rpartition("-")[2]) if text else -1


def referenced(pod: Pod) -> Iterator[tuple[str, str]]:
    """Yield kind and name of the Secrets and ConfigMaps that a pod names."""
    spec = pod.document["spec"]
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        for each in container.get("env", ()):
            if "valueFrom" in each:
                yield "Secret", each["valueFrom"]["secretKeyRef"]["name"]
        for each in container.get("envFrom", ()):
            yield "ConfigMap", each["configMapRef"]["name"]
    for each in spec.get("volumes", ()):
        if "secret" in each:
            yield "Secret", each["secret"]["secretName"]
        if "configMap" in each:
            yield "ConfigMap", each["configMap"]["name"]
