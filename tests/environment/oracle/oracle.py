"""The oracle: it sees what happens on the machine and what the agent shows, and keeps what is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from typing_extensions import override

from messages.pods import Pod
from tests.environment.machine import Instance, Witness
from tests.environment.node import Node
from tests.environment.oracle.rule import Rule, Wishes
from tests.environment.oracle.shown import AddressStays, NeverBack, NoSecret
from tests.environment.oracle.starts import BackOff, InitFirst, OneInstance, Policy, Wanted
from tests.environment.oracle.stops import AfterHook, GraceShrinks, OthersStay, StopWanted

RULES: Final[tuple[type[Rule], ...]] = (
    *(OneInstance, Wanted, InitFirst, Policy, BackOff),
    *(StopWanted, GraceShrinks, AfterHook, OthersStay),
    *(AddressStays, NeverBack, NoSecret),
)


class Oracle(Witness):
    """Asks every rule after everything that happens. Knows nothing of how the agent is made."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.wishes = Wishes(now=lambda: node.wall)
        self.broken: list[str] = []
        """What is broken, in the order in which it was seen."""
        self._rules = self._made()
        node.runtime.is_seen_by(self)

    def wants(self, pods: Sequence[Pod]) -> None:
        """Hear what people want from now on."""
        wishes = self.wishes
        wishes.pods.update({pod.uid: pod for pod in pods})
        for uid in set(wishes.pods) - {pod.uid for pod in pods}:
            wishes.unwanted_at.setdefault(uid, self._node.wall)

    def look(self) -> None:
        """Look at what the agent shows, and at the machine."""
        self.shows(self._node.statuses())
        self.moves()
        for ended in self._node.endings:
            if ended.error and "crashed on request" not in ended.error:
                self._note(f"{ended.name} fails: {ended.error}")
        self._node.endings.clear()

    @override
    def starts(self, one: Instance) -> None:
        for rule in self._rules:
            rule.starts(one)

    @override
    def ends(self, one: Instance) -> None:
        for rule in self._rules:
            rule.ends(one)

    @override
    def is_asked_to_stop(self, one: Instance, grace: float) -> None:
        for rule in self._rules:
            rule.is_asked_to_stop(one, grace)

    @override
    def shows(self, statuses: Mapping[str, Mapping[str, object]]) -> None:
        for rule in self._rules:
            rule.shows(statuses)

    @override
    def moves(self) -> None:
        for rule in self._rules:
            rule.moves()

    @override
    def forgets(self) -> None:
        self._rules = self._made()

    @override
    def loses(self, uid: str) -> None:
        self.wishes.touched.add(uid)

    def _made(self) -> list[Rule]:
        return [each(self.wishes, self._node.runtime, self._note) for each in RULES]

    def _note(self, what: str) -> None:
        self.broken.append(f"{self._node.outside.now:.2f} s: {what}")
