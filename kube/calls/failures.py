"""Which failures of calls are ongoing, so that each is logged once when it begins and once when it ends.

When an API server is away every call fails, and people need two lines of that. A 403 belongs to one kind of
request: renewing a Lease may work while creating pods does not.
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
"""Failures that all calls share."""
_ALLOWED: Final = frozenset(
    {
        FailureKind.NOT_FOUND,
        FailureKind.ALREADY_EXISTS,
        FailureKind.CONFLICT,
        FailureKind.GONE,
    }
)
"""The API server finds these only after it has allowed the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailures:
    """The ongoing failures, each with the sentence that it began with."""

    present: Mapping[Hashable, str] = field(default_factory=dict)
    """Ordered by when they occurred last, the latest first."""

    def after(self, request: ApiRequest, outcome: JsonObject | ApiFailure) -> CallFailures:
        """Return the ongoing failures after ``request`` ended with ``outcome``."""
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
