"""What the registrar has to ask of the API server next, as far as it follows from what is known. Pure.

Nothing is planned ahead: after each answer and each event the most urgent operation is found anew, so that
nothing has to be taken back when the Node goes or comes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TypeAlias

from actors.node import document
from actors.node.conditions import NodeCondition
from actors.node.machine import MachineFacts
from actors.node.observed import ObservedNode, uid_of
from actors.node.rules import NodeRules, jittered
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp


class NodeOperation(StrEnum):
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
class NodeOperations:
    """What is known of the Node and of the machine, and what follows."""

    rules: NodeRules
    taken_over: TakenOver
    observed: ObservedNode = field(default_factory=ObservedNode)
    facts: MachineFacts | None = None
    """As the machine was last; nothing is done before."""
    found: Sequence[NodeCondition] = ()
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
        self, waits: Callable[[NodeOperation], bool], now: Seconds, wall: Timestamp
    ) -> tuple[NodeOperation, ApiRequest] | None:
        """Return the most urgent operation that does not wait, and its request."""
        for operation, make in self._all(now, wall):
            request = None if waits(operation) else make()
            if request is not None:
                return operation, request
        return None

    def succeeded(self, operation: NodeOperation, node: JsonObject, now: Seconds) -> None:
        """Take the answer to an operation: the Node as it is."""
        if operation is NodeOperation.LOOK:
            self._note_look(node)
            return
        self.observed.answered(node)
        if operation is not NodeOperation.REPORT:
            self.taken_over.labelled = uid_of(node)
        if operation is NodeOperation.REPORT:
            self.taken_over.cleared = self._clears
        if operation is not NodeOperation.LABEL:  # a Node is created with its status
            period = jittered(self.rules.status_report_frequency, 0.1)
            self._report_due = Seconds(now + period)

    def missed(self, operation: NodeOperation) -> None:
        """Take it that there was no Node."""
        if operation is NodeOperation.LOOK:
            self._note_look(None)
        else:
            self.observed.missing()

    def _note_look(self, node: JsonObject | None) -> None:
        self.owes_look = False
        self.observed.looked(node)

    def _all(self, now: Seconds, wall: Timestamp) -> Iterator[tuple[NodeOperation, _Make]]:
        """Give what there may be to do, the most urgent first."""
        observed, facts = self.observed, self.facts
        if facts is None:
            return
        if observed.needs_look:
            yield NodeOperation.LOOK, self._look
        elif observed.is_known and observed.node is not None:
            if self.rules.register:
                yield NodeOperation.LABEL, partial(self._label, facts, observed.node)
            yield NodeOperation.REPORT, partial(self._report, facts, observed.node, now, wall)
        elif observed.is_known and self.rules.register:
            yield NodeOperation.REGISTER, partial(self._register, facts, wall)
        if self.owes_look:
            yield NodeOperation.LOOK, self._look

    def _look(self) -> ApiRequest:
        self.observed.looking()
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
