"""Calls of a provider: each on a thread of its own, or on the one event loop if it is async.

The actor decides which calls are made, how many at a time, and how long they are waited for. Here they are
only carried out. Threads are daemons: one that hangs keeps neither the actor nor the process from ending.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from typing_extensions import override

from kernel.loop_thread import LoopThread
from messages.port import Port
from runtimes.provider.pods import Method
from runtimes.provider.reports import cut

TEXT_BYTES: Final = 16_384
"""How much of an exception's text is looked at. Less is shown."""


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """An exception of a provider."""

    kind: str
    """The class of the exception."""
    text: str = field(repr=False)
    """What it says. May contain values of Secrets, which have to be hidden."""
    where: str = ""
    """The line of the provider that raised it: ``my_node.py:41 in run``."""


@dataclass(frozen=True, slots=True)
class Returned:
    """A call has returned."""

    value: object = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCallEnded:
    """Tells that a call has its outcome. May repeat after a crash."""

    ref: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChanged:
    """The provider says that something has changed. Coalesced."""


@dataclass(slots=True, eq=False)
class ProviderCall:
    """One call, and its outcome once there is one. The thread of the call sets that, and nobody else."""

    ref: int
    method: Method
    target: Callable[[], object] = field(repr=False)
    """Calls the provider."""
    digest: Callable[[object], object] = field(repr=False, default=lambda value: value)
    """What is made of the value, on the thread of the call."""
    outcome: Returned | ProviderFailure | None = None
    is_given_up: bool = False
    task: Future[object] | None = field(default=None, repr=False)


class ProviderCalls(Protocol):
    """Where calls are carried out."""

    def start(self, call: ProviderCall, reply_to: Port[ProviderCallEnded]) -> None:
        """Begin ``call``, and return. Its outcome is set before ``reply_to`` is told."""
        ...

    def give_up(self, call: ProviderCall) -> None:
        """Cancel ``call`` if that is possible. Its outcome comes late, or never."""
        ...


class ThreadedCalls(ProviderCalls):
    """Calls on threads, and on one thread with an event loop. It belongs to the process."""

    def __init__(self) -> None:
        self._loop = LoopThread("provider-loop")

    @override
    def start(self, call: ProviderCall, reply_to: Port[ProviderCallEnded]) -> None:
        loop = self._loop.loop
        if inspect.iscoroutinefunction(getattr(call.target, "func", call.target)):
            # Making a coroutine runs nothing of it.
            _await(loop, call, _coroutine(call.target), reply_to)
            return
        threading.Thread(
            target=_work, args=(loop, call, reply_to), name=f"provider-{call.method}", daemon=True
        ).start()

    @override
    def give_up(self, call: ProviderCall) -> None:
        if call.task is not None:
            call.task.cancel()

    def close(self) -> None:
        """End the event loop. What still runs on it is dropped."""
        self._loop.close()


def _work(
    loop: asyncio.AbstractEventLoop, call: ProviderCall, reply_to: Port[ProviderCallEnded]
) -> None:
    """Make ``call`` on this thread. If it returns something to await, the loop does that."""
    try:
        value = call.target()
        if inspect.isawaitable(value):
            _await(loop, call, value, reply_to)
            return
        outcome: Returned | ProviderFailure = Returned(call.digest(value))
    except BaseException as error:  # noqa: BLE001  # whatever somebody's class raises
        outcome = failure_of(error)
    _end(call, outcome, reply_to)


def _await(
    loop: asyncio.AbstractEventLoop,
    call: ProviderCall,
    awaitable: Awaitable[object],
    reply_to: Port[ProviderCallEnded],
) -> None:
    async def awaited() -> None:
        try:
            outcome: Returned | ProviderFailure = Returned(call.digest(await awaitable))
        except BaseException as error:  # noqa: BLE001  # the same
            outcome = failure_of(error)
        _end(call, outcome, reply_to)

    call.task = asyncio.run_coroutine_threadsafe(awaited(), loop)


def failure_of(error: BaseException) -> ProviderFailure:
    """Return ``error`` as a value that keeps nothing else alive."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # its __str__ is somebody's code too
        text = ""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if frame.filename != __file__]
    last = theirs[-1] if theirs else None
    where = f"{last.filename.rpartition('/')[2]}:{last.lineno} in {last.name}" if last else ""
    return ProviderFailure(type(error).__name__, cut(text, TEXT_BYTES), where)


def _end(
    call: ProviderCall, outcome: Returned | ProviderFailure, reply_to: Port[ProviderCallEnded]
) -> None:
    call.outcome = outcome
    reply_to.tell(ProviderCallEnded(ref=call.ref))


def _coroutine(target: Callable[[], Any]) -> Awaitable[object]:
    made: Awaitable[object] = target()
    return made
