"""What the registrar has to ask of the API server next, as far as it follows from what is known. Pure.

Nothing is planned ahead: after each answer and each event the most urgent errand is found anew, so that
nothing has to be taken back when the Node goes or comes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TypeAlias

from actors.node import document
from actors.node.conditions import Finding
from actors.node.machine import MachineFacts
from actors.node.rules import NodeRules, jittered
from actors.node.sight import NodeSight, uid_of
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp


class Errand(StrEnum):
    """What the API server is asked for."""

    LOOK = "look at the Node"
    REGISTER = "register the Node"
    LABEL = "label the Node"
    REPORT = "report the Node's status"


@dataclass(slots=True)
class TakenOver:
    """What was done once to a Node, by its UID. Outlives crashes: it must not be done again.

    What users took off the Node or wrote on it since is theirs.
    """

    labelled: str = ""
    """Has our labels."""
    cleared: str = ""
    """Counts no extended resources that nobody offers any more."""


_Make: TypeAlias = Callable[[], ApiRequest | None]


@dataclass(slots=True)
class Errands:
    """What is known of the Node and of the machine, and what follows."""

    rules: NodeRules
    taken_over: TakenOver
    sight: NodeSight = field(default_factory=NodeSight)
    facts: MachineFacts | None = None
    """As the machine was last; nothing is done before."""
    found: Sequence[Finding] = ()
    """What the conditions have to say."""
    owes_look: bool = False
    """A look was refused. That stays shown until one is answered, whether or not it is still wanted."""
    _report_wanted: bool = False
    _report_due: Seconds | None = None
    """When to report in any case; None for at once."""
    _clears: str = ""
    """Of which Node the last report takes leftovers away."""

    def want_report(self) -> None:
        """Have the status reported if there is news in it, or a report is due anyhow."""
        self._report_wanted = True

    def next(
        self, waits: Callable[[Errand], bool], now: Seconds, wall: Timestamp
    ) -> tuple[Errand, ApiRequest] | None:
        """Return the most urgent errand that does not wait, and its request."""
        for errand, make in self._all(now, wall):
            request = None if waits(errand) else make()
            if request is not None:
                return errand, request
        return None

    def succeeded(self, errand: Errand, node: JsonObject, now: Seconds) -> None:
        """Take the answer to an errand: the Node as it is."""
        if errand is Errand.LOOK:
            self._note_look(node)
            return
        self.sight.answered(node)
        if errand is not Errand.REPORT:
            self.taken_over.labelled = uid_of(node)
        if errand is Errand.REPORT:
            self.taken_over.cleared = self._clears
        if errand is not Errand.LABEL:  # a Node is created with its status
            period = jittered(self.rules.status_report_frequency, 0.1)
            self._report_due = Seconds(now + period)

    def missed(self, errand: Errand) -> None:
        """Take it that there was no Node."""
        if errand is Errand.LOOK:
            self._note_look(None)
        else:
            self.sight.missing()

    def _note_look(self, node: JsonObject | None) -> None:
        self.owes_look = False
        self.sight.looked(node)

    def _all(self, now: Seconds, wall: Timestamp) -> Iterator[tuple[Errand, _Make]]:
        """Give what there may be to do, the most urgent first."""
        sight, facts = self.sight, self.facts
        if facts is None:
            return
        if sight.needs_look:
            yield Errand.LOOK, self._look
        elif sight.is_known and sight.node is not None:
            if self.rules.register:
                yield Errand.LABEL, partial(self._label, facts, sight.node)
            yield Errand.REPORT, partial(self._report, facts, sight.node, now, wall)
        elif sight.is_known and self.rules.register:
            yield Errand.REGISTER, partial(self._register, facts, wall)
        if self.owes_look:
            yield Errand.LOOK, self._look

    def _look(self) -> ApiRequest:
        self.sight.looking()
        return ApiRequest(verb=Verb.GET, path=document.node_path(self.rules.name))

    def _register(self, facts: MachineFacts, wall: Timestamp) -> ApiRequest:
        return document.creation(document.new_node(self.rules, facts, self.found, wall))

    def _label(self, facts: MachineFacts, node: JsonObject) -> ApiRequest | None:
        """Once for each Node: who takes a label off afterwards wants it so."""
        if self.taken_over.labelled == uid_of(node):
            return None
        request = document.reconciliation(self.rules, facts, node)
        if request is None:
            self.taken_over.labelled = uid_of(node)
        return request

    def _report(
        self, facts: MachineFacts, node: JsonObject, now: Seconds, wall: Timestamp
    ) -> ApiRequest | None:
        # Only when it is wanted, not whenever the Node differs: two agents that were given one name
        # would answer each other as fast as the network allows.
        wanted, self._report_wanted = self._report_wanted, False
        if not wanted:
            return None
        status = document.machine_status(self.rules, facts)
        self._clears = uid_of(node)
        if self.rules.register and self.taken_over.cleared != self._clears:
            status = document.without_leftovers(status, node)
        is_due = self._report_due is None or now >= self._report_due
        if is_due or document.has_news(node, status, self.found):
            return document.report(self.rules, node, status, self.found, wall)
        self.taken_over.cleared = self._clears
        return None
