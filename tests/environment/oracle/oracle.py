"""The oracle: it sees what happens on the machine and what the agent shows, and keeps what is broken."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from typing_extensions import override

from messages.pods import Pod
from messages.sources import SourceDescribed
from tests.environment.machine import Instance, Witness
from tests.environment.node import Node
from tests.environment.oracle.cluster import (
    GoneAfterEnd,
    MarksStay,
    NoSecretTold,
    OnlyOurs,
    StatusNeverBack,
)
from tests.environment.oracle.deadlines import Deadline
from tests.environment.oracle.hooks import HookOnce, PostStartFirst, PreStopFirst
from tests.environment.oracle.objects import Given
from tests.environment.oracle.probes import HeldBack, ReadyAsAnswered
from tests.environment.oracle.rule import Judgements, Rule, Wishes
from tests.environment.oracle.runtimes import AsAnnotated, CalledInOrder, Outlives
from tests.environment.oracle.shown import AddressStays, ErrorStays, NeverBack, NoSecret
from tests.environment.oracle.sources import LastListed
from tests.environment.oracle.starts import (
    BackOff,
    InitFirst,
    MeantImage,
    OneInstance,
    OneName,
    Policy,
    Wanted,
)
from tests.environment.oracle.stops import AfterHook, GraceShrinks, OthersStay, StopWanted
from tests.environment.oracle.volumes import PartStays
from tests.environment.oracle.watchers import OneWatcher
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import NODE
from tests.support.canary import LOOKOUT

RULES: Final[tuple[type[Rule], ...]] = (
    *(OneInstance, OneName, Wanted, MeantImage, InitFirst, Policy, BackOff),
    *(StopWanted, GraceShrinks, AfterHook, OthersStay),
    *(HookOnce, PostStartFirst, PreStopFirst),
    *(AddressStays, NeverBack, ErrorStays, NoSecret),
    *(OnlyOurs, MarksStay, StatusNeverBack, GoneAfterEnd, NoSecretTold, LastListed, Given),
    *(AsAnnotated, Outlives, CalledInOrder),
    *(HeldBack, ReadyAsAnswered, OneWatcher, PartStays, Deadline),
)


class Oracle(Witness):
    """Asks every rule after everything that happens. Knows nothing of how the agent is made."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.wishes = Wishes(now=lambda: node.wall, longest_pause=node.bounds.longest_pause)
        self.broken: list[str] = []
        """What is broken, in the order in which it was seen."""
        self.judgements = {each.__name__: Judgements() for each in RULES}
        """By the name of a rule."""
        self._rules = self._made()
        node.is_seen_by(self)

    def wants(self, pods: Sequence[Pod]) -> None:
        """Hear what people want from now on."""
        wishes = self.wishes
        wishes.pods.update({pod.uid: pod for pod in pods})
        for uid in set(wishes.pods) - {pod.uid for pod in pods}:
            wishes.unwanted_at.setdefault(uid, self.node.wall)

    def look(self) -> None:
        """Look at what the agent shows, and at the machine."""
        self.shows(self.node.statuses())
        self.describes(self.node.described())
        self.fails(self.node.errors())
        self.moves()
        actors = self.node.play.describe()
        self.works_with(actors)
        for each in actors.values():
            LOOKOUT.look(f"the error of {each.name}", each.last_error)
        for ended in self.node.endings:
            if ended.error and "crashed on request" not in ended.error:
                self._note(f"{ended.name} fails: {ended.error}")
        self.node.endings.clear()

    @override
    def starts(self, one: Instance) -> None:
        self.wishes.note_start(one)
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
    def answers(self, one: Instance, what: str, *, is_yes: bool) -> None:
        self.wishes.note_answer(one, what, is_yes=is_yes)
        for rule in self._rules:
            rule.answers(one, what, is_yes=is_yes)

    @override
    def calls_hook(self, one: Instance, field: str) -> None:
        for rule in self._rules:
            rule.calls_hook(one, field)

    @override
    def hook_ends(self, one: Instance, field: str, *, is_success: bool) -> None:
        self.wishes.note_hook(one, field, is_success=is_success)
        for rule in self._rules:
            rule.hook_ends(one, field, is_success=is_success)

    @override
    def is_killed(self, one: Instance) -> None:
        for rule in self._rules:
            rule.is_killed(one)

    @override
    def shows(self, statuses: Mapping[str, Mapping[str, object]]) -> None:
        for rule in self._rules:
            rule.shows(statuses)

    @override
    def describes(self, sources: Mapping[str, SourceDescribed]) -> None:
        for rule in self._rules:
            rule.describes(sources)

    @override
    def fails(self, errors: Mapping[str, tuple[int, str]]) -> None:
        for rule in self._rules:
            rule.fails(errors)

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if change.kind is NODE and not change.is_gone:
            self.wishes.owner = change.after["metadata"]["uid"]
        for rule in self._rules:
            rule.changes(change, is_agents=is_agents)

    @override
    def objects_say(self, where: str, kind: str, name: str, text: str) -> None:
        for rule in self._rules:
            rule.objects_say(where, kind, name, text)

    @override
    def pulls(self, password: str) -> None:
        for rule in self._rules:
            rule.pulls(password)

    @override
    def works_with(self, actors: Collection[str]) -> None:
        for rule in self._rules:
            rule.works_with(actors)

    @override
    def deletes(self, pod: Pod) -> None:
        for rule in self._rules:
            rule.deletes(pod)

    @override
    def moves(self) -> None:
        for rule in self._rules:
            rule.moves()

    @override
    def calls(self, method: str, uid: str, grace: float = 0.0) -> None:
        for rule in self._rules:
            rule.calls(method, uid, grace)

    @override
    def returns(self, method: str, uid: str) -> None:
        for rule in self._rules:
            rule.returns(method, uid)

    @override
    def forgets(self) -> None:
        anew = zip(self._rules, self._made(), strict=True)
        self._rules = [new if old.is_of_containers else old for old, new in anew]

    @override
    def loses_power(self) -> None:
        for rule in self._rules:
            rule.loses_power()

    @override
    def loses(self, uid: str) -> None:
        self.wishes.touched.add(uid)
        for rule in self._rules:
            rule.loses(uid)

    def _made(self) -> list[Rule]:
        about = self.wishes, self.node.runtime, self._note
        return [each(*about, self.judgements[each.__name__]) for each in RULES]

    def _note(self, what: str) -> None:
        self.broken.append(f"{self.node.outside.now:.2f} s: {what}")
