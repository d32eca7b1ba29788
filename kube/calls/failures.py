"""Which troubles of calls are going on: so that each is logged when it begins and when it is over.

An API server that is away fails every call; what people need of that is two lines. A refusal belongs to
one kind of request: renewing a Lease that works says nothing of creating pods that does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kube.calls.request_info import request_info
from messages.api import ApiFailure, ApiRequest, FailureKind
from messages.pods import JsonObject

_OF_ALL: Final[frozenset[Hashable]] = frozenset(
    {
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.CREDENTIALS,
        FailureKind.UNAUTHORIZED,
    }
)
"""Failures that all calls have in common."""
_ALLOWED: Final = frozenset(
    {
        FailureKind.NOT_FOUND,
        FailureKind.ALREADY_EXISTS,
        FailureKind.CONFLICT,
        FailureKind.GONE,
    }
)
"""What the API server finds out only after it has allowed the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailures:
    """What goes wrong at present, by what it is, with the sentence that it began with."""

    present: Mapping[Hashable, str] = field(default_factory=dict)
    """In the order of how it showed last, the latest first."""

    def after(self, request: ApiRequest, outcome: JsonObject | ApiFailure) -> CallFailures:
        """Return what goes wrong after ``request`` came to ``outcome``."""
        refused = (FailureKind.FORBIDDEN, *_kind_of_request(request))
        over: set[Hashable] = set()
        begun: dict[Hashable, str] = {}
        if not isinstance(outcome, ApiFailure):
            over = {*_OF_ALL, refused}
        else:
            if outcome.status:
                over = {*_OF_ALL - {outcome.kind}}
            if outcome.kind in _ALLOWED:
                over.add(refused)
            if outcome.kind in _OF_ALL:
                begun = {outcome.kind: outcome.sentence}
            elif outcome.kind is FailureKind.FORBIDDEN:
                begun = {refused: outcome.sentence}
        left = {key: text for key, text in self.present.items() if key not in over}
        return CallFailures(present={**begun, **left})


def _kind_of_request(request: ApiRequest) -> tuple[str, str, str]:
    info = request_info(request.path)
    return request.verb.value, info.group, info.resource
