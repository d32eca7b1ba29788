"""Rules of which actors the agent has for Secrets and ConfigMaps."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from typing_extensions import override

from messages.pods import Pod
from tests.environment.cluster import NODE
from tests.environment.oracle.references import Reference, files_of, references
from tests.environment.oracle.rule import Rule
from tests.environment.oracle.shown import TERMINAL
from tests.environment.oracle.starts import CALM
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import POD

HOLDERS: Final = "objects/"
"""Begins the name of each such actor. Its kind, its namespace and its name follow."""
READ_FOR: Final = 300.0
"""Seconds after which an object that nobody reads may have no actor: the limit of idleness."""
FOLDERS: Final = {"secrets": "Secret", "configmaps": "ConfigMap"}


class OneWatcher(Rule):
    """Each object of the API server that pods reference has one actor, from the first reference to the last.

    It may have none once nobody has read it for a while, unless a volume of a pod that runs shows it, and one
    while a pod cannot be stopped because its runtime is away. Static pods need none.
    """

    is_of_containers = False

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._pods: dict[str, list[Reference]] = {}
        """What the pods reference that are there, and have not ended."""
        self._shown: dict[str, set[tuple[str, str]]] = {}
        """What their volumes show."""
        self._since: dict[tuple[str, str], float] = {}
        self._released_at: dict[tuple[str, str], float] = {}

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        now, uid = self.wishes.now(), change.after["metadata"]["uid"]
        if change.kind is not POD or change.after["spec"].get("nodeName") != NODE:
            return
        pod = Pod.of(change.after)
        before = set(self._referenced())
        ended = change.is_gone or change.after.get("status", {}).get("phase") in TERMINAL
        self._pods[uid] = [] if ended or pod.is_mirror else list(references(pod))
        self._shown[uid] = {each.key for _, _, each in files_of(pod)}
        after = set(self._referenced())
        self._released_at.update(dict.fromkeys(before - after, now))
        self._since.update(dict.fromkeys(after - before, now))

    @override
    def works_with(self, actors: Collection[str]) -> None:
        now, wishes = self.wishes.now(), self.wishes
        there, referenced = set(held_by(actors)), set(self._referenced())
        calm_since = max(wishes.troubled_at, wishes.killed_at, wishes.known_since(0.0)) + CALM
        for key in sorted(there - referenced) if self.runtime.is_there else ():
            if self.judges(unless=now <= max(calm_since, self._released_at.get(key, 0.0) + CALM)):
                self.broken(f"an actor is there for {key}, which nobody references")
        followed = self._followed()
        for key in sorted(referenced):
            may_rest = key not in followed and now >= self._since[key] + READ_FOR
            is_new = now <= max(calm_since, self._since[key] + CALM)
            if self.judges(unless=may_rest or is_new) and key not in there:
                self.broken(f"no actor is there for {key}, which is referenced")

    def _followed(self) -> set[tuple[str, str]]:
        """Return what volumes show of pods that run."""
        if not self.runtime.makes_volumes:
            return set()
        shown = (self._shown.get(each.uid, set()) for each in self.runtime.live())
        return set().union(*shown)

    def _referenced(self) -> Iterator[tuple[str, str]]:
        return (each.key for pod in self._pods.values() for each in pod)


def held_by(actors: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each object that has an actor."""
    for each in actors:
        if each.startswith(HOLDERS):
            folder, _, name = each.removeprefix(HOLDERS).split("/")
            yield FOLDERS[folder], name
