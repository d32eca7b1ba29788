"""What actors and the API server's callers say to each other: one request, one answer.

Requests and failures are values. A failure says by itself whether trying again makes sense, so that
no actor has to know HTTP.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds

REQUEST_DEADLINE: Final = Seconds(10.0)
"""How long one request may take, unless its ``CallApi`` says otherwise."""


class Verb(StrEnum):
    """How a request is sent; the value is the HTTP method."""

    GET = "GET"
    CREATE = "POST"
    UPDATE = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"


class Patch(StrEnum):
    """How the body of a patch is meant; the value is its media type."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class Retry(StrEnum):
    """Whether what failed may be tried again."""

    NEVER = "never"
    """The same request will fail in the same way until somebody changes something."""
    AFTER_DELAY = "after a delay"
    AFTER_RELIST = "after a relist"
    """What the request was based on is out of date: look first."""


class FailureKind(StrEnum):
    """What went wrong, in one word for metrics and decisions."""

    UNREACHABLE = "unreachable"
    """No connection, or it broke; the request may or may not have arrived."""
    TIMEOUT = "timeout"
    """No answer within the deadline; the request may or may not have arrived."""
    CREDENTIALS = "credentials"
    """The kubeconfig cannot be used, or nobody could be asked for a token."""
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    ALREADY_EXISTS = "already_exists"
    CONFLICT = "conflict"
    """It is another version, or another UID, than the request was made for."""
    GONE = "gone"
    """The version asked for is too old: list anew."""
    INVALID = "invalid"
    """The API server does not accept the object."""
    THROTTLED = "throttled"
    SERVER_ERROR = "server_error"
    REFUSED = "refused"
    """Any other answer that is neither an object nor one of these."""
    MALFORMED = "malformed"
    """An answer that cannot be read, or is too large."""
    LOST = "lost"
    """Whoever sent the request crashed; it may or may not have arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """One request to the API server. The ``repr`` shows no body: pods hold what is nobody's business."""

    verb: Verb
    path: str
    """Absolute, such as ``/api/v1/namespaces/default/pods/web``; its segments need no escaping."""
    query: Mapping[str, str] = field(default_factory=dict, hash=False)
    body: JsonObject | None = field(default=None, repr=False, hash=False)
    """The object, the patch or the DeleteOptions."""
    patch: Patch = Patch.MERGE
    """What the body means when the verb is PATCH."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiFailure:
    """Why there is no object: the answer of a request or a watch that failed."""

    kind: FailureKind
    retry: Retry
    sentence: str
    """For people: what was attempted, at which server, as whom, and what came of it. One line, no values."""
    status: int = 0
    """HTTP status; 0 when there was no answer."""
    retry_after: Seconds | None = None
    """The server's wish, when it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswered:
    """What became of one ``CallApi``. Told exactly once for each."""

    request: ApiRequest
    ref: Hashable
    """As in the ``CallApi``."""
    outcome: JsonObject | ApiFailure = field(repr=False)
    """The API server's object (a Status after some deletions), or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApi:
    """Sends one request. Answered by one ``ApiAnswered``, within the deadline and a little.

    Not retried, except once after a 401 with fresh credentials: who asks knows whether the world has
    changed meanwhile.
    """

    request: ApiRequest
    reply_to: Port[ApiAnswered]
    ref: Hashable = None
    """Comes back with the answer, so that a late one can be told apart."""
    deadline: Seconds = REQUEST_DEADLINE
    """From the time it is sent; waiting for its turn does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeCalls:
    """Asks how calls to the API server go. Answered by one ``CallsDescribed``."""

    reply_to: Port[CallsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsDescribed:
    """How calls to the API server go."""

    server: str
    """``https://host:port``, or empty while no kubeconfig could be read."""
    user: str
    """The kubeconfig's word for whom we act as."""
    troubles: tuple[str, ...]
    """What goes wrong at present, a sentence each, the latest first: whatever all calls have in common,
    and each kind of request that is forbidden until one like it is allowed."""
    requests: Mapping[tuple[str, str, str], int]
    """Requests by status code (``<error>`` when there was no answer), host and method, since the process
    began: ``rest_client_requests_total``."""
    waiting: int
    """Calls that wait for the rate limit or for a free thread."""
    in_flight: int
    credentials_trouble: str = ""
    """Why the credentials could not be read when that was last tried; empty when they could. Calls go
    on with earlier ones as long as these are good."""


CallsMessage: TypeAlias = CallApi | DescribeCalls
"""What the sender of calls hears from others."""
