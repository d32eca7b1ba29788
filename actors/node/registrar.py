"""NodeRegistrar: keeps the Node in the cluster that stands for this machine.

This is the actor around pure modules. ``operations`` decides what is done next, from ``observed`` (what is
known of the Node), ``document`` (what it should be) and ``conditions`` (its present conditions).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from actors.api_calls import HEARTBEAT_WITHIN, api_call
from actors.node import document
from actors.node.conditions import (
    ConditionType,
    current_conditions,
    lasting_pressures,
    pressures,
    with_troubles,
)
from actors.node.followers import Followers, FollowersMemory, fact_of
from actors.node.machine import Machine
from actors.node.observed import uid_of
from actors.node.operations import NodeOperation, NodeOperations, NodeTakeover
from actors.node.retries import OperationRetries
from actors.node.rules import RETRIES, NodeRules, jittered
from kernel import Actor, Key, OperationsMemory, Port, Timer
from messages.api import ApiFailure, CallApi, FailureKind, Retry
from messages.node import (
    FollowNode,
    FollowRegistrar,
    LoopsAre,
    NodeIs,
    NodeIsGone,
    NodeMessage,
    RuntimeHasNews,
)
from messages.pods import JsonObject
from messages.units import Seconds
from messages.watches import (
    ObjectsAre,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)

ATTEMPTS: Final = 5
"""Attempts for one report (rule N2). The next reading of the machine leads to another report."""
STABLE_AFTER: Final = Seconds(30.0)
"""A Node that is deleted sooner than this after its registration is deleted on purpose. From the second time
on it is registered again with growing waits, so that two programs cannot race."""

_log = structlog.get_logger("node/registrar")


NodeRegistrarMessage: TypeAlias = NodeMessage | WatchFact


def _name_of(message: NodeRegistrarMessage) -> Hashable | None:
    """Coalesce the messages after which the machine is read."""
    return type(message).__name__ if isinstance(message, LoopsAre | RuntimeHasNews) else None


NODE_REGISTRAR = Key[NodeRegistrarMessage]("node/registrar", coalesce=_name_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePorts:
    """The ports that the registrar uses."""

    calls: Port[CallApi]
    watches: Port[Watch]
    me: Port[WatchFact]
    """Its own address, which outlives a crash: what it subscribes with."""


@dataclass(slots=True)
class NodeMemory:
    """What outlives a life of the registrar."""

    followers: FollowersMemory = field(default_factory=FollowersMemory)
    failed: tuple[str, ...] = ()
    """Names of the agent's loops that fail."""
    pressed: dict[ConditionType, Seconds] = field(default_factory=dict)
    """When each pressure was last observed."""
    takeover: NodeTakeover = field(default_factory=NodeTakeover)


class NodeRegistrar(Actor[NodeRegistrarMessage]):
    """Registers the Node, labels it, and reports its status.

    Owns: what is known of the Node, the readings of the machine, the reports. Has a thread of its own,
    since reading the machine may block.
    Hears: ``FollowNode``, ``FollowRegistrar``, ``LoopsAre``, ``RuntimeHasNews``; of its watch all
    ``WatchFact``; answers to its calls.
    Tells: followers ``NodeIs`` when the Node appears, gets another UID, begins to be deleted, or changes its
    labels, annotations, spec or extended resources (not the rest of its status, which changes every few
    minutes), and ``NodeIsGone``; both may repeat. Followers of the registrar itself ``RegistrarLives``, at
    each reading of the machine.
    Fails when: there is a bug. After any failure of the API server it waits and tries again.

    A Node that is somebody else's (``NodeRules.own_label``) is followed and never touched: ``NodeIsGone``
    says why.

    One call is in flight at a time. A deleted Node is registered again at once. What others wrote on it
    stays. While the watch fails, the Node is fetched whenever the machine is read, as a kubelet does. An
    ordered stop sends nothing to the API server: as with a kubelet the Lease runs out, and pods stay.
    """

    def __init__(
        self, rules: NodeRules, ports: NodePorts, machine: Machine, memory: NodeMemory
    ) -> None:
        self._rules = rules
        self._ports = ports
        self._machine = machine
        self._memory = memory
        self._operations = NodeOperations(rules, memory.takeover)
        self._followers = Followers(rules.status_update_frequency, memory.followers)
        self._began = Seconds(0.0)
        self._registered_at: Seconds | None = None
        self._short_lives = 0
        self._retries = OperationRetries[NodeOperation](self._retry_in, "node/registrar")

    def _retry_in(self, delay: Seconds, operation: NodeOperation) -> Timer:
        return self.later(delay, self._try_again, operation)

    @override
    def started(self) -> None:
        self._calls = self.operations(OperationsMemory[NodeOperation](), self._take_answer)
        self._next_look = self.alarm(self._look)
        self._began = self.clock.monotonic()
        target = WatchTarget(
            path=document.NODES, field_selector=f"metadata.name={self._rules.name}"
        )
        self._ports.watches.tell(Watch(target=target, subscriber=self._ports.me))
        self._next_look.after(Seconds(0.0))

    @override
    def receive(self, message: NodeRegistrarMessage, /) -> None:
        match message:
            case ObjectsAre() | WatchEvent() | WatchFailed() | WatchRecovered():
                self._see(message)
            case RuntimeHasNews():
                self._look()
            case LoopsAre(failed=failed):
                self._memory.failed = failed
                self._look()
            case FollowNode() | FollowRegistrar():
                self._followers.add(message)
            case _:
                assert_never(message)

    def _see(self, fact: WatchFact) -> None:
        observed = self._operations.observed
        match fact:
            case ObjectsAre(objects=objects, resource_version=version):
                observed.listed(objects, version)
                self._note_word()
            case WatchEvent(op=op, object=node):
                observed.changed(op, node)
            case WatchFailed():  # shown by the actor that keeps the watches
                observed.unwatched()
            case WatchRecovered():
                observed.watched()
                self._note_word()
            case _:
                assert_never(fact)
        self._go_on()

    def _note_word(self) -> None:
        """End the wait of a failed look: another one follows at once, or its failure is over."""
        if self._operations.owes_look:
            self._retries.resume(NodeOperation.LOOK)
        elif not self._operations.observed.needs_look:
            self._retries.succeeded(NodeOperation.LOOK)

    # The machine.

    def _look(self) -> None:
        """Read the machine, do what follows from that, and then say that the registrar lives."""
        self._read()
        self._next_look.after(jittered(self._rules.status_update_frequency, 0.04))
        self._go_on()
        self._show_life()  # last, so that it is only told if everything before it worked

    def _read(self) -> None:
        now = self.clock.monotonic()
        facts = self._machine.read()
        measured = pressures(facts.signals, self._rules.resources.thresholds)
        self._memory.pressed.update({each: now for each, seen in measured.items() if seen})
        held = lasting_pressures(
            measured, self._memory.pressed, now, self._rules.pressure_transition_period
        )
        self._operations.facts = facts
        found = current_conditions(held, self._memory.failed)
        self._operations.found = with_troubles(found, facts.troubles, facts.trouble_reason)
        self._operations.want_report()
        self._operations.observed.age()

    # The followers.

    def _show_life(self) -> None:
        """Tell that the registrar lives, unless this life is younger than a period of readings.

        Otherwise a registrar that crashes soon after each start would seem to work.
        """
        age = self.clock.monotonic() - self._began
        if age >= self._rules.status_update_frequency:
            self._followers.show_life()

    def _publish(self) -> None:
        """Tell the followers how the Node is, if that changed."""
        observed = self._operations.observed
        if not observed.is_known:
            return
        told = self._followers.told
        fact = fact_of(self._rules.name, observed.node, self._operations.note_node())
        if not self._followers.tell(fact):
            return
        if isinstance(fact, NodeIsGone) and fact.reason:
            _log.warning("the Node is left alone", reason=fact.reason)
        elif isinstance(fact, NodeIsGone):
            self._note_departure()
        elif not isinstance(told, NodeIs) or told.uid != fact.uid:
            self._operations.want_report()

    def _note_departure(self) -> None:
        """Let the Node be registered at once, or after a wait if it is deleted time after time."""
        lived_since, self._registered_at = self._registered_at, None
        if lived_since is None or self.clock.monotonic() - lived_since >= STABLE_AFTER:
            self._short_lives = 0
            self._retries.resume(NodeOperation.REGISTER)
            return
        self._short_lives += 1
        if self._short_lives > 1:
            self._retries.wait_for(NodeOperation.REGISTER, RETRIES.delay(self._short_lives - 1))

    # The calls.

    def _go_on(self) -> None:
        """Tell how the Node is, and send the next request, unless one is in flight."""
        self._publish()
        if len(self._calls):
            return
        step = self._operations.next(self._retries.waits, self.clock.monotonic(), self.clock.wall())
        if step is not None:
            operation, request = step
            sent = api_call(self._ports.calls, request, within=HEARTBEAT_WITHIN)
            self._calls.begin(operation, sent)

    def _try_again(self, operation: NodeOperation) -> None:
        self._retries.resume(operation)
        self._go_on()

    def _take_answer(self, operation: NodeOperation, outcome: JsonObject | ApiFailure) -> None:
        if not isinstance(outcome, ApiFailure):
            self._succeed(operation, outcome)
        elif outcome.kind is FailureKind.NOT_FOUND and operation is not NodeOperation.REGISTER:
            self._operations.missed(operation)
        else:
            self._fail(operation, outcome)
        self._go_on()

    def _succeed(self, operation: NodeOperation, node: JsonObject) -> None:
        now = self.clock.monotonic()
        self._retries.succeeded(operation)
        self._operations.succeeded(operation, node, now)
        if operation is NodeOperation.REGISTER:
            self._registered_at = now
            _log.info("registered the Node", node=self._rules.name, uid=uid_of(node))

    def _fail(self, operation: NodeOperation, failure: ApiFailure) -> None:
        failures = self._retries.failed(operation)
        self._operations.owes_look |= operation is NodeOperation.LOOK and failure.status > 0
        if failure.retry is Retry.AFTER_RELIST:
            self._operations.observed.is_doubted = True
        else:
            self._retries.show(operation, failure)
        if operation is NodeOperation.REPORT:
            if failures >= ATTEMPTS or failure.retry is Retry.NEVER:
                self._retries.give_up(operation)
                return
            self._operations.want_report()
        if operation is NodeOperation.LABEL and failure.retry is Retry.NEVER:
            self._retries.wait_for(operation, self._rules.status_report_frequency)
            return
        self._retries.wait(operation, failure)
