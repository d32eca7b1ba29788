"""The messages between actors and the actor that calls the API server: one request, one answer.

Requests and failures are values. A failure says by itself whether to try again, so that no actor has to
know HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds

REQUEST_DEADLINE: Final = Seconds(10.0)
"""How long one request may take, unless its ``CallApi`` says otherwise."""


class Verb(StrEnum):
    """The method of a request. The value is the HTTP method."""

    GET = "GET"
    CREATE = "POST"
    UPDATE = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"


class Patch(StrEnum):
    """What kind of patch a body is. The value is its media type."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class Retry(StrEnum):
    """Whether what failed may be tried again."""

    NEVER = "never"
    """The same request fails in the same way until somebody changes something."""
    AFTER_DELAY = "after a delay"
    AFTER_RELIST = "after a relist"
    """The request is based on something out of date: read it again first."""


class FailureKind(StrEnum):
    """What went wrong, in one word, for metrics and decisions."""

    UNREACHABLE = "unreachable"
    """There was no connection, or it broke. The request may or may not have arrived."""
    TIMEOUT = "timeout"
    """No answer within the deadline. The request may or may not have arrived."""
    CREDENTIALS = "credentials"
    """The kubeconfig cannot be used, or no token was issued."""
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    ALREADY_EXISTS = "already_exists"
    CONFLICT = "conflict"
    """The object has another version or another UID than the request is for."""
    GONE = "gone"
    """The requested version is too old: list anew."""
    INVALID = "invalid"
    """The API server does not accept the object."""
    THROTTLED = "throttled"
    SERVER_ERROR = "server_error"
    REFUSED = "refused"
    """Any other answer that is neither an object nor one of the other kinds."""
    MALFORMED = "malformed"
    """The answer cannot be read or is too large."""
    LOST = "lost"
    """The sender of the request crashed. The request may or may not have arrived."""


FOR_GOOD: Final = frozenset({FailureKind.FORBIDDEN, FailureKind.NOT_FOUND})
"""Failures of watches that last until somebody changes the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """One request to the API server. The ``repr`` leaves the body out, since it may be secret."""

    verb: Verb
    path: str
    """Absolute, such as ``/api/v1/namespaces/default/pods/web``. Its segments need no escaping."""
    query: Mapping[str, str] = field(default_factory=dict, hash=False)
    body: JsonObject | None = field(default=None, repr=False, hash=False)
    """The object, the patch or the DeleteOptions."""
    patch: Patch = Patch.MERGE
    """What kind of patch the body is, when the verb is PATCH."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiFailure:
    """Why there is no object. The answer to a request or a watch that failed."""

    kind: FailureKind
    retry: Retry
    sentence: str
    """For people: what was attempted, at which server, as which user, and why it failed. One line, no
    values."""
    status: int = 0
    """The HTTP status; 0 when there was no answer."""
    retry_after: Seconds | None = None
    """How long the server asks to wait, if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswered:
    """The result of one ``CallApi``. Told exactly once for each."""

    request: ApiRequest
    outcome: JsonObject | ApiFailure = field(repr=False)
    """The API server's object (after some deletions a Status), or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApi:
    """Sends one request. Answered by one ``ApiAnswered`` within the deadline, or a little later.

    The request is not sent again, except once after a 401 with fresh credentials. The caller knows whether
    the world has changed meanwhile.
    """

    request: ApiRequest
    reply_to: Port[ApiAnswered]
    deadline: Seconds = REQUEST_DEADLINE
    """Counts from sending. Waiting for its turn does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeCalls:
    """Asks for the state of the calls to the API server. Answered by one ``CallsDescribed``."""

    reply_to: Port[CallsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsDescribed:
    """The state of the calls to the API server."""

    server: str
    """``https://host:port``; empty while no kubeconfig could be read."""
    user: str
    """The kubeconfig's name for the user that the agent acts as."""
    troubles: tuple[str, ...]
    """The ongoing failures, one sentence each, the latest first: those that all calls share, and one for
    each kind of request that is forbidden until one like it is allowed."""
    requests: Mapping[tuple[str, str, str], int]
    """Requests since the process began, by status code (``<error>`` without an answer), host and method:
    ``rest_client_requests_total``."""
    waiting: int
    """Calls that wait for the rate limit or for a free thread."""
    in_flight: int
    credentials_trouble: str = ""
    """Why the credentials could not be read at the last attempt; empty when they could. Calls use earlier
    ones as long as these are good."""


CallsMessage: TypeAlias = CallApi | DescribeCalls
"""The messages that the sender of calls receives from others."""
