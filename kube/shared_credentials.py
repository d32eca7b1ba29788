"""Reads the credentials for all requests of an agent, on a thread: files and plugins may block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from kube.api_loop import ApiLoop
from kube.credentials.access import Access, Credentials, CredentialsError
from kube.errors import ApiError, error_of_transport
from messages.units import Seconds


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
