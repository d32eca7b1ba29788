"""Answers of actors, or the fact that there was none."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from kernel import ActorCrashedError, ActorDeadError, AskTimeoutError

A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """Somebody who was asked did not answer in time."""

    name: str
    reason: str


async def or_unanswered(name: str, answer: Awaitable[A]) -> A | Unanswered:
    """Return the answer of ``name``, or why there is none."""
    try:
        return await answer
    except (AskTimeoutError, ActorDeadError, ActorCrashedError) as error:
        return Unanswered(name=name, reason=str(error))
