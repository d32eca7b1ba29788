"""Whom the keeper of tokens talks to, and what outlives it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from actors.volumes.token_records import PodTokens
from kernel import Key
from messages.api import CallApi
from messages.pods import PodUid
from messages.port import Port
from messages.tokens import TokensMessage

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
