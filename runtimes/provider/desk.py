"""The calls of a provider that have not returned: how many there are, and how long they are waited for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kernel import Clock, Port, Timer
from messages.pods import JsonObject, PodUid
from messages.units import Seconds
from runtimes.provider.calls import ProviderCall, ProviderCallEnded, ProviderCalls
from runtimes.provider.memory import CallOut, VirtualMemory, VirtualRules
from runtimes.provider.pods import Method


class CallDesk:
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
        memory: VirtualMemory,
        rules: VirtualRules,
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
