"""When the agent is asked again: soon after a change, and never so often that it costs it much. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

RATIO: Final = 25
"""Whoever asks waits so many times as long as the answer took: at most 4 % of one of the agent's cores."""
LEAST: Final = 0.25
"""Seconds between two questions at the least."""
PATIENT: Final = 15.0
"""Seconds after which an answer is not waited for any more."""


@dataclass(slots=True, kw_only=True)
class Pace:
    """Owns when one question is due. Times are seconds of any clock that does not go back."""

    every: float
    """Seconds after which it is asked again without a reason."""
    is_wanted: bool = True
    asked_at: float | None = None
    """When it was asked; None while no answer is waited for."""
    not_before: float = 0.0
    answered_at: float = 0.0

    def poke(self) -> None:
        """Ask as soon as that is allowed."""
        self.is_wanted = True

    def at_once(self) -> None:
        """Ask at the next moment: somebody waits for it."""
        self.is_wanted = True
        self.not_before = 0.0
        self.asked_at = None

    def is_due(self, clock: float) -> bool:
        """Return whether it should be asked now."""
        if self.asked_at is not None and clock - self.asked_at < PATIENT:
            return False
        is_old = clock - self.answered_at >= self.every
        return clock >= self.not_before and (self.is_wanted or is_old)

    def asked(self, clock: float) -> None:
        """Note that it is asked now."""
        self.asked_at = clock
        self.is_wanted = False

    def answered(self, clock: float, seconds: float) -> None:
        """Note an answer, which took the agent ``seconds``."""
        self.asked_at = None
        self.answered_at = clock
        self.not_before = clock + max(LEAST, RATIO * seconds)

    def failed(self, clock: float) -> None:
        """Note that there was no answer. The next question comes after the usual time."""
        self.asked_at = None
        self.answered_at = clock
        self.not_before = clock + self.every
