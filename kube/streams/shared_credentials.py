"""Reads the credentials for all watches, on a thread: files and plugins may block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from kube.credentials.access import Access, Credentials, CredentialsError
from kube.errors import ApiError, error_of_transport
from kube.streams.rules import WatchRules

R = TypeVar("R")


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
    """Reads the credentials once for all who ask at the same time. Lives on the loop."""

    def __init__(self, credentials: Credentials, rules: WatchRules) -> None:
        self._credentials = credentials
        self._rules = rules
        # One thread: the credentials are never read twice at the same time.
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="watch-credentials")
        self._reading: _Reading | None = None
        self._asking: asyncio.Task[_Reading] | None = None
        self._reloading: asyncio.Task[_Reading] | None = None
        self._is_stale = False

    async def access(self) -> Access:
        """Return the current access, read within ``access_age``. Raises ``ApiError``."""
        if self._reading is not None and self._age(self._reading) < self._longest(self._reading):
            return self._reading.access
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

    async def run_blocking(self, work: Callable[[], R]) -> R:
        """Run ``work``, which may block, on the thread. Return or raise what it does."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def close(self) -> None:
        """Read no more. A plugin that hangs is left running."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _ask(self, question: Callable[[], Access]) -> asyncio.Task[_Reading]:
        return asyncio.get_running_loop().create_task(self._asked(question))

    async def _asked(self, question: Callable[[], Access]) -> _Reading:
        outcome: Access | ApiError
        try:
            outcome = await self.run_blocking(question)
        except CredentialsError as error:
            outcome = error_of_transport(error)
        self._reading, self._is_stale = _Reading(outcome=outcome, at=_now()), False
        return self._reading

    def _age(self, reading: _Reading) -> float:
        return _now() - reading.at

    def _longest(self, reading: _Reading) -> float:
        # Thousands of watches share one failed reading. It is repeated soon.
        is_good = isinstance(reading.outcome, Access) and not self._is_stale
        return self._rules.access_age if is_good else self._rules.shortest_probe


def _now() -> float:
    return asyncio.get_running_loop().time()
