"""Answers of actors, or why there is none, and the state of all that deals with the API server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import web

from kernel import (
    ActorCrashedError,
    ActorDeadError,
    ActorSystem,
    AskTimeoutError,
    Port,
    asking,
)
from messages.api import CallsDescribed
from messages.events import EventsDescribed
from messages.mirrors import MirrorsDescribed
from messages.units import Seconds
from messages.watches import WatchesDescribed

A = TypeVar("A")
M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """An actor that was asked did not answer in time."""

    name: str
    reason: str


async def or_unanswered(name: str, answer: Awaitable[A]) -> A | Unanswered:
    """Return the answer of the actor called ``name``, or why there is none. Never raises for that."""
    try:
        return await answer
    except (AskTimeoutError, ActorDeadError, ActorCrashedError) as error:
        return Unanswered(name=name, reason=str(error))


async def ask(
    name: str,
    system: ActorSystem,
    port: Port[M],
    question: Callable[[Port[A]], M],
    within: Seconds,
) -> A | Unanswered:
    """Return the answer of the actor called ``name`` at ``port``, or why there is none in time."""
    return await or_unanswered(name, asking.ask(system, port, question, within))


def answered(answer: A | Unanswered) -> A:
    """Return an answer. Raises HTTPServiceUnavailable if there is none."""
    if isinstance(answer, Unanswered):
        raise web.HTTPServiceUnavailable(text=f"{answer.name}: {answer.reason}")
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """The answers of the actors that deal with the API server."""

    calls: CallsDescribed | Unanswered
    watches: WatchesDescribed | Unanswered
    """Only the watches that fail."""
    mirrors: MirrorsDescribed | Unanswered
    events: EventsDescribed | Unanswered
