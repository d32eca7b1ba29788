"""Who asks the TLS server, and what they may: the words of Kubernetes' reviews of tokens and of access.

A token is a secret: nothing that a message prints shows one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from messages.port import Port


class AccessVerb(StrEnum):
    """What is done to the Node, as rules of RBAC have it."""

    GET = "get"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"


class Review(StrEnum):
    """What the API server is asked. The value is the kind of the object."""

    TOKEN = "TokenReview"  # noqa: S105  # a name
    ACCESS = "SubjectAccessReview"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who asks."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """What else is known of them, as the API server said it with a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A token is good."""

    identity: Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A token is not good."""

    sentence: str
    """Why, as the API server says it. For logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """They may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """They may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NobodyToAsk:
    """It is not known, and the API server does not say it now. The same question makes sense again later."""

    review: Review
    """The one that is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhoIs:
    """Asks whose token this is. Answered by ``Known``, ``Unknown`` or ``NobodyToAsk``."""

    token: str = field(repr=False)
    reply_to: Port[Known | Unknown | NobodyToAsk]


@dataclass(frozen=True, slots=True, kw_only=True)
class May:
    """Asks what somebody may do to the Node. Answered by ``Allowed``, ``Denied`` or ``NobodyToAsk``."""

    identity: Identity
    verb: AccessVerb
    subresources: tuple[str, ...]
    """Of the Node, in the order in which they are asked for. One that is allowed is enough."""
    may_be_stale: bool
    """Whether a decision that has expired counts for a while if the API server is away: only for what
    reads, and for who has a certificate that is valid now."""
    reply_to: Port[Allowed | Denied | NobodyToAsk]


AccessMessage: TypeAlias = WhoIs | May
"""What the reviewer hears from others."""
