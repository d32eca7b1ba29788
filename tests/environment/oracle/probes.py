"""Rules of when containers are probed, and of what follows from their answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from typing_extensions import override

from tests.environment.machine import Instance
from tests.environment.oracle.cluster import shown_uid
from tests.environment.oracle.rule import Answers, Rule
from tests.environment.oracle.starts import CALM
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import POD

SHOWN_WITHIN: Final = 5.0
"""Seconds after answers come to count: the timeout of the last one, and a look."""
NOBODY: Final = Answers()


class HeldBack(Rule):
    """Liveness and readiness are asked once startup has passed, and startup is not asked any more then."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._passed_at: dict[str, float] = {}

    @override
    def answers(self, one: Instance, what: str, *, is_yes: bool) -> None:
        now, passed_at = self.wishes.now(), self._passed_at.get(one.id, math.inf)
        if what != "started":
            if self.wishes.probe(one, "started") and self.judges() and passed_at == math.inf:
                self.broken(f"{one.name} of {one.uid} is asked if it is {what} before it started")
            return
        has_passed = passed_at < now
        may_be_late = now <= max(passed_at, self.wishes.troubled_at) + CALM
        if self.judges(unless=has_passed and may_be_late) and has_passed:
            self.broken(f"{one.name} of {one.uid} is asked if it has started, and has said so")
        if is_yes:
            self._passed_at.setdefault(one.id, now)


class ReadyAsAnswered(Rule):
    """A container is shown ready once it has answered so, as often as its probe says, and not before.

    So is the end of that, and that it has started. What counted before a SIGKILL of the agent stays shown.
    One that has ended says nothing more. While its runtime is away it is shown as running, and not ready.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._ended: set[str] = set()

    @override
    def ends(self, one: Instance) -> None:
        self._ended.add(one.id)

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if is_agents and change.kind is POD and not change.is_gone:
            self.shows({shown_uid(change.after): change.after["status"]})

    @override
    def shows(self, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        for uid, status in statuses.items():
            for group in ("initContainerStatuses", "containerStatuses"):
                for one in status.get(group, ()):
                    for what in self._wrong(uid, one):
                        self.broken(f"{one['name']} of {uid} {what}")

    def _wrong(self, uid: str, shown: Mapping[str, Any]) -> Iterator[str]:
        container = self.wishes.container(uid, shown["name"])
        instance = shown.get("containerID", "").removeprefix("containerd://")
        for field, shows, what in (
            ("startupProbe", shown.get("started"), "started"),
            ("readinessProbe", shown["ready"], "ready"),
        ):
            answers = self.wishes.answers.get((instance, what), NOBODY)
            if field not in container or not self.wishes.wants(uid):
                continue
            if shows and self.judges() and not answers.has_succeeded:
                yield f"is shown {what} and never said so"
            if "running" not in shown["state"] or instance in self._ended:
                continue
            if self.judges(unless=not self._counts(answers)) and answers.is_yes is not shows:
                yield f"is shown {what}: {shows}, and answers {answers}"

    def _counts(self, answers: Answers) -> bool:
        """Return whether the agent must know what an instance answers."""
        now = self.wishes.now()
        return now > max(answers.counts_since + SHOWN_WITHIN, self.wishes.troubled_at + CALM)
