"""When a token is asked for, renewed and given up, what is asked for it, and what the answer says. Pure.

Everything counts from the moment at which a token came. Two clocks count, and the one that counts more is
believed: the monotonic one stands still while the machine sleeps, and the wall clock may be set back.
"""

from __future__ import annotations

import base64
import heapq
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, NamedTuple, TypeAlias

from kernel import Backoff
from manifests.times import moment_of
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject, Pod, PodUid
from messages.tokens import TokenNeeded
from messages.units import Instant, Seconds

RENEWED_AT: Final = 0.8
"""The part of its life after which a token is renewed."""
OLDEST: Final = Seconds(24 * 3600.0)
"""A token is renewed at this age, however long it is good."""
LONGEST_JITTER: Final = Seconds(10.0)
"""A token is renewed up to that much sooner, so that those of a thousand pods are not renewed at once."""
SHORTEST_WAIT: Final = Seconds(10.0)
"""Between two renewals, however short a life the API server gives."""
SOON: Final = Seconds(0.001)
"""Less than this is no time: sums of seconds are not exact."""
RETRY_BACKOFF: Final = Backoff(initial=Seconds(0.1), cap=Seconds(120.0), jitter=Seconds(0.1))
"""While the API server refuses a token. For a few milliseconds its authorizer may not know a new pod; after
that somebody has to change something, or the pod is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A token that the API server has issued."""

    value: bytes = field(repr=False)
    since: Instant
    """When it came."""
    life: Seconds
    """How long it is good from then on."""
    share: float
    """How much of the longest jitter is its own: from 0 to 1."""

    @property
    def renewed_after(self) -> Seconds:
        """The age at which it is to be another one."""
        age = min(self.life * RENEWED_AT, OLDEST) - LONGEST_JITTER * self.share
        return Seconds(max(SHORTEST_WAIT, age))

    def age(self, now: Instant) -> Seconds:
        """Return for how long it has been there."""
        return Seconds(max(now.monotonic - self.since.monotonic, now.wall - self.since.wall))


class TokenAsking(Enum):
    """What is done about a token, if it is no wait."""

    ASK = auto()
    """Ask the API server for it."""
    UNDER_WAY = auto()
    """The API server has been asked. Its answer will wake whoever decides."""


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Nothing is to be done for that long."""

    delay: Seconds


TokenStep: TypeAlias = TokenAsking | WaitFor


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSituation:
    """All that the next step about one token depends on."""

    issued: IssuedToken | None
    """The last one."""
    is_asking: bool
    retry_at: Seconds | None
    """When to ask again after a failure, on the monotonic clock; None if none was the last thing."""
    now: Instant


def next_token_step(situation: TokenSituation) -> TokenStep:
    """Return what to do about a token."""
    if situation.is_asking:
        return TokenAsking.UNDER_WAY
    issued, now = situation.issued, situation.now
    wait = 0.0 if issued is None else issued.renewed_after - issued.age(now)
    if situation.retry_at is not None:
        wait = max(wait, situation.retry_at - now.monotonic)
    return WaitFor(Seconds(wait)) if wait > SOON else TokenAsking.ASK


def expires_in(issued: IssuedToken | None, now: Instant) -> Seconds | None:
    """Return how long a token is still good: 0 if no longer; None if there is none."""
    if issued is None:
        return None
    left = issued.life - issued.age(now)
    return Seconds(left if left > SOON else 0.0)


def shown_token(issued: IssuedToken | None, trouble: str, now: Instant) -> bytes | str | None:
    """Return a token, or why there is none; None while it is on its way.

    One that has expired is shown until the API server was asked for another one in vain. So a machine that
    slept shows none as lost that is renewed in the next moment.
    """
    if issued is None:
        return trouble or None
    if trouble and not expires_in(issued, now):
        return f"{trouble}; the last one has expired"
    return issued.value


class TokenAlarms:
    """One moment for each pod, on the monotonic clock. What was replaced takes no room for long."""

    def __init__(self) -> None:
        self._due: dict[PodUid, Seconds] = {}
        self._heap: list[tuple[Seconds, PodUid]] = []

    def __len__(self) -> int:
        """Return how many pods have one."""
        return len(self._due)

    def set(self, uid: PodUid, due: Seconds | None) -> None:
        """Replace the moment of a pod; None leaves it without one."""
        if self._due.get(uid) == due:
            return
        if due is None:
            del self._due[uid]
            return
        self._due[uid] = due
        heapq.heappush(self._heap, (due, uid))
        if len(self._heap) > 2 * len(self._due) + 64:
            self._heap = [(moment, each) for each, moment in self._due.items()]
            heapq.heapify(self._heap)

    def next_due(self) -> Seconds | None:
        """Return the next moment; None if there is none."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: Seconds) -> tuple[PodUid, ...]:
        """Return the pods whose moment has come, and forget it."""
        taken = []
        while (due := self.next_due()) is not None and due <= now:
            _, uid = heapq.heappop(self._heap)
            del self._due[uid]
            taken.append(uid)
        return tuple(taken)


DEFAULT_ACCOUNT: Final = "default"
"""The service account of a pod that names none."""
NO_TOKEN: Final = "the API server's answer holds no token that could be used"  # noqa: S105  # a sentence
NO_ACCOUNT: Final = "a static pod has no service account, and so no token of one"


class TokenAsk(NamedTuple):
    """What is asked for. Files of a pod that differ in their path alone have one token."""

    audience: str
    expiration_seconds: int


def ask_of(needed: TokenNeeded) -> TokenAsk:
    """Return what is asked for where ``needed`` is shown."""
    return TokenAsk(needed.audience, needed.expiration_seconds)


def account_of(pod: Pod) -> str:
    """Return the name of the pod's service account."""
    spec = pod.document.get("spec") or {}
    return str(spec.get("serviceAccountName") or spec.get("serviceAccount") or DEFAULT_ACCOUNT)


def no_tokens(pod: Pod) -> str:
    """Return why ``pod`` never gets a token; empty if it may."""
    # No API server knows a static pod by its UID, and of its mirror a kubelet's has no service account.
    return NO_ACCOUNT if pod.is_static or pod.is_mirror else ""


def token_request(pod: Pod, ask: TokenAsk) -> ApiRequest:
    """Return the request for a token that is good as long as ``pod`` exists, or shorter."""
    spec: dict[str, Any] = {
        "expirationSeconds": ask.expiration_seconds,
        "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid},
    }
    if ask.audience:
        spec["audiences"] = [ask.audience]
    return ApiRequest(
        verb=Verb.CREATE,
        path=f"/api/v1/namespaces/{pod.namespace}/serviceaccounts/{account_of(pod)}/token",
        body={
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {},
            "spec": spec,
        },
    )


def token_issued(answer: JsonObject, now: Instant, share: float) -> IssuedToken | None:
    """Return the token in ``answer``, which came ``now``; None if there is none.

    ``share`` is between 0 and 1, drawn at random for each token.
    """
    status = answer.get("status")
    value = status.get("token") if isinstance(status, Mapping) else None
    if not isinstance(value, str) or not value.isascii() or not value:
        return None
    life = _life(answer, value)
    if life is None:
        return None
    return IssuedToken(value=value.encode("ascii"), since=now, life=life, share=share)


def _life(answer: JsonObject, value: str) -> Seconds | None:
    """Return for how long the token is good, by the API server's clock alone: this machine's may be wrong.

    That is from its own moment of issue to its word on the end. An API server may write a much later end
    into the token than it says, so that clients that never read their file again go on for a year: what it
    says is when the token has to be another one.
    """
    begin, end = _claims(value)
    said = moment_of(answer["status"].get("expirationTimestamp"))
    if begin is not None and (said is not None or end is not None):
        life = min(moment for moment in (said, end) if moment is not None) - begin
    else:
        life = _asked_for(answer)
    return Seconds(life) if life > 0 else None


def _asked_for(answer: JsonObject) -> float:
    """Return the life as the API server took the wish: it may have shortened that."""
    spec = answer.get("spec")
    return _number(spec.get("expirationSeconds") if isinstance(spec, Mapping) else None) or 0.0


def _claims(value: str) -> tuple[float | None, float | None]:
    """Return when the token was issued and when it ends, as far as it can be read."""
    parts = value.split(".")
    if len(parts) != 3:
        return None, None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(claims, dict):
        return None, None
    return _number(claims.get("iat")), _number(claims.get("exp"))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < 2**53 else None
