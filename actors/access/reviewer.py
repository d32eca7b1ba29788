"""Reviewer: has the API server say who sends a request to the TLS server, and whether they may.

``reviews`` says what is asked and what an answer means, ``questions`` has what waits for one, and
``decisions`` keeps those that count. This file is the actor around them.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import partial
from typing import Final, assert_never

import structlog
from typing_extensions import override

from actors.access.decisions import Decisions, key_of
from actors.access.questions import (
    AccessAsked,
    AccessInReview,
    AccessQuestion,
    InReview,
    TokenInReview,
    accesses,
)
from actors.access.reviews import (
    access_review,
    as_bytes,
    identity_in,
    is_allowed_in,
    token_review,
)
from actors.api_calls import api_call, is_outage
from kernel import (
    CallLane,
    Failure,
    GivenUpError,
    Key,
    Operation,
    OperationsMemory,
    PooledActor,
    delay,
)
from messages.access import (
    AccessMessage,
    Allowed,
    Denied,
    Known,
    May,
    NobodyToAsk,
    Review,
    Unknown,
    WhoIs,
)
from messages.api import ApiFailure, ApiRequest, CallApi, Retry
from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds

ANSWER_WITHIN: Final = Seconds(3.0)
"""How long somebody waits for an answer: two tries, and what they wait for their turn."""
ONE_TRY: Final = Seconds(1.35)
"""How long the API server has for each. A review takes some milliseconds."""
PAUSE: Final = Seconds(0.2)
"""Between the two tries."""
REVIEWS_AT_ONCE: Final = 8
"""Reviews in flight. Strangers cause them, and they share the rate limit of the agent's own calls."""

_log = structlog.get_logger("access")

REVIEWER: Final = Key[AccessMessage]("reviewer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerPorts:
    """Whom the reviewer talks to, beside those who ask."""

    calls: Port[CallApi]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTimes:
    """How long decisions count. Zero is not at all."""

    token: Seconds
    """Whose token it is, or that it is not good."""
    allowed: Seconds
    denied: Seconds


@dataclass(slots=True)
class ReviewerMemory:
    """What outlives a life of the reviewer."""

    tokens: Decisions[Known | Unknown] = field(default_factory=Decisions)
    accesses: Decisions[bool] = field(default_factory=Decisions)
    secret: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)
    """Of this process: with it, keys are made of what is asked."""
    reviews: OperationsMemory[InReview] = field(default_factory=OperationsMemory)
    lane: CallLane = field(default_factory=partial(CallLane, REVIEWS_AT_ONCE))
    is_away: bool = False
    """Whether the API server could not be asked when it was last tried."""
    trouble: str = ""
    """Why the last review has failed; empty if it has not."""


class Reviewer(PooledActor[AccessMessage]):
    """Has the API server say whose token a request shows, and what somebody may do to this Node.

    Owns: the answers that still count, and the reviews in flight. A token is nowhere but in its review.
    Hears: ``WhoIs``, ``May``; answers to its calls.
    Tells: the sender of calls ``CallApi``; whoever asked, once: ``Known`` or ``Unknown``, ``Allowed`` or
    ``Denied``, or ``NobodyToAsk``, 3 s later at most.
    Fails when: there is a bug. Whatever the API server answers is a decision, or there is nobody to ask.

    Order: a question is answered when its reviews are; those who ask the same meanwhile get the same answer.
    Repetition: every question may repeat. No answer is made up: what fails is not kept, and the next one
    who asks causes another review. While the API server is away a decision that has expired may go on to
    allow what it allowed; nothing else becomes allowed by age, an outage or a crash. A crash leaves the
    question that it came over without an answer, or says that there is nobody to ask; a second answer to one
    question means nothing.
    """

    def __init__(
        self, ports: ReviewerPorts, node: str, times: DecisionTimes, memory: ReviewerMemory
    ) -> None:
        self._ports = ports
        self._node = node
        self._times = times
        self._memory = memory

    @override
    def started(self) -> None:
        self._reviews = self.operations(self._memory.reviews, self._take_answer)
        for lost in self._reviews.recover():
            self._take_answer(lost, None)

    @override
    def receive(self, message: AccessMessage, /) -> None:
        match message:
            case WhoIs(token=token, reply_to=reply_to):
                self._identify(token_review(token), reply_to)
            case May():
                asked = tuple(accesses(message, self._node, self._memory.secret))
                until = Seconds(self.clock.monotonic() + ANSWER_WITHIN)
                self._decide(AccessQuestion(may=message, accesses=asked, until=until))
            case _:
                assert_never(message)

    # --- who asks --------------------------------------------------------------------------------------

    def _identify(self, request: ApiRequest, reply_to: Port[Known | Unknown | NobodyToAsk]) -> None:
        key = key_of(self._memory.secret, as_bytes(request.body or {}))
        known = self._memory.tokens.fresh(key, self.clock.monotonic())
        in_review = self._in_review(key)
        if known is not None:
            reply_to.tell(known)
        elif isinstance(in_review, TokenInReview):
            in_review.waiting.append(reply_to)
        else:
            self._review(TokenInReview(key, [reply_to]), request, ANSWER_WITHIN)

    def _take_identity(self, reviewed: TokenInReview, answer: JsonObject | None) -> None:
        known = identity_in(answer) if answer is not None else None
        if known is not None:
            until = Seconds(self.clock.monotonic() + self._times.token)
            self._memory.tokens.keep(reviewed.key, known, until)
        for reply_to in reviewed.waiting:
            reply_to.tell(known or NobodyToAsk(review=Review.TOKEN))

    # --- what they may ---------------------------------------------------------------------------------

    def _decide(self, question: AccessQuestion) -> None:
        """Answer by decisions that count, or have the next review made."""
        now = self.clock.monotonic()
        decisions = [self._memory.accesses.fresh(each.key, now) for each in question.accesses]
        unknown = [
            each
            for each, is_allowed in zip(question.accesses, decisions, strict=True)
            if is_allowed is None and each.key not in question.denied
        ]
        if any(decisions):
            question.may.reply_to.tell(Allowed())
        elif not unknown:
            question.may.reply_to.tell(Denied())
        elif now < question.until:
            self._ask(unknown[0], question)
        else:
            self._answer_without(question)

    def _ask(self, asked: AccessAsked, question: AccessQuestion) -> None:
        in_review = self._in_review(asked.key)
        if isinstance(in_review, AccessInReview):
            in_review.waiting.append(question)
            return
        within = Seconds(question.until - self.clock.monotonic())
        self._review(AccessInReview(asked, [question]), access_review(asked.spec), within)

    def _take_decision(self, reviewed: AccessInReview, answer: JsonObject | None) -> None:
        is_allowed = is_allowed_in(answer) if answer is not None else None
        if is_allowed is not None and reviewed.access.is_kept:
            lasts = self._times.allowed if is_allowed else self._times.denied
            until = Seconds(self.clock.monotonic() + lasts)
            self._memory.accesses.keep(reviewed.key, is_allowed, until)
        for question in reviewed.waiting:
            if is_allowed is None:
                self._answer_without(question)
            elif is_allowed:
                question.may.reply_to.tell(Allowed())
            else:
                question.denied.add(reviewed.key)
                self._decide(question)

    def _answer_without(self, question: AccessQuestion) -> None:
        """Answer without a review: by a decision that has expired if the API server is away."""
        may, now = question.may, self.clock.monotonic()
        stale = (self._memory.accesses.stale(each.key, now) for each in question.accesses)
        if may.may_be_stale and self._memory.is_away and any(stale):
            may.reply_to.tell(Allowed())
        else:
            may.reply_to.tell(NobodyToAsk(review=Review.ACCESS))

    # --- reviews ---------------------------------------------------------------------------------------

    def _in_review(self, key: bytes) -> InReview | None:
        # Each waits for a connection to the server, of which there are few.
        return next((each for each in self._reviews.purposes() if each.key == key), None)

    def _review(self, asked: InReview, request: ApiRequest, within: Seconds) -> None:
        flow = reviewed(self._ports.calls, request, self._memory.lane)
        self._reviews.begin(asked, flow, within=within)

    def _take_answer(
        self, asked: InReview, outcome: JsonObject | ApiFailure | Failure | None
    ) -> None:
        """Take what became of a review; None if a crash came over it."""
        answer = self._note(outcome)
        match asked:
            case TokenInReview():
                self._take_identity(asked, answer)
            case AccessInReview():
                self._take_decision(asked, answer)
            case _:
                assert_never(asked)

    def _note(self, outcome: JsonObject | ApiFailure | Failure | None) -> JsonObject | None:
        """Note whether the API server can be asked. Return its answer; None if there is none."""
        memory = self._memory
        if outcome is None:
            return None
        if isinstance(outcome, Failure):
            if not isinstance(outcome.error, GivenUpError):
                _log.error("a review has failed", error=str(outcome.error), where=outcome.where)
            return None  # its time was over before its turn, perhaps
        if not isinstance(outcome, ApiFailure):
            if memory.trouble:
                _log.info("the API server reviews requests to this node again")
            memory.is_away, memory.trouble = False, ""
            return outcome
        if not memory.trouble:
            _log.warning("requests to this node cannot be reviewed", reason=outcome.sentence)
        memory.is_away, memory.trouble = is_outage(outcome), outcome.sentence
        return None


def reviewed(
    calls: Port[CallApi], request: ApiRequest, lane: CallLane
) -> Operation[JsonObject | ApiFailure]:
    """Ask the API server, and once more if that may help."""
    outcome = yield from api_call(calls, request, within=ONE_TRY, deadline=ONE_TRY, lane=lane)
    if not isinstance(outcome, ApiFailure) or outcome.retry is not Retry.AFTER_DELAY:
        return outcome
    yield from delay(PAUSE)
    outcome = yield from api_call(calls, request, within=ONE_TRY, deadline=ONE_TRY, lane=lane)
    return outcome
