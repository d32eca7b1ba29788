"""Metrics of the tokens that volumes show. A kubelet has none. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client.core import Metric

from messages.tokens import TokensDescribed
from server.families import counter, gauge

_STATES: Final = ("there", "trouble", "pending")


def token_metrics(tokens: TokensDescribed) -> Iterable[Metric]:
    """Yield how many tokens there are, and what came of requests for them."""
    yield gauge(
        "actorlet_service_account_tokens",
        "Tokens that volumes of pods show.",
        ("state",),
        {(state,): tokens.states.get(state, 0) for state in _STATES},
    )
    yield counter(
        "actorlet_service_account_token_requests",
        "Requests for tokens, by what came of them.",
        ("result",),
        {(result,): count for result, count in tokens.requests.items()},
    )
