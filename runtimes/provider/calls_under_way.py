"""The calls of a provider that have not returned: how many there are, and how long they are waited for.

``Looks`` says when ``observe`` is one of them, and how its answers and failures are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from kernel import Alarm, Clock, Port, Timer
from messages.pods import JsonObject, PodUid
from messages.units import Seconds
from runtimes.provider.calls import (
    ProviderCall,
    ProviderCallEnded,
    ProviderCalls,
    ProviderFailure,
    Returned,
)
from runtimes.provider.memory import CallOut, ProviderMemory, ProviderRules
from runtimes.provider.notices import sentence_of
from runtimes.provider.plan import pause_after
from runtimes.provider.pods import Method
from runtimes.provider.reports import Nonsense, Readings, sound_reports

LEAST_PAUSE: Final = Seconds(0.02)
"""Between the begins of two observations."""
MOST_HANGING: Final = 2
"""So many observations may hang before no other is begun."""


class CallsUnderWay:
    """Begins calls and keeps them in the memory until they return, over crashes too.

    Refs: each call gets the next number, counted from 1 in each process.
    Deadline: ``late`` calls the actor when a call has had its time. ``give_up`` then counts it as hanging,
    until it returns after all. Its thread is not waited for, and is not used again.
    Crash: the memory has each call with its outcome. A new life goes through them by ``resume``.
    """

    def __init__(
        self,
        provider: object,
        calls: ProviderCalls,
        reply_to: Port[ProviderCallEnded],
        memory: ProviderMemory,
        rules: ProviderRules,
        late: Callable[[Seconds, int], Timer],
    ) -> None:
        """``late`` has the actor give up the call of a number after so many seconds."""
        self._late = late
        self._provider = provider
        self._calls = calls
        self._reply_to = reply_to
        self._memory = memory
        self._rules = rules
        self._timers: dict[int, Timer] = {}

    def resume(self, clock: Clock) -> None:
        """Take over what an earlier life began: tell what has returned, and wait for the rest."""
        for ref, out in tuple(self._memory.out.items()):
            if out.call.outcome is not None:
                self._reply_to.tell(ProviderCallEnded(ref=ref))
            elif not out.call.is_given_up:
                self._timers[ref] = self._late(Seconds(out.due - clock.monotonic()), ref)

    def begin(  # noqa: PLR0913  # what a call is
        self,
        method: Method,
        *arguments: object,
        clock: Clock,
        more_time: float = 0.0,
        uid: PodUid | None = None,
        digest: Callable[[object], object] = lambda value: value,
        number: int = 0,
        spec: JsonObject | None = None,
    ) -> int:
        """Call ``method`` with ``arguments``, and return the ref that the answer will have."""
        self._memory.last_ref = ref = self._memory.last_ref + 1
        function = getattr(self._provider, method.value)
        call = ProviderCall(ref, method, partial(function, *arguments), digest)
        within = Seconds(self._rules.deadline + more_time)
        due = clock.monotonic() + within
        self._memory.out[ref] = CallOut(call, uid, due, number, spec)
        self._timers[ref] = self._late(within, ref)
        self._calls.start(call, self._reply_to)
        return ref

    def take(self, ref: int) -> CallOut | None:
        """Return the call that has returned, which ends it; None if that was told before."""
        self._cancel(ref)
        return self._memory.out.pop(ref, None)

    def give_up(self, ref: int) -> CallOut | None:
        """Return the call that is late, which is not waited for any more; None if it has returned."""
        self._cancel(ref)
        out = self._memory.out.get(ref)
        if out is None or out.call.outcome is not None or out.call.is_given_up:
            return None
        out.call.is_given_up = True
        self._calls.give_up(out.call)
        return out

    @property
    def room(self) -> int:
        """How many calls about pods may be begun."""
        if self.is_stuck:
            return 0
        about_pods = [out for out in self._memory.out.values() if out.uid is not None]
        return self._rules.at_a_time - sum(not out.call.is_given_up for out in about_pods)

    @property
    def is_stuck(self) -> bool:
        """Whether so many calls hang that no other is made."""
        return self.hanging >= self._rules.most_hanging

    @property
    def hanging(self) -> int:
        """How many calls about pods were given up and have not returned."""
        return sum(out.call.is_given_up for out in self._memory.out.values() if out.uid is not None)

    def may_begin(self, method: Method, most_hanging: int = 1) -> bool:
        """Whether a call that concerns no pod may be begun: none is under way, and few hang."""
        same = [out for out in self._memory.out.values() if out.call.method is method]
        return len(same) < most_hanging and all(out.call.is_given_up for out in same)

    def _cancel(self, ref: int) -> None:
        timer = self._timers.pop(ref, None)
        if timer is not None:
            timer.cancel()


class Looks:
    """Has the provider observed: at intervals, when somebody wants it, and later after a failure.

    One observation is under way at a time. One that is wanted meanwhile is begun after it, since the one
    under way may not show what it is wanted for. Observations are numbered in the order of their begins.
    """

    def __init__(
        self,
        under_way: CallsUnderWay,
        memory: ProviderMemory,
        rules: ProviderRules,
        next_look: Alarm,
    ) -> None:
        """``next_look`` rings when ``look`` is to be called."""
        self.trouble = ""
        """Why ``observe`` does not work; empty while it does."""
        self._under_way = under_way
        self._memory = memory
        self._rules = rules
        self._next_look = next_look
        self._began = float("-inf")
        self._is_wanted = False
        self._failures = 0
        self._troubled_since = 0.0

    def look(self, clock: Clock) -> None:
        """Begin an observation, as soon as that is possible."""
        if not self._under_way.may_begin(Method.OBSERVE, MOST_HANGING):
            self._is_wanted = True
            return
        now = clock.monotonic()
        if now < self._began + LEAST_PAUSE:
            self._next_look.after(LEAST_PAUSE)
            return
        self._began, self._is_wanted = now, False
        self._memory.begun = number = self._memory.begun + 1
        self._under_way.begin(Method.OBSERVE, clock=clock, digest=sound_reports, number=number)

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
