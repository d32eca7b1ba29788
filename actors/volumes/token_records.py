"""What is known of the tokens of each pod, and who waits to be asked for. Plain values of one actor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from actors.volumes.tokens import (
    IssuedToken,
    TokenAsk,
    TokenSituation,
    TokenStep,
    account_of,
    ask_of,
    next_token_step,
    no_tokens,
    shown_token,
)
from messages.pods import Pod, PodUid
from messages.port import Port
from messages.tokens import TokenNeeded, TokensAre, WantTokens
from messages.units import Instant, Seconds


@dataclass(slots=True, kw_only=True, eq=False)
class TokenRecord:
    """One token of one pod."""

    uid: PodUid
    pod: str
    """Its namespace and name, as logs write them."""
    ask: TokenAsk
    issued: IssuedToken | None = None
    failure: str = ""
    """Why the last attempt gave none; empty if it gave one."""
    failures: int = 0
    """In a row."""
    retry_at: Seconds | None = None
    """On the monotonic clock."""
    is_asking: bool = False

    def step(self, now: Instant) -> TokenStep:
        """Return what to do about it."""
        return next_token_step(
            TokenSituation(
                issued=self.issued, is_asking=self.is_asking, retry_at=self.retry_at, now=now
            )
        )

    def note_issued(self, issued: IssuedToken) -> None:
        """Take a token."""
        self.issued, self.retry_at = issued, None
        self.failure, self.failures = "", 0

    def note_failure(self, sentence: str, retry_at: Seconds) -> None:
        """Keep the last token, and why there is no other one."""
        self.failure, self.retry_at = sentence, retry_at


@dataclass(slots=True, kw_only=True, eq=False)
class PodTokens:
    """All tokens of one pod."""

    pod: Pod
    wanted: frozenset[TokenNeeded]
    reply_to: Port[TokensAre]
    records: dict[TokenAsk, TokenRecord] = field(default_factory=dict)
    refusal: str = ""
    """Why it never gets one."""
    told: TokensAre | None = None
    """What was told last; None if that has to be told in any case."""

    def want(self, message: WantTokens) -> None:
        """Take what is wanted now. Tokens that stay wanted stay the same."""
        if account_of(message.pod) != account_of(self.pod):
            self.records.clear()
        self.pod, self.wanted = message.pod, message.wanted
        self.reply_to, self.told = message.reply_to, None
        self.refusal = no_tokens(self.pod)
        asks = {ask_of(needed) for needed in self.wanted} if not self.refusal else set()
        for ask in self.records.keys() - asks:
            del self.records[ask]
        for ask in sorted(asks - self.records.keys()):
            self.records[ask] = TokenRecord(uid=self.pod.uid, pod=self.pod.display_name, ask=ask)

    def has(self, record: TokenRecord) -> bool:
        """Return whether ``record`` is still one of them."""
        return self.records.get(record.ask) is record

    def fact(self, outage: str, now: Instant) -> TokensAre:
        """Return what is to be told. ``outage`` says why nobody can be asked, if nobody can."""
        tokens: dict[TokenNeeded, bytes] = {}
        troubles: dict[TokenNeeded, str] = {}
        for needed in self.wanted:
            record = self.records.get(ask_of(needed))
            if record is None:
                troubles[needed] = self.refusal
                continue
            shown = shown_token(record.issued, record.failure or outage, now)
            if isinstance(shown, bytes):
                tokens[needed] = shown
            elif shown is not None:
                troubles[needed] = shown
        return TokensAre(uid=self.pod.uid, tokens=tokens, troubles=troubles)


class TokenState(StrEnum):
    """How it is with a token that a pod needs. The value is a label of metrics."""

    THERE = "there"
    TROUBLE = "trouble"
    PENDING = "pending"


def counted(tokens: PodTokens) -> Counter[str]:
    """Return how many tokens of a pod are in which state, as it was told."""
    told = tokens.told
    there, trouble = (len(told.tokens), len(told.troubles)) if told is not None else (0, 0)
    pending = len(tokens.wanted) - there - trouble
    return Counter(
        {TokenState.THERE: there, TokenState.TROUBLE: trouble, TokenState.PENDING: pending}
    )


class TokenQueue:
    """The tokens that are to be asked for. Those that a pod waits for come before renewals."""

    def __init__(self) -> None:
        self._first: dict[TokenRecord, None] = {}
        self._renewals: dict[TokenRecord, None] = {}

    def add(self, record: TokenRecord) -> None:
        """Take a record, once."""
        queue = self._first if record.issued is None else self._renewals
        queue.setdefault(record)

    def take(self) -> TokenRecord | None:
        """Return the next one; None if there is none."""
        for queue in (self._first, self._renewals):
            if queue:
                record = next(iter(queue))
                del queue[record]
                return record
        return None

    def __iter__(self) -> Iterator[TokenRecord]:
        """Return those that wait, in order."""
        yield from (*self._first, *self._renewals)
