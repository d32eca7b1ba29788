"""TokenKeeper: has the API server issue the tokens that volumes show, and renews them in time.

``tokens`` decides when, and says what is asked and what an answer means; ``token_records`` has what is known
of each pod. This file is the actor around them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, assert_never

import structlog
from typing_extensions import override

from actors.api_calls import ApiOutage, api_call, is_outage, pause
from actors.volumes.token_records import PodTokens, TokenQueue, TokenRecord, counted
from actors.volumes.tokens import (
    NO_TOKEN,
    RETRY_BACKOFF,
    TokenAlarms,
    TokenAsking,
    WaitFor,
    expires_in,
    token_issued,
    token_request,
)
from kernel import Key, OperationsMemory, PooledActor
from messages.api import ApiFailure, CallApi
from messages.pods import JsonObject, PodUid
from messages.port import Port
from messages.tokens import (
    DescribeTokens,
    ReleaseTokens,
    TokensAre,
    TokensDescribed,
    TokensMessage,
    WantTokens,
)
from messages.units import Instant, Seconds

EXAMINED_AT_ONCE: Final = 64
"""Pods whose tokens are looked at in one turn."""
CHECK_EVERY: Final = Seconds(10.0)
"""How often the two clocks are compared while there are tokens: no timer runs while the machine sleeps."""
CLOCK_JUMP: Final = Seconds(1.0)
"""Clocks that went apart by more than this: the machine slept, or somebody set the time."""

_log = structlog.get_logger("tokens")

TOKEN_KEEPER: Final = Key[TokensMessage]("tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPorts:
    """Whom the keeper of tokens talks to, beside those who want some."""

    calls: Port[CallApi]


@dataclass(slots=True)
class TokenMemory:
    """What outlives a life of the keeper of tokens."""

    pods: dict[PodUid, PodTokens] = field(default_factory=dict, repr=False)
    states: Counter[str] = field(default_factory=Counter)
    """How many tokens are in which state."""
    requests: Counter[str] = field(default_factory=Counter)
    """Requests by what came of them."""


class TokenKeeper(PooledActor[TokensMessage]):
    """Gets and renews the tokens of service accounts that pods show in files.

    Owns: the tokens of each pod, and the requests for them. Tokens are nowhere but in memory and in the
    facts that it tells.
    Hears: ``WantTokens``, ``ReleaseTokens``, ``DescribeTokens``; answers to its calls.
    Tells: the sender of calls ``CallApi``; whoever wants tokens ``TokensAre``, complete, whenever it changes.
    Fails when: there is a bug. Whatever the API server answers is a token or a trouble.

    Order: tokens that a pod waits for are asked for before renewals, a few at a time. During an outage one is
    tried, and the others wait. What an attempt fails for leaves the last token, which is shown until it
    has expired.
    Repetition: every message may repeat. A life that begins asks again for what was under way, so the API
    server may issue a token that nobody gets. Pods that are being deleted have their tokens renewed until
    they are released: a container that takes its time to end may still need them.
    """

    def __init__(self, ports: TokenPorts, memory: TokenMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._alarms = TokenAlarms()
        self._queue = TokenQueue()
        self._to_examine: dict[PodUid, None] = {}
        self._trouble = ""
        """Why the API server cannot be asked; empty if it can."""
        self._clocks_apart = 0.0

    @override
    def started(self) -> None:
        self._calls = self.operations(OperationsMemory[TokenRecord](), self._take_answer)
        waiting = "tokens of service accounts have to wait for the API server"
        self._outage = ApiOutage(self.alarm(self._go_on), _log, waiting)
        self._next_look = self.alarm(self._note_time)
        self._more = self.alarm(self._go_on)
        self._clocks_apart = self._apart()
        for tokens in self._memory.pods.values():
            for record in tokens.records.values():
                record.is_asking = False
        self._wake(self._memory.pods)
        self._go_on()

    @override
    def receive(self, message: TokensMessage, /) -> None:
        match message:
            case WantTokens():
                self._want(message)
            case ReleaseTokens(uid=uid):
                self._release(uid)
            case DescribeTokens(reply_to=reply_to):
                memory = self._memory
                reply_to.tell(
                    TokensDescribed(states=dict(memory.states), requests=dict(memory.requests))
                )
            case _:
                assert_never(message)
        self._go_on()

    # --- what it hears ---------------------------------------------------------------------------------

    def _want(self, message: WantTokens) -> None:
        uid = message.pod.uid
        if not message.wanted:
            self._release(uid)
            message.reply_to.tell(TokensAre(uid=uid))
            return
        tokens = self._memory.pods.get(uid)
        if tokens is None:
            tokens = PodTokens(pod=message.pod, wanted=message.wanted, reply_to=message.reply_to)
            self._memory.pods[uid] = tokens
        else:
            self._memory.states.subtract(counted(tokens))
        tokens.want(message)
        self._memory.states.update(counted(tokens))
        self._wake((uid,))

    def _release(self, uid: PodUid) -> None:
        tokens = self._memory.pods.pop(uid, None)
        if tokens is not None:
            self._memory.states.subtract(counted(tokens))
            self._alarms.set(uid, None)

    def _take_answer(self, record: TokenRecord, outcome: JsonObject | ApiFailure) -> None:
        record.is_asking = False
        if isinstance(outcome, ApiFailure) and is_outage(outcome):
            self._count(outcome.kind.value)
            self._note_outage(outcome)
        else:
            self._outage.note_answer()
            self._trouble = ""
            self._learn(record, outcome)
        self._wake((record.uid,))
        self._go_on()

    def _learn(self, record: TokenRecord, outcome: JsonObject | ApiFailure) -> None:
        """Take what the API server says about one token."""
        if isinstance(outcome, ApiFailure):
            self._count(outcome.kind.value)
            self._note_failure(record, outcome.sentence, outcome)
            return
        issued = token_issued(outcome, self.clock.now(), random.random())  # noqa: S311  # only jitter
        if issued is None:
            self._count("unusable")
            self._note_failure(record, NO_TOKEN)
            return
        self._count("issued")
        what = "renewed a token" if record.issued is not None else "got a token"
        _log.debug(what, **_of(record), good_for_seconds=round(issued.life))
        if record.failures:
            _log.info("there is a token again", **_of(record))
        record.note_issued(issued)

    def _note_failure(
        self, record: TokenRecord, sentence: str, failure: ApiFailure | None = None
    ) -> None:
        record.failures += 1
        if record.failures == 1:
            _log.warning("there is no token", **_of(record), reason=sentence)
        delay = pause(RETRY_BACKOFF, record.failures, failure)
        record.note_failure(sentence, Seconds(self.clock.monotonic() + delay))

    def _note_outage(self, failure: ApiFailure) -> None:
        self._outage.note_failure(failure)
        if not self._trouble:
            # Those who wait are told why.
            self._wake(record.uid for record in self._queue)
        self._trouble = failure.sentence

    def _note_time(self) -> None:
        """Wake the pods whose time has come: all of them if a clock says that more has passed."""
        apart = self._apart()
        if abs(apart - self._clocks_apart) > CLOCK_JUMP:
            self._clocks_apart = apart
            self._wake(self._memory.pods)
        self._wake(self._alarms.take(self.clock.monotonic()))
        self._go_on()

    # --- what it does ----------------------------------------------------------------------------------

    def _wake(self, uids: Iterable[PodUid]) -> None:
        self._to_examine |= dict.fromkeys(uids)

    def _go_on(self) -> None:
        """Look at the pods that were woken, a portion of them; ask what may be asked; set the alarms."""
        for uid in tuple(islice(self._to_examine, EXAMINED_AT_ONCE)):
            del self._to_examine[uid]
            tokens = self._memory.pods.get(uid)
            if tokens is not None:
                self._examine(tokens)
        if self._to_examine:
            self._more.after(Seconds(0.0))
        self._ask()
        self._set_next_look()

    def _examine(self, tokens: PodTokens) -> None:
        now = self.clock.now()
        delays: list[float] = []
        for record in tokens.records.values():
            step = record.step(now)
            if step is TokenAsking.ASK:
                self._queue.add(record)
            if isinstance(step, WaitFor):
                delays.append(step.delay)
            left = expires_in(record.issued, now)
            if left:
                delays.append(left)
            elif left is not None and self._trouble:
                record.failure = self._trouble
        due = Seconds(now.monotonic + min(delays)) if delays else None
        self._alarms.set(tokens.pod.uid, due)
        self._tell(tokens, now)

    def _tell(self, tokens: PodTokens, now: Instant) -> None:
        fact = tokens.fact(self._trouble, now)
        if fact == tokens.told:
            return
        self._memory.states.subtract(counted(tokens))
        tokens.told = fact
        self._memory.states.update(counted(tokens))
        tokens.reply_to.tell(fact)

    def _ask(self) -> None:
        while (
            self._outage.has_room(len(self._calls)) and (record := self._queue.take()) is not None
        ):
            tokens = self._memory.pods.get(record.uid)
            if tokens is None or not tokens.has(record):
                continue  # nobody wants it any more
            if record.step(self.clock.now()) is TokenAsking.ASK:
                record.is_asking = True
                request = token_request(tokens.pod, record.ask)
                self._calls.begin(record, api_call(self._ports.calls, request))

    def _set_next_look(self) -> None:
        due = self._alarms.next_due()
        if due is None:
            return
        now = self.clock.monotonic()
        at, before = Seconds(min(max(due, now), now + CHECK_EVERY)), self._next_look.due
        if (
            before is None or at < before
        ):  # never later: the clocks are compared also while much is told
            self._next_look.at(at)

    # --- small things ----------------------------------------------------------------------------------

    def _apart(self) -> float:
        now = self.clock.now()
        return now.wall - now.monotonic

    def _count(self, result: str) -> None:
        self._memory.requests[result] += 1


def _of(record: TokenRecord) -> dict[str, str]:
    return {"pod": record.pod, "uid": record.uid, "audience": record.ask.audience}
