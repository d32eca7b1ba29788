"""LeaseKeeper: renews the Lease that says the Node is alive (rule N5).

The conditions of the Node come from the registrar, and once written they stay "Ready". So when the
registrar is silent, nothing shows that they are still true. The Lease is not renewed then: it runs out,
and the cluster marks the Node as not ready.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from actors.api_calls import HEARTBEAT_WITHIN, api_call
from actors.node import lease
from actors.node.retries import OperationRetries
from actors.node.rules import jittered
from kernel import Key, OperationsMemory, PooledActor, Port, Timer
from messages.api import ApiFailure, ApiRequest, CallApi, FailureKind, Retry, Verb
from messages.node import (
    FollowNode,
    FollowRegistrar,
    NodeFact,
    NodeIs,
    NodeIsGone,
    NodeUid,
    RegistrarLives,
)
from messages.pods import JsonObject
from messages.units import Seconds
from messages.watches import ListAllAnew

RENEWALS: Final = 4
"""Renewals within the duration of the Lease, as a kubelet makes. Three may fail before the Node is lost."""
IMMEDIATE_STEPS: Final = 3
"""Requests without a wait between two renewals, such as a GET after a conflict, or a creation."""
MISSED_SIGNS: Final = 4
"""Signs of life of the registrar that may be missing. A crash, or a slow machine, costs two of them."""
FIRST_SIGN_WITHIN: Final = Seconds(180.0)
"""How long the first sign of life of the registrar may take. A guess: a machine that boots is slow."""

_log = structlog.get_logger("node/lease")


class LeaseOperation(StrEnum):
    """What the keeper does at the API server. The value appears in the log, so single requests do not."""

    RENEW = "renew the Lease of the Node"


LeaseKeeperMessage: TypeAlias = NodeFact | RegistrarLives


def _name_of(message: LeaseKeeperMessage) -> Hashable | None:
    match message:
        case NodeIs() | NodeIsGone():
            return "node"
        case RegistrarLives():
            return "registrar"
        case _:
            assert_never(message)


LEASE_KEEPER = Key[LeaseKeeperMessage]("node/lease", coalesce=_name_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePorts:
    """The ports that the keeper of the Lease uses."""

    calls: Port[CallApi]
    registrar: Port[FollowNode | FollowRegistrar]
    watches: Port[ListAllAnew]
    me: Port[NodeFact | RegistrarLives]
    """Its own address, which outlives a crash: what it subscribes with."""


class LeaseKeeper(PooledActor[LeaseKeeperMessage]):
    """Renews the Lease four times within its duration, and creates it when there is none.

    Owns: the Lease as the API server answered it last.
    Hears: ``NodeIs``, ``NodeIsGone`` and ``RegistrarLives`` from the registrar, answers to its calls.
    Tells: the registrar ``FollowNode`` and ``FollowRegistrar``, once in each life; the watches
    ``ListAllAnew`` when a renewal shows that the API server was put back into its past.
    Fails when: there is a bug. After any failure of the API server it waits and tries again.

    One call is in flight at a time, and none while nothing is due. A known Lease is renewed without a GET
    before it; after a conflict there is one. Creation waits for the Node, which owns the Lease; a renewal
    does not, unless ``waits_for_node``: then nothing is sent before there is a Node, nor while it is somebody
    else's. Nothing is sent once four signs of life of the registrar are missing; with its next sign
    whatever is due is sent. After an ordered stop the Lease runs out by itself, as a kubelet's does.
    """

    def __init__(
        self, node: str, duration: Seconds, ports: LeasePorts, *, waits_for_node: bool = False
    ) -> None:
        self._node = node
        self._duration = duration
        self._period = Seconds(duration / RENEWALS)
        self._ports = ports
        self._owner: NodeUid | None = None
        self._may_send = not waits_for_node
        self._lease: JsonObject | None = None
        self._history = lease.History()
        self._ours = ""
        """The time of our last renewal. Empty while an unanswered renewal may have arrived."""
        self._reported_others: set[str] = set()
        self._is_absent = False
        self._is_due = True
        self._immediate_steps = 0
        self._heard_at = Seconds(0.0)
        self._silence_limit = FIRST_SIGN_WITHIN
        self._has_heard = False
        self._is_withheld = False
        # Not longer, even if an overloaded server asks for it: a Lease that runs out costs the Node all
        # its pods, and costs the server more than one renewal.
        self._retries = OperationRetries[LeaseOperation](
            self._retry_in, "node/lease", longest=self._period
        )

    def _retry_in(self, delay: Seconds, _operation: LeaseOperation) -> Timer:
        return self.later(delay, self._renew)

    @override
    def started(self) -> None:
        self._calls = self.operations(OperationsMemory[Verb](), self._take_answer)
        self._next = self.alarm(self._renew)
        self._heard_at = self.clock.monotonic()
        self._ports.registrar.tell(FollowNode(subscriber=self._ports.me))
        self._ports.registrar.tell(FollowRegistrar(subscriber=self._ports.me))
        self._go_on()

    @override
    def receive(self, message: LeaseKeeperMessage, /) -> None:
        match message:
            case NodeIs(uid=uid, is_deleting=is_deleting):
                self._may_send = True
                self._follow(None if is_deleting else uid)
            case NodeIsGone(reason=reason):
                self._may_send = not reason
                self._follow(None)
            case RegistrarLives(period=period):
                self._has_heard, self._heard_at = True, self.clock.monotonic()
                self._silence_limit = Seconds(MISSED_SIGNS * period)
            case _:
                assert_never(message)
        self._go_on()

    def _renew(self) -> None:
        self._is_due = True
        self._go_on()

    def _follow(self, owner: NodeUid | None) -> None:
        # The garbage collector deletes a Lease whose owner is gone, so a new owner is written at once.
        self._is_due |= owner not in {None, self._owner}
        self._owner = owner

    def _go_on(self) -> None:
        if not self._is_due or not self._may_send or len(self._calls):
            return
        if not self._registrar_lives():
            return  # until the registrar's next sign of life
        request = self._request()
        if request is None:
            return  # there is no Node to own it; a message will tell of one
        self._is_due = False
        sent = api_call(self._ports.calls, request, within=HEARTBEAT_WITHIN, deadline=self._period)
        self._calls.begin(request.verb, sent)

    def _registrar_lives(self) -> bool:
        """Return whether the registrar shows signs of life, and log when that changes."""
        silence = self.clock.monotonic() - self._heard_at
        is_silent = silence > self._silence_limit
        if is_silent and not self._is_withheld:
            why = f"its registrar has not been heard of for {silence:.0f} s"
            _log.warning("the Lease of the Node is left to run out", reason=why)
            if not self._has_heard:  # a life of the registrar may have crashed over the first one
                self._ports.registrar.tell(FollowRegistrar(subscriber=self._ports.me))
        elif self._is_withheld and not is_silent:
            _log.info("the Lease of the Node is renewed again: its registrar is back")
        self._is_withheld = is_silent
        return not is_silent

    def _request(self) -> ApiRequest | None:
        now = self.clock.wall()
        if self._lease is not None:
            return lease.renewal(self._lease, self._node, self._owner, self._duration, now)
        if not self._is_absent:
            return lease.look(self._node)
        if self._owner is not None:
            return lease.creation(self._node, self._owner, self._duration, now)
        return None

    def _take_answer(self, verb: Verb, outcome: JsonObject | ApiFailure) -> None:
        if isinstance(outcome, ApiFailure):
            self._fail(verb, outcome)
        else:
            self._succeed(verb, outcome)
        self._go_on()

    def _succeed(self, verb: Verb, found: JsonObject) -> None:
        self._lease = found
        if verb is Verb.GET:
            self._is_due = True
            self._look_for_others(found)
            return
        self._ours = lease.renew_time(found)
        self._note_revision(found)
        self._immediate_steps = 0
        self._retries.succeeded(LeaseOperation.RENEW)
        self._next.after(jittered(self._period, 0.04))

    def _note_revision(self, renewed: JsonObject) -> None:
        """Have everything listed anew if the history of the API server went back."""
        self._history = self._history.after(renewed)
        if self._history.fell_from is not None:
            _log.warning(
                "the API server is older than it was, so everything is listed anew: from a backup?",
                revision=self._history.revision,
                before=self._history.fell_from,
            )
            self._ports.watches.tell(ListAllAnew())

    def _look_for_others(self, found: JsonObject) -> None:
        """Warn once if somebody else renews the Lease, and so reports the Node too."""
        reason = lease.other_holder(found, self._node, self._ours)
        if reason and reason not in self._reported_others:
            self._reported_others.add(reason)
            event = "somebody else keeps the Lease of the Node: a kubelet, or another agent?"
            _log.warning(event, reason=reason)

    def _fail(self, verb: Verb, failure: ApiFailure) -> None:
        if failure.retry is Retry.AFTER_DELAY:
            self._ours = ""
        is_missing = failure.kind is FailureKind.NOT_FOUND
        if is_missing and verb is Verb.CREATE:
            sentence = f"the namespace {lease.NAMESPACE} is missing: {failure.sentence}"
            failure = replace(failure, sentence=sentence)
        elif is_missing or failure.retry is Retry.AFTER_RELIST:
            # The known Lease is wrong. The next request is a different one, so it need not wait.
            self._lease, self._is_absent = None, is_missing
            self._immediate_steps += 1
            self._is_due |= self._immediate_steps <= IMMEDIATE_STEPS
        if not self._is_due:
            self._retries.failed(LeaseOperation.RENEW)
            self._retries.show(LeaseOperation.RENEW, failure)
            self._retries.wait(LeaseOperation.RENEW, failure)
