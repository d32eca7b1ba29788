"""One request of a watch, from its sending to the end of its answer."""

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

from kernel.cancelling import raise_if_cancelled
from kube.errors import ApiError, error_of_transport
from kube.streams.circuit_breaker import ConnectionLostError, Permit
from kube.streams.connections import Connection
from kube.streams.rules import WatchRules
from messages.units import Seconds

CLOSING: Final = "not a result of an error"
"""What hyper says when a request met a connection that the server was about to close (GOAWAY)."""


class ConnectionFullError(Exception):
    """It seems that the server lets nobody in any more on this connection: a request goes to another."""


class Exchange:
    """An answer whose head has come."""

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
        """The headers, in lower case."""
        return {name.lower(): value for name, value in self._response.headers.items()}

    def count(self) -> None:
        """Count this among the open answers of its connection until it is closed."""
        self._is_counted = True
        self._connection.on_stream_opened()

    async def read(self) -> bytes | None:
        """Return the next bytes of the body, None at its end. Raises ``ApiError``.

        May be cancelled. They are a copy: pyreqwest's own would keep the whole network buffer.
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
    # A shield and a timeout of asyncio would do the same in twice as many turns of the loop.
    opened: asyncio.Future[Exchange] = loop.create_future()
    within = rules.answer_within
    timers = [loop.call_later(within, _give_up, opened, within)]
    timers.append(
        loop.call_later(rules.full_after, _leave_if_full, opened, connection, rules, timers)
    )
    connection.run(_open(connection, permit, build, opened))
    try:
        return await opened
    except asyncio.CancelledError:
        if not opened.cancelled() and opened.exception() is None:
            connection.run(opened.result().close())  # it came in the very same moment
        raise
    finally:
        for timer in timers:
            timer.cancel()


def _leave_if_full(
    opened: asyncio.Future[Exchange],
    connection: Connection,
    rules: WatchRules,
    timers: list[asyncio.TimerHandle],
) -> None:
    if opened.done():
        return
    if connection.check_full(rules):
        opened.set_exception(ConnectionFullError())
    else:
        later = asyncio.get_running_loop().call_later
        timers[-1] = later(rules.full_after, _leave_if_full, opened, connection, rules, timers)


def _give_up(opened: asyncio.Future[Exchange], within: Seconds) -> None:
    if not opened.done():
        # This one only: others on the same connection may be answered.
        opened.set_exception(error_of_transport(TimeoutError(), within))


async def _open(
    connection: Connection,
    permit: Permit,
    build: Callable[[], StreamRequest],
    opened: asyncio.Future[Exchange],
) -> None:
    """Set what ``opened`` has to say; if nobody waits for it any more, close what was opened."""
    try:
        exchange = await _entered(connection, permit, build, tries=2)
    except BaseException as broken:  # noqa: BLE001  # bugs are for who waits, too
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
    """Return the error of one request, and tell its gate if it is everybody's on the connection."""
    causes = _causes(broken)
    is_late = any("timed out" in cause for cause in causes)
    if isinstance(broken, RequestTimeoutError) and not is_late:
        # pyreqwest takes any error for a timeout whose text has that word, and the text has the URL:
        # every watch has a "timeoutSeconds" in it.
        broken = RequestError(broken.message, broken.details)
    error = error_of_transport(broken)
    if is_late and not any("(Connect)" in cause for cause in causes):
        return error  # this request was too slow, and not the connection
    connection.on_failure(permit, error)
    return ConnectionLostError(error, was_sent=True)


def _causes(error: PyreqwestError) -> list[str]:
    """Return what an error says of its causes, without what has the URL in it."""
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
        # The server has not looked at it, so that it counts as not sent.
        if tries == 1 or CLOSING not in str(broken.args):
            raise
    return await _entered(connection, permit, build, tries - 1)
