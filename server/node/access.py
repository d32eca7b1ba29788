"""Who sends a request, and whether they may do what it asks for. On the server's loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from aiohttp import hdrs, web

from kernel import Port
from messages.access import (
    Allowed,
    Denied,
    Identity,
    Known,
    May,
    NobodyToAsk,
    Review,
    Unknown,
    WhoIs,
)
from server.access import sentences, standalone
from server.access.asked import Asked
from server.access.identity import ANONYMOUS, bearer_token
from server.node.clients import NodeConnection
from server.questions import Unanswered

A = TypeVar("A")
_RETRY: Final = {hdrs.RETRY_AFTER: str(sentences.RETRY_AFTER)}


class AskReviewer(Protocol):
    """Asks the actor that has the API server review."""

    async def __call__(self, question: Callable[[Port[A]], WhoIs | May]) -> A | Unanswered:
        """Return its answer, or why there is none in time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """What the configuration says of who may."""

    allows_anonymous: bool
    """Whether those count as somebody who show neither certificate nor token."""
    allows_always: bool
    """Whether everybody may who is somebody."""
    takes_tokens: bool


class NodeAccess:
    """Decides about requests. ``ask`` is None on a node without an API server."""

    def __init__(self, rules: AccessRules, ask: AskReviewer | None) -> None:
        self._rules = rules
        self._ask = ask

    async def identity(self, request: web.Request) -> Identity:
        """Return who sends a request: by certificate, by token, or as nobody in particular.

        Raises HTTPUnauthorized, HTTPServiceUnavailable.
        """
        connection = request.protocol
        assert isinstance(connection, NodeConnection)  # noqa: S101  # no other one is served
        if connection.identity is not None:
            return connection.identity
        token = bearer_token(request.headers.items())
        if token is not None and self._rules.takes_tokens and self._ask is not None:
            return await self._of_token(token, self._ask)
        if token is None and self._rules.allows_anonymous:
            return ANONYMOUS
        raise web.HTTPUnauthorized(text=sentences.unauthorized())

    async def require(self, identity: Identity, asked: Asked, *, is_certain: bool) -> None:
        """Return if somebody may do what they ask for. Raises HTTPForbidden, HTTPServiceUnavailable.

        ``is_certain`` says that a certificate shows who it is, which needs no API server.
        """
        if self._rules.allows_always:
            return
        assert asked.verb is not None  # noqa: S101  # else nothing is done
        verb, subresources = asked.verb, asked.subresources
        if self._ask is None:
            answer: Allowed | Denied | NobodyToAsk | Unanswered = (
                Allowed() if standalone.is_allowed(identity, always_allow=False) else Denied()
            )
        else:

            def question(reply_to: Port[Allowed | Denied | NobodyToAsk]) -> May:
                return May(
                    identity=identity,
                    verb=verb,
                    subresources=subresources,
                    may_be_stale=asked.may_be_stale and is_certain,
                    reply_to=reply_to,
                )

            answer = await self._ask(question)
        if isinstance(answer, Denied):
            raise web.HTTPForbidden(text=sentences.forbidden(identity, verb, subresources))
        if not isinstance(answer, Allowed):
            raise _nobody(Review.ACCESS)

    async def _of_token(self, token: str, ask: AskReviewer) -> Identity:
        def question(reply_to: Port[Known | Unknown | NobodyToAsk]) -> WhoIs:
            return WhoIs(token=token, reply_to=reply_to)

        answer: Known | Unknown | NobodyToAsk | Unanswered = await ask(question)
        if isinstance(answer, Known):
            return answer.identity
        if isinstance(answer, Unknown):
            raise web.HTTPUnauthorized(text=sentences.unauthorized())
        raise _nobody(Review.TOKEN)


def _nobody(review: Review) -> web.HTTPServiceUnavailable:
    return web.HTTPServiceUnavailable(text=sentences.nobody_to_ask(review), headers=_RETRY)
