"""Whether what is shown is what the agent knows now, and since when it is not. Pure."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from command.wording import span


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLink:
    """What became of asking the agent, and of reading its events. Times are seconds since 1970."""

    server: str
    is_live: bool = False
    """Its events are being read."""
    lost_at: float | None = None
    """Since when events are not read, although they were, or should be."""
    why: str = ""
    next_try: float | None = None
    """When events are asked for again."""
    silent_at: float | None = None
    """Since when the agent answers no questions."""
    refusal: str = ""
    """Why it does not."""
    answered_at: float | None = None
    """When it answered last."""
    restarted_at: float | None = None
    """When it was seen to be another process than before."""

    def live(self) -> AgentLink:
        """Return it once events are read."""
        return replace(self, is_live=True, lost_at=None, why="", next_try=None)

    def lost(self, why: str, now: float, pause: float) -> AgentLink:
        """Return it once they are not read any more, and are asked for again after a pause."""
        began = now if self.lost_at is None else self.lost_at
        return replace(self, is_live=False, lost_at=began, why=why, next_try=now + pause)

    def answered(self, now: float) -> AgentLink:
        """Return it once the agent has answered a question."""
        return replace(self, answered_at=now, silent_at=None, refusal="")

    def refused(self, why: str, now: float) -> AgentLink:
        """Return it once the agent did not."""
        began = now if self.silent_at is None else self.silent_at
        return replace(self, silent_at=began, refusal=why)

    def word(self) -> str:
        """Return its state in a word."""
        if self.is_live and self.silent_at is None:
            return "live"
        return "connecting" if self.lost_at is None and self.silent_at is None else "not live"

    def sentence(self, now: float) -> str:
        """Return what people have to know about how old things are; empty if they are as of now."""
        if self.silent_at is not None:
            known = self.answered_at
            age = "Nothing is known yet" if known is None else f"This is as of {_clock(known)}"
            return f"{age}{self._next(now)}: {self.refusal}"
        if self.lost_at is not None:
            age = f"Not live since {_clock(self.lost_at)}, changes show late"
            return f"{age}{self._next(now)}: {self.why}"
        if self.restarted_at is not None and now - self.restarted_at < RESTART_TOLD:
            return f"The agent was restarted; it answers again since {_clock(self.restarted_at)}."
        return ""

    def _next(self, now: float) -> str:
        if self.next_try is None or self.next_try <= now:
            return "; trying again"
        return f"; next try in {span(self.next_try - now + 0.9)} (r: now)"


RESTART_TOLD = 30.0
"""Seconds for which a restart of the agent is told."""


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
