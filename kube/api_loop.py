"""Where all requests of a process are: one event loop, threads for what blocks, and credentials read there.

Files and plugins with credentials may block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from kernel import Lanes, LaneSize
from kernel.loop_thread import LoopThread
from kube.credentials.access import Access, Credentials, CredentialsError
from kube.errors import ApiError, error_of_transport
from messages.units import Seconds

CREDENTIALS: Final = "credentials"
MOST_AT_ONCE: Final = 8
"""Readings of credentials, and clients that are made, beside those that hang. A plugin that hangs takes a
thread for its agent alone."""

R = TypeVar("R")


class ApiLoop:
    """The loop of the process that calls and watches run on. Who made it closes it."""

    def __init__(self) -> None:
        self.thread = LoopThread("api")
        self._lane = Lanes("api", {CREDENTIALS: LaneSize(MOST_AT_ONCE)})

    async def run_blocking(self, work: Callable[[], R], turn: Hashable | None = None) -> R:
        """Run ``work``, which may block, on a thread. Return or raise what it does.

        Of one ``turn`` one is run at a time. Who is cancelled meanwhile waits for it no more.
        """
        found: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        job = self._lane[CREDENTIALS].start(partial(_attempt, work), partial(_note, found), turn)
        try:
            return await found
        finally:
            job.abandon()

    def close(self, within: float) -> None:
        """End the loop and the threads. What is in progress is cancelled."""
        self.thread.close(within)
        self._lane.close()


def _attempt(work: Callable[[], R]) -> tuple[R | None, Exception | None]:
    """Return what ``work`` returns, or what it raises."""
    try:
        return work(), None
    except Exception as error:  # noqa: BLE001  # it is raised again in who waits
        return None, error


def _note(found: asyncio.Future[Any], outcome: object) -> None:
    """Tell what came of it, from a thread of the lane."""
    with suppress(RuntimeError):  # the loop has ended
        found.get_loop().call_soon_threadsafe(_settle, found, outcome)


def _settle(found: asyncio.Future[Any], outcome: object) -> None:
    if found.done():
        return
    match outcome:
        case (result, None):
            found.set_result(result)
        case (_, Exception() as error):
            found.set_exception(error)
        case _:
            found.set_exception(OSError("no thread can be had for it"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What the credentials gave, and when, on the loop's clock."""

    outcome: Access | ApiError
    at: float

    @property
    def access(self) -> Access:
        """The access. Raises the ``ApiError`` if there is one instead."""
        if isinstance(self.outcome, ApiError):
            # A new exception each time: many raise it, and each adds a traceback.
            raise ApiError(self.outcome.text, kind=self.outcome.kind) from None
        return self.outcome


class SharedCredentials:
    """Reads the credentials once for all who ask at the same time. Lives on the loop.

    It may be that of several agents, if they have the same credentials.
    """

    def __init__(self, credentials: Credentials, loop: ApiLoop, trouble_kept_for: Seconds) -> None:
        """Do not read what could not be read, or led to no answer, again for ``trouble_kept_for``.

        Thousands of watches share one failed reading.
        """
        self._credentials = credentials
        self._loop = loop
        self._trouble_kept_for = trouble_kept_for
        self._reading: _Reading | None = None
        self._asking: asyncio.Task[_Reading] | None = None
        self._reloading: asyncio.Task[_Reading] | None = None
        self._is_stale = False

    @property
    def trouble(self) -> str:
        """Why they could not be read at the last attempt; empty when they could. On any thread."""
        return self._credentials.trouble

    async def access(self, within: Seconds) -> Access:
        """Return the current access, read ``within`` so many seconds. Raises ``ApiError``."""
        known = self._reading
        if known is not None and _now() - known.at < self._longest(known, within):
            return known.access
        if self._asking is None or self._asking.done():
            self._asking = self._ask(self._credentials.access)
        return (await asyncio.shield(self._asking)).access

    async def reload(self, refused: Access) -> Access:
        """Return an access that was read after ``refused``. All who ask get the same one.

        Raises ``ApiError``.
        """
        known = self._reading
        if known is not None and isinstance(known.outcome, Access) and known.outcome != refused:
            return known.outcome  # it was read again for another watch
        if self._reloading is None or self._reloading.done():
            self._reloading = self._ask(lambda: self._credentials.reload(refused))
        return (await asyncio.shield(self._reloading)).access

    def mark_stale(self) -> None:
        """Note that the access did not lead to an answer. It is read again sooner: it may be changed now."""
        self._is_stale = True

    def _ask(self, question: Callable[[], Access]) -> asyncio.Task[_Reading]:
        return asyncio.get_running_loop().create_task(self._asked(question))

    async def _asked(self, question: Callable[[], Access]) -> _Reading:
        outcome: Access | ApiError
        try:
            # In turn: they are never read twice at the same time.
            outcome = await self._loop.run_blocking(question, turn=self)
        except CredentialsError as error:
            outcome = error_of_transport(error)
        self._reading, self._is_stale = _Reading(outcome=outcome, at=_now()), False
        return self._reading

    def _longest(self, reading: _Reading, within: Seconds) -> Seconds:
        is_good = isinstance(reading.outcome, Access) and not self._is_stale
        return within if is_good else min(within, self._trouble_kept_for)


def _now() -> float:
    return asyncio.get_running_loop().time()
