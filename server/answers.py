"""Answers of actors, or why there is none."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from kernel import ActorCrashedError, ActorDeadError, AskTimeoutError

A = TypeVar("A")


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
