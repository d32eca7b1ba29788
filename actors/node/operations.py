"""Which request about the Node the registrar sends next. Pure.

Nothing is planned ahead. After each answer and each event the most urgent operation is determined again,
so no plan has to be revised when the Node appears or disappears meanwhile.
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
    """What the registrar can ask of the API server. The values appear in the log."""

    LOOK = "look at the Node"
    REGISTER = "register the Node"
    LABEL = "label the Node"
    REPORT = "report the Node's status"


@dataclass(slots=True)
class NodeTakeover:
    """What the agent does once to each Node: the UID of the last Node for which it was done.

    It outlives crashes, so nothing is done twice: users may have changed it on purpose since.
    """

    labelled: str = ""
    """The Node that was given the agent's labels."""
    owned: str = ""
    """The Node that was the agent's. It stays so, whatever becomes of its label."""
    cleared: str = ""
    """The Node whose extended resources were set to 0, since nobody offers them any more."""
    in_use: tuple[str, ...] = ()
    """The volumes that the Node said are in use. A Node that is made anew says so, too: what a kubelet has
    mounted stays mounted, and a controller would detach it."""
    in_use_said_by: str = ""
    """The last Node that said so."""


_Make: TypeAlias = Callable[[], ApiRequest | None]


@dataclass(slots=True)
class NodeOperations:
    """What is known of the Node and of the machine, and the operations that follow from it."""

    rules: NodeRules
    takeover: NodeTakeover
    observed: ObservedNode = field(default_factory=ObservedNode)
    facts: MachineFacts | None = None
    """The last reading of the machine. Nothing is done before there is one."""
    found: Sequence[NodeCondition] = ()
    """The conditions at present."""
    owes_look: bool = False
    """A look was refused, so one more has to be answered, even if nothing else needs it: until then the
    failure stays shown."""
    _report_wanted: bool = False
    _report_due: Seconds | None = None
    """When to report even an unchanged status; None for at once."""
    _clears: str = ""
    """UID of the Node whose leftovers the last report removes."""

    def note_node(self) -> str:
        """Note of the Node that exists whether it is the agent's, and then which volumes it says are in use.

        Return why it is left alone; empty if it is not, or if there is none.
        """
        node = self.observed.node
        if node is None:
            return ""
        if _is_owned(self.rules, node):
            self.takeover.owned = uid_of(node)
        if uid_of(node) != self.takeover.owned:
            return _refusal(self.rules)
        self._note_volumes(node)
        return ""

    def _note_volumes(self, node: JsonObject) -> None:
        """Note which volumes are in use. A new Node decides once it has said what the last one did."""
        takeover, said = self.takeover, document.volumes_in_use(node)
        if takeover.in_use_said_by == uid_of(node) or set(takeover.in_use) <= set(said):
            takeover.in_use, takeover.in_use_said_by = said, uid_of(node)

    def want_report(self) -> None:
        """Consider a report once: it is sent if the status changed, or if one is due anyhow."""
        self._report_wanted = True

    def next(
        self, waits: Callable[[NodeOperation], bool], now: Seconds, wall: Timestamp
    ) -> tuple[NodeOperation, ApiRequest] | None:
        """Return the most urgent operation and its request; None if there is none.

        Operations for which ``waits`` is true are left out.
        """
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
            self.takeover.labelled = uid_of(node)
        if operation is NodeOperation.REPORT:
            self.takeover.cleared = self._clears
        if operation is not NodeOperation.LABEL:  # a Node is created with its status
            period = jittered(self.rules.status_report_frequency, 0.1)
            self._report_due = Seconds(now + period)

    def missed(self, operation: NodeOperation) -> None:
        """Note that an operation found no Node."""
        if operation is NodeOperation.LOOK:
            self._note_look(None)
        else:
            self.observed.missing()

    def _note_look(self, node: JsonObject | None) -> None:
        self.owes_look = False
        self.observed.looked(node)

    def _all(self, now: Seconds, wall: Timestamp) -> Iterator[tuple[NodeOperation, _Make]]:
        """Yield the operations that may be needed, the most urgent first."""
        observed, facts = self.observed, self.facts
        if facts is None:
            return
        node = observed.node
        if observed.needs_look:
            yield NodeOperation.LOOK, self._look
        elif observed.is_known and node is None and self.rules.register:
            yield NodeOperation.REGISTER, partial(self._register, facts, wall)
        elif observed.is_known and node is not None and not self.note_node():
            if self.rules.register:
                yield NodeOperation.LABEL, partial(self._label, facts, node)
            yield NodeOperation.REPORT, partial(self._report, facts, node, now, wall)
        if self.owes_look:
            yield NodeOperation.LOOK, self._look

    def _look(self) -> ApiRequest:
        self.observed.looking()
        return ApiRequest(verb=Verb.GET, path=document.node_path(self.rules.name))

    def _register(self, facts: MachineFacts, wall: Timestamp) -> ApiRequest:
        node = document.new_node(self.rules, facts, self.found, wall, self.takeover.in_use)
        return document.creation(node)

    def _label(self, facts: MachineFacts, node: JsonObject) -> ApiRequest | None:
        """Return the request that sets labels: once for each Node, since users may remove them on purpose."""
        if self.takeover.labelled == uid_of(node):
            return None
        request = document.reconciliation(self.rules, facts, node)
        if request is None:
            self.takeover.labelled = uid_of(node)
        return request

    def _report(
        self, facts: MachineFacts, node: JsonObject, now: Seconds, wall: Timestamp
    ) -> ApiRequest | None:
        # Not whenever the Node differs: two agents with the same name would overwrite each other as
        # fast as the network allows.
        wanted, self._report_wanted = self._report_wanted, False
        if not wanted:
            return None
        status = document.machine_status(self.rules, facts)
        if self.takeover.in_use_said_by != uid_of(node):
            status = document.with_volumes_in_use(status, node, self.takeover.in_use)
        self._clears = uid_of(node)
        if self.rules.register and self.takeover.cleared != self._clears:
            status = document.without_leftovers(status, node)
        is_due = self._report_due is None or now >= self._report_due
        if is_due or document.has_news(node, status, self.found):
            return document.report(self.rules, node, status, self.found, wall)
        self.takeover.cleared = self._clears
        return None


def _is_owned(rules: NodeRules, node: JsonObject) -> bool:
    """Return whether ``node`` says that it belongs to agents such as this one.

    The Node of a real machine must not be marked as ready by an agent whose pods only seem to run.
    """
    if rules.own_label is None:
        return True
    key, value = rules.own_label
    labels = node.get("metadata", {}).get("labels") or {}
    return bool(labels.get(key) == value)


def _refusal(rules: NodeRules) -> str:
    """Return why a Node that is not owned is left alone, for people."""
    key, value = rules.own_label or ("", "")
    return (
        f"the Node {rules.name} exists and has no label {key}={value}, so it is left alone: choose another "
        "name with --hostname-override, or take it over with --force-hollow"
    )
