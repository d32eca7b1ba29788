"""One request of a watch and its answer, up to the end of the body."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from pyreqwest.exceptions import (
    DetailedPyreqwestError,
    PyreqwestError,
    RequestError,
    RequestTimeoutError,
)
from pyreqwest.request import StreamRequest
from pyreqwest.response import Response

from kernel.loop_thread import raise_if_cancelled
from kube.errors import ApiError, error_of_transport
from kube.streams.circuit_breaker import ConnectionLostError, Permit
from kube.streams.connections import Connection
from kube.streams.rules import WatchRules

CLOSING: Final = "not a result of an error"
"""What hyper says when a request was sent over a connection that the server was closing (GOAWAY)."""


class ConnectionFullError(Exception):
    """The server seems to accept no more streams on this connection. Send the request over another one."""


class Exchange:
    """An answer whose head has arrived."""

    __slots__ = ("_connection", "_is_counted", "_permit", "_request", "_response")

    def __init__(
        self, connection: Connection, permit: Permit, request: StreamRequest, response: Response
    ) -> None:
        self._connection = connection
        self._permit = permit
        self._request = request
        self._response = response
        self._is_counted = False

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, their names in lower case."""
        return {name.lower(): value for name, value in self._response.headers.items()}

    def count(self) -> None:
        """Count this answer among the open ones of its connection, until it is closed."""
        self._is_counted = True
        self._connection.on_stream_opened()

    async def read(self) -> bytes | None:
        """Return the next bytes of the body; None at its end. Raises ``ApiError``. May be cancelled.

        The bytes are a copy: pyreqwest's own would keep the whole network buffer in memory.
        """
        try:
            chunk = await self._response.body_reader.read_chunk()
        except PyreqwestError as broken:
            raise _error_of(broken, self._connection, self._permit) from None
        raise_if_cancelled()
        return None if chunk is None else bytes(chunk)

    async def close(self) -> None:
        """End the answer, at the server too."""
        if self._is_counted:
            self._is_counted = False
            self._connection.streams -= 1
        await self._request.__aexit__(None, None, None)
        raise_if_cancelled()


async def open_exchange(
    connection: Connection, permit: Permit, build: Callable[[], StreamRequest], rules: WatchRules
) -> Exchange:
    """Send the request that ``build`` returns, and return its answer.

    Raises ``ApiError`` when there is no answer in time, and ``ConnectionFullError`` when the connection
    seems to be full. May be cancelled. Whoever stops waiting leaves the request to itself: it is closed
    once it is open. Cancelling the request too would leave its stream open at the server until its
    ``timeoutSeconds``.
    """
    loop = asyncio.get_running_loop()
    # asyncio's shield and timeout would do the same in twice as many steps of the loop.
    opened: asyncio.Future[Exchange] = loop.create_future()
    patience = _Patience(opened, connection, rules)
    connection.run(_open(connection, permit, build, opened))
    try:
        return await opened
    except asyncio.CancelledError:
        if not opened.cancelled() and opened.exception() is None:
            connection.run(opened.result().close())  # it was answered in the same moment
        raise
    finally:
        patience.end()


class _Patience:
    """How long a request waits for its answer: until its time is up, or its connection seems to be full.

    One timer for both. Most requests are answered long before it fires for the first time.
    """

    __slots__ = ("_connection", "_ends_at", "_opened", "_rules", "_timer")

    def __init__(
        self, opened: asyncio.Future[Exchange], connection: Connection, rules: WatchRules
    ) -> None:
        self._opened = opened
        self._connection = connection
        self._rules = rules
        now = opened.get_loop().time()
        self._ends_at = now + rules.answer_within
        self._timer = self._set(now)

    def end(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _set(self, now: float) -> asyncio.TimerHandle:
        at = min(now + self._rules.full_after, self._ends_at)
        return self._opened.get_loop().call_at(at, self._look)

    def _look(self) -> None:
        if self._opened.done():
            return
        now = self._opened.get_loop().time()
        if now >= self._ends_at:
            # Only this request fails: others on the same connection may be answered.
            late = error_of_transport(TimeoutError(), self._rules.answer_within)
            self._opened.set_exception(late)
        elif self._connection.check_full(self._rules):
            self._opened.set_exception(ConnectionFullError())
        else:
            self._timer = self._set(now)


async def _open(
    connection: Connection,
    permit: Permit,
    build: Callable[[], StreamRequest],
    opened: asyncio.Future[Exchange],
) -> None:
    """Send a request and set its outcome on ``opened``. If nobody waits any more, close the answer."""
    try:
        exchange = await _entered(connection, permit, build, tries=2)
    except BaseException as broken:  # noqa: BLE001  # whoever waits is told of bugs too
        error = (
            _error_of(broken, connection, permit) if isinstance(broken, PyreqwestError) else broken
        )
        if not opened.done():
            opened.set_exception(error)
        return
    connection.on_answer(permit)
    if opened.done():
        connection.on_late_answer()
        await exchange.close()
    else:
        exchange.count()
        opened.set_result(exchange)


def _error_of(broken: PyreqwestError, connection: Connection, permit: Permit) -> ApiError:
    """Return the error of one request. If it concerns the connection, tell its circuit breaker."""
    causes = _causes(broken)
    is_late = any("timed out" in cause for cause in causes)
    if isinstance(broken, RequestTimeoutError) and not is_late:
        # pyreqwest takes every error whose text contains "timeout" for one. The text contains the URL,
        # and the URL of every watch has a "timeoutSeconds".
        broken = RequestError(broken.message, broken.details)
    error = error_of_transport(broken)
    if is_late and not any("(Connect)" in cause for cause in causes):
        return error  # only this request was too slow
    connection.on_failure(permit, error)
    return ConnectionLostError(error, was_sent=True)


def _causes(error: PyreqwestError) -> list[str]:
    """Return what an error says of its causes, without texts that contain the URL."""
    causes = error.details["causes"] if isinstance(error, DetailedPyreqwestError) else None
    texts = [cause["message"] for cause in causes or []]
    return [text for text in texts if " for url " not in text]


async def _entered(
    connection: Connection, permit: Permit, build: Callable[[], StreamRequest], tries: int
) -> Exchange:
    request = build()
    try:
        return Exchange(connection, permit, request, await request.__aenter__())
    except PyreqwestError as broken:
        # The server did not process the request: it counts as not sent, and is sent once more.
        if tries == 1 or CLOSING not in str(broken.args):
            raise
    return await _entered(connection, permit, build, tries - 1)
