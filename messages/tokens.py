"""The tokens of service accounts that volumes show: who needs which ones, and what they are.

A token is a secret: nothing that a message prints shows one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from messages.pods import Pod, PodUid
from messages.port import Port


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenNeeded:
    """A token that somebody has to get from the API server, bound to the pod."""

    audience: str
    """Empty for the API server's own."""
    expiration_seconds: int
    path: str
    """Of its file in the volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensAre:
    """What became of all tokens that a pod needs. Complete, pushed, repeatable.

    A token that is neither there nor in trouble is on its way. One that expired has a trouble instead; one
    that could not be renewed yet is still there, since it is still good.
    """

    uid: PodUid
    tokens: Mapping[TokenNeeded, bytes] = field(default_factory=dict, repr=False)
    """Those that are there."""
    troubles: Mapping[TokenNeeded, str] = field(default_factory=dict)
    """Why others are not: for people, one line, without a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantTokens:
    """Get these tokens of the pod's service account, and renew them, until ``ReleaseTokens``.

    Level-triggered: it may repeat, and replaces what was wanted for the same UID before. Answered by
    ``TokensAre``, at once and whenever that changes. A token that was wanted before stays the same.
    """

    pod: Pod
    wanted: frozenset[TokenNeeded]
    """All that any volume of the pod shows. Empty is as good as ``ReleaseTokens``, but is answered."""
    reply_to: Port[TokensAre]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTokens:
    """Forget the tokens of this pod. May repeat. Not answered; a ``TokensAre`` may still be on its way."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensDescribed:
    """How it is with the tokens of all pods, in numbers."""

    states: Mapping[str, int]
    """How many are ``there``, in ``trouble`` or ``pending``."""
    requests: Mapping[str, int]
    """Requests to the API server since the process began, by what came of them: ``issued``, ``unusable``
    (an answer without a token), or the kind of the failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTokens:
    """Asks for the state of the tokens. Answered by one ``TokensDescribed``."""

    reply_to: Port[TokensDescribed]


TokensMessage: TypeAlias = WantTokens | ReleaseTokens | DescribeTokens
"""What the keeper of tokens hears from others."""
