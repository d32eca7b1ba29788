"""Questions to actors from an asyncio loop, such as that of an HTTP server.

No thread waits meanwhile: the thread that answers hands the answer to the loop.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, TypeVar

import pykka
from typing_extensions import override

from kernel.children import Child
from kernel.mailbox import ReplyPort
from kernel.ports import ActorCrashedError, ActorDeadError, AskTimeoutError, Port
from kernel.system import ActorSystem
from kernel.tree import ActorDescription, TreeSummary, described, summarized
from messages.units import Seconds

M = TypeVar("M")
A = TypeVar("A")


class LoopFuture(pykka.Future[A], Generic[A]):
    """A future that any thread sets, and that the loop that made it awaits.

    Only the first answer counts. An answer that comes when nobody awaits it any more is dropped.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._awaited: asyncio.Future[A] = self._loop.create_future()

    @override
    def set(self, value: Any = None) -> None:
        self._hand_over(lambda: self._awaited.set_result(value))

    @override
    def set_exception(
        self,
        exc_info: tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
        | None = None,
    ) -> None:
        error = (exc_info or sys.exc_info())[1]
        self._hand_over(lambda: self._awaited.set_exception(_for_loop(error)))

    def _hand_over(self, settle: Callable[[], None]) -> None:
        def once() -> None:
            if not self._awaited.done():
                settle()

        with suppress(RuntimeError):  # the loop is closed: nobody awaits the answer any more
            self._loop.call_soon_threadsafe(once)

    async def within(self, deadline: Seconds, who: str) -> A:
        """Return the answer.

        Raises AskTimeoutError, which names ``who``, after ``deadline`` seconds, or the exception that
        was set.
        """
        try:
            # Not wait_for: before Python 3.12 it loses a cancellation that comes with the answer.
            async with asyncio.timeout(deadline):
                return await self._awaited
        except TimeoutError:
            raise AskTimeoutError(f"{who} did not answer within {deadline:g} s") from None


def _for_loop(error: BaseException | None) -> Exception:
    """Return the exception that the asker gets. It has no text of a bug: that is for the log alone.

    Other exceptions are replaced also because asyncio refuses to carry a StopIteration, and a SystemExit
    would end its loop.
    """
    if isinstance(error, ActorDeadError | ActorCrashedError):
        return error
    return ActorCrashedError(f"crashed with {type(error).__name__}")


async def ask(
    system: ActorSystem,
    port: Port[M],
    question: Callable[[Port[A]], M],
    deadline: Seconds = Seconds(2.0),
) -> A:
    """Tell ``port`` the message that ``question`` makes of a reply port, and return the answer.

    Raises AskTimeoutError after ``deadline`` seconds, ActorDeadError when the address is closed, and
    ActorCrashedError when the handler raised, whatever it raised.
    """
    future: LoopFuture[A] = LoopFuture()
    who = system.send_question(port, question(ReplyPort(future)), future)
    return await future.within(deadline, who)


async def describe(
    system: ActorSystem, deadline: Seconds = Seconds(2.0)
) -> tuple[ActorDescription, ...]:
    """Return all nodes of the tree, parents before their children. Raises AskTimeoutError."""
    return await _look(system, described, deadline)


async def summarize(system: ActorSystem, deadline: Seconds = Seconds(2.0)) -> TreeSummary:
    """Return the tree, with dynamic children only counted. Raises AskTimeoutError."""
    return await _look(system, summarized, deadline)


async def _look(system: ActorSystem, at: Callable[[Child], A], deadline: Seconds) -> A:
    future: LoopFuture[A] = LoopFuture()
    system.send_look(at, future)
    return await future.within(deadline, "the control thread")


async def crash(system: ActorSystem, path: str, deadline: Seconds = Seconds(2.0)) -> bool:
    """Make the actor or supervisor of ``path`` fail. Return whether there is one.

    Raises AskTimeoutError when the control thread does not answer within ``deadline`` seconds.
    """
    future: LoopFuture[bool] = LoopFuture()
    system.crash(path, ReplyPort(future))
    return await future.within(deadline, "the control thread")
