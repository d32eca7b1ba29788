"""What an operation is for: who asked for it, and so what becomes of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from messages.container_runtime import AskContainer, CallRuntime
from messages.pods import PodUid
from messages.units import Seconds


@dataclass(frozen=True, slots=True, eq=False)
class Connect:
    """Find out which runtime there is and what it can do."""


@dataclass(frozen=True, slots=True, eq=False)
class LookAgain:
    """See what has changed of one pod, or of all if ``uid`` is None."""

    uid: PodUid | None


@dataclass(frozen=True, slots=True, eq=False)
class NoteExit:
    """Take an exit that an event told of, before the runtime says so itself."""

    uid: PodUid


@dataclass(frozen=True, slots=True, eq=False)
class CheckHealth:
    """Ask how the runtime and its network are."""


Purpose: TypeAlias = CallRuntime | AskContainer | Connect | LookAgain | NoteExit | CheckHealth


@dataclass(slots=True, eq=False)
class RunningOperation:
    """An operation that has not ended."""

    purpose: Purpose
    uid: PodUid | None
    """The pod that it changes something of; None if it changes nothing."""
    began: Seconds
    is_answered: bool = False
    """Whether who asked has been told what came of it."""
