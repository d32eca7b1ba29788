"""When ``observe`` is called, and how its answers and failures are taken."""

from __future__ import annotations

from typing import Final

from kernel import Alarm, Clock
from messages.units import Seconds
from runtimes.provider.calls import ProviderFailure, Returned
from runtimes.provider.desk import CallDesk
from runtimes.provider.memory import CallOut, VirtualMemory, VirtualRules
from runtimes.provider.notices import sentence_of
from runtimes.provider.plan import pause_after
from runtimes.provider.pods import Method
from runtimes.provider.reports import Nonsense, Readings, sound_reports

LEAST_PAUSE: Final = Seconds(0.02)
"""Between the begins of two observations."""
MOST_HANGING: Final = 2
"""So many observations may hang before no other is begun."""


class Looks:
    """Has the provider observed: at intervals, when somebody wants it, and later after a failure.

    One observation is under way at a time. One that is wanted meanwhile is begun after it, since the one
    under way may not show what it is wanted for. Observations are numbered in the order of their begins.
    """

    def __init__(
        self,
        desk: CallDesk,
        memory: VirtualMemory,
        rules: VirtualRules,
        next_look: Alarm,
    ) -> None:
        """``next_look`` rings when ``look`` is to be called."""
        self.trouble = ""
        """Why ``observe`` does not work; empty while it does."""
        self._desk = desk
        self._memory = memory
        self._rules = rules
        self._next_look = next_look
        self._began = float("-inf")
        self._is_wanted = False
        self._failures = 0
        self._troubled_since = 0.0

    def look(self, clock: Clock) -> None:
        """Begin an observation, as soon as that is possible."""
        if not self._desk.may_begin(Method.OBSERVE, MOST_HANGING):
            self._is_wanted = True
            return
        now = clock.monotonic()
        if now < self._began + LEAST_PAUSE:
            self._next_look.after(LEAST_PAUSE)
            return
        self._began, self._is_wanted = now, False
        self._memory.begun = number = self._memory.begun + 1
        self._desk.begin(Method.OBSERVE, clock=clock, digest=sound_reports, number=number)

    def take(
        self, out: CallOut, outcome: Returned | ProviderFailure, clock: Clock
    ) -> Readings | None:
        """Return what an observation says; None if it failed, or a newer one was taken already."""
        value = outcome.value if isinstance(outcome, Returned) else outcome
        if isinstance(value, dict):
            self._failures, self.trouble = 0, ""
            self._next_look.after(LEAST_PAUSE if self._is_wanted else self._rules.poll)
            return value if out.number > self._memory.observed else None
        if out.call.is_given_up:
            self._next_look.after(self._rules.poll)  # its failure was noted
        elif isinstance(value, ProviderFailure):
            self.fail(sentence_of(None, Method.OBSERVE, value), clock)
        elif isinstance(value, Nonsense):
            self.fail(value.sentence, clock)
        return None

    def fail(self, sentence: str, clock: Clock) -> None:
        """Note that an observation failed, and try again later."""
        if not self.trouble:
            self._troubled_since = clock.monotonic()
        self._failures += 1
        self.trouble = sentence
        self._next_look.after(pause_after(self._failures))

    def is_away(self, clock: Clock) -> bool:
        """Whether nothing was observed for so long that pods are told."""
        lasts = clock.monotonic() - self._troubled_since
        return bool(self.trouble) and lasts >= self._rules.away_after
