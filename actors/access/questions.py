"""Questions that wait for reviews, and the reviews that they wait for. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from actors.access.decisions import key_of
from actors.access.reviews import access, as_bytes
from messages.access import Known, May, NobodyToAsk, Unknown
from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds

LARGEST_KEPT: Final = 10_000
"""Bytes of attributes about which a decision is kept, as in a kubelet."""


@dataclass(frozen=True, slots=True, eq=False)
class AccessAsked:
    """What the API server is asked about one subresource."""

    spec: JsonObject = field(repr=False)
    key: bytes = field(repr=False)
    is_kept: bool
    """Whether its decision is kept."""


@dataclass(slots=True, eq=False, kw_only=True)
class AccessQuestion:
    """A ``May`` that is not answered yet."""

    may: May
    accesses: tuple[AccessAsked, ...]
    """In the order in which they are reviewed, until one is allowed."""
    until: Seconds
    """When it is answered anyway, by the monotonic clock."""
    denied: set[bytes] = field(default_factory=set, repr=False)
    """The keys of those that were reviewed and are not allowed."""


@dataclass(slots=True, eq=False)
class TokenInReview:
    """A token about which the API server is asked."""

    key: bytes = field(repr=False)
    waiting: list[Port[Known | Unknown | NobodyToAsk]]


@dataclass(slots=True, eq=False)
class AccessInReview:
    """An access about which the API server is asked."""

    access: AccessAsked
    waiting: list[AccessQuestion]

    @property
    def key(self) -> bytes:
        """What stands for it."""
        return self.access.key


InReview: TypeAlias = TokenInReview | AccessInReview


def accesses(may: May, node: str, secret: bytes) -> Iterator[AccessAsked]:
    """Yield what ``may`` asks about the ``node``."""
    for subresource in may.subresources:
        spec = access(may.identity, may.verb, subresource, node)
        asked = as_bytes(spec)
        yield AccessAsked(spec, key_of(secret, asked), is_kept=len(asked) <= LARGEST_KEPT)
