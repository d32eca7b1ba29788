"""Calls through the mailbox: ``later``, ``alarm`` and ``portions`` of an actor.

What is called is a method of the actor. It runs in a turn, with other messages before and after it, and never
after the life that asked for it has ended. A crash drops what was still to come: what must outlive it is data
in a memory, from which ``started`` begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from typing_extensions import override

from kernel.clock import Timer
from kernel.mailbox import KernelMessage, LifeOfActor
from messages.units import Seconds

K = TypeVar("K", bound=Hashable)

PORTION: Final = 64
"""Keys per turn. At 10 us each, other messages wait for less than a millisecond."""


class Later(KernelMessage):
    """A call that waits for its turn."""

    __slots__ = ("_args", "_call")

    def __init__(self, call: Callable[..., None], *args: Any) -> None:
        self._call = call
        self._args = args

    @property
    @override
    def title(self) -> str:
        """The name of what is called. Never what it is called with."""
        call = self._call
        while isinstance(call, partial):
            call = call.func
        return f"Later({getattr(call, '__qualname__', type(call).__name__)})"

    @override
    def __repr__(self) -> str:
        return self.title

    @override
    def perform(self, life: LifeOfActor, /) -> None:
        self._call(*self._args)


class LifeOfTimers(Protocol):
    """The part of a life that alarms and portions use."""

    def tell(self, message: object, /) -> None:
        """Tell this life ``message``. A later life of the address never gets it."""
        ...

    def set_timer_at(self, due: Seconds, message: object, /) -> Timer:
        """Tell this life ``message`` at ``due``. Return the timer, which can be cancelled."""
        ...

    def now(self) -> Seconds:
        """Return the monotonic time."""
        ...


class Alarm:
    """Calls something at one moment, which can be moved.

    Moving it to a later moment costs nothing: its timer fires at the earlier one, and is set again then.
    """

    __slots__ = ("_call", "_due", "_life", "_timer")

    def __init__(self, life: LifeOfTimers, call: Callable[[], None]) -> None:
        self._life = life
        self._call: Callable[[], None] | None = call
        self._due: Seconds | None = None
        self._timer: Timer | None = None

    @property
    def due(self) -> Seconds | None:
        """When it calls, by the monotonic clock; None if it does not."""
        return self._due

    def at(self, moment: Seconds | None) -> None:
        """Call at ``moment`` and at no other time; None: not at all.

        A moment that has passed is now: the call comes in a turn of its own, never from in here.
        """
        self._due = moment
        timer = self._timer
        if moment is None or (timer is not None and timer.due <= moment):
            return
        if timer is not None:
            timer.cancel()
        self._set(moment)

    def after(self, delay: Seconds) -> None:
        """Call in ``delay`` seconds, and at no other time."""
        self.at(Seconds(self._life.now() + delay))

    def let_go(self) -> None:
        """Forget what it calls: the life has ended."""
        self._call = None

    def _set(self, moment: Seconds) -> None:
        self._timer = self._life.set_timer_at(moment, Later(self._fire))

    def _fire(self) -> None:
        self._timer = None
        due, call = self._due, self._call
        if due is None or call is None:
            return
        if due > self._life.now():
            self._set(due)
            return
        self._due = None
        call()


class Portions(Generic[K]):
    """Calls something with one key after the other, so many in a turn. Other messages come in between.

    It holds keys, never values: what a key means is looked up in its turn, when it may be gone.
    """

    __slots__ = ("_call", "_is_told", "_keys", "_life", "_most")

    def __init__(self, life: LifeOfTimers, call: Callable[[K], None], most: int = PORTION) -> None:
        self._life = life
        self._call: Callable[[K], None] | None = call
        self._most = most
        self._keys: dict[K, None] = {}
        self._is_told = False

    def __len__(self) -> int:
        """How many keys wait."""
        return len(self._keys)

    def add(self, keys: Iterable[K]) -> None:
        """Call with each of ``keys``, in this order, in later turns. One that waits keeps its place."""
        self._keys.update(dict.fromkeys(keys))
        if self._keys and not self._is_told:
            self._is_told = True
            self._life.tell(Later(self._go_on))

    def discard(self, key: K) -> None:
        """Do not call with ``key`` if it still waits."""
        self._keys.pop(key, None)

    def let_go(self) -> None:
        """Forget what it calls: the life has ended."""
        self._call = None
        self._keys.clear()

    def _go_on(self) -> None:
        self._is_told = False
        for _ in range(self._most):
            if self._call is None or not self._keys:
                return
            key = next(iter(self._keys))
            del self._keys[key]
            self._call(key)
        self.add(())
