"""What errors of the transport mean for one request, and for all others on its connection."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import cast

import pytest
from pyreqwest.exceptions import (
    CauseErrorDetails,
    ConnectTimeoutError,
    RequestError,
    RequestTimeoutError,
)
from pyreqwest.request import StreamRequest
from pyreqwest.response import Response

from kube.credentials.access import Access
from kube.errors import ApiError
from kube.streams.circuit_breaker import CircuitBreaker, ConnectionLostError, Permit
from kube.streams.connections import Connection
from kube.streams.exchange import Exchange, open_exchange
from kube.streams.rules import WatchRules
from messages.api import FailureKind
from messages.units import Seconds

URL = "error sending request for url (https://h/api/v1/secrets?timeoutSeconds=301)"
REFUSED = (URL, "client error (Connect)", "tcp connect error", "Connection refused (os error 111)")
GOING_AWAY = (URL, "http2 error", "connection error received: not a result of an error")
RESET = (URL, "client error (SendRequest)", "http2 error", "stream error received: unspecific")
TOO_SLOW = (URL, "operation timed out")
NO_HANDSHAKE = (URL, "client error (Connect)", "operation timed out")


RULES = WatchRules(user_agent="test")


def a_connection() -> Connection:
    """Return a connection without a client, which is nobody's here."""
    loop = asyncio.get_running_loop()
    breaker = CircuitBreaker(RULES, random.Random(3))
    return Connection(Access(server="https://h", user="u"), loop.create_future, breaker, 95)


class Ending:
    """A request that ends like this."""

    def __init__(self, error: RequestError | None) -> None:
        self._error = error

    async def __aenter__(self) -> str:
        if self._error is not None:
            raise self._error
        return "the answer"


def broken(kind: type[RequestError], causes: tuple[str, ...]) -> RequestError:
    details: CauseErrorDetails = {"causes": [{"message": cause} for cause in causes]}
    return kind("connection error", details)


def outcome(*errors: RequestError | None) -> tuple[ApiError | None, bool]:
    """Return what opening gives when its tries end like this, and whether requests may be sent then."""

    async def story() -> tuple[ApiError | None, bool]:
        connection = a_connection()
        breaker = connection.breaker
        permit = await breaker.acquire()
        tries: Iterator[Ending] = iter([Ending(error) for error in errors])
        try:
            await open_exchange(
                connection, permit, lambda: cast("StreamRequest", next(tries)), RULES
            )
        except ApiError as error:
            return error, breaker.is_valid(permit)
        return None, breaker.is_valid(permit)

    return asyncio.run(story())


def test_a_request_that_met_a_closing_connection_is_sent_once_more() -> None:
    closing = broken(RequestError, GOING_AWAY)
    assert outcome(closing, None) == (None, True)
    error, is_closed = outcome(closing, closing, None)
    assert isinstance(error, ConnectionLostError)
    assert not is_closed


@pytest.mark.parametrize("causes", [REFUSED, RESET], ids=["refused", "reset"])
def test_the_word_timeout_in_the_url_makes_no_timeout(causes: tuple[str, ...]) -> None:
    """pyreqwest names its exceptions by their texts, and the URL of a watch is in them."""
    error, is_closed = outcome(broken(ConnectTimeoutError, causes))
    assert isinstance(error, ConnectionLostError)
    assert error.kind is FailureKind.UNREACHABLE
    assert not is_closed


def test_an_answer_that_is_late_says_nothing_of_the_connection() -> None:
    error, is_closed = outcome(broken(RequestTimeoutError, TOO_SLOW))
    assert error is not None
    assert error.kind is FailureKind.TIMEOUT
    assert not isinstance(error, ConnectionLostError)
    assert is_closed


def test_a_handshake_that_is_late_is_no_connection() -> None:
    error, is_closed = outcome(broken(ConnectTimeoutError, NO_HANDSHAKE))
    assert isinstance(error, ConnectionLostError)
    assert error.kind is FailureKind.TIMEOUT
    assert not is_closed


@pytest.mark.parametrize("causes", [REFUSED, RESET, GOING_AWAY, TOO_SLOW])
def test_no_url_is_passed_on(causes: tuple[str, ...]) -> None:
    end = broken(RequestTimeoutError, causes)
    error, _ = outcome(end, end)
    assert error is not None
    assert "secrets" not in f"{error!r} {error} {error.__cause__!r}"


class Meeting:
    """A request that is answered in the very moment in which who waits for it is cancelled."""

    def __init__(self) -> None:
        self.who: asyncio.Task[Exchange] | None = None
        self.is_closed = False

    async def __aenter__(self) -> str:
        assert self.who is not None
        asyncio.get_running_loop().call_soon(self.who.cancel)
        return "the answer"

    async def __aexit__(self, *_error: object) -> None:
        self.is_closed = True


def test_an_answer_that_meets_a_cancelling_is_closed() -> None:
    async def story() -> bool:
        connection = a_connection()
        permit = await connection.breaker.acquire()
        request = Meeting()
        opening = open_exchange(connection, permit, lambda: cast("StreamRequest", request), RULES)
        request.who = asyncio.get_running_loop().create_task(opening)
        with pytest.raises(asyncio.CancelledError):
            await request.who
        await asyncio.gather(*connection.pending)
        return request.is_closed

    assert asyncio.run(story())


class Forgetful:
    """An answer that gives out a chunk when its reading is cancelled, as pyreqwest may."""

    def __init__(self) -> None:
        self.body_reader = self
        self.begun = asyncio.Event()

    async def read_chunk(self) -> bytes:
        self.begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return b"chunk"

    async def __aexit__(self, *_error: object) -> None:
        await self.read_chunk()


@pytest.mark.parametrize("what", [Exchange.read, Exchange.close], ids=["read", "close"])
def test_a_cancelling_that_pyreqwest_forgets_is_heeded(
    what: Callable[[Exchange], Coroutine[None, None, object]],
) -> None:
    async def story() -> bool:
        answer = Forgetful()
        exchange = Exchange(
            a_connection(),
            cast("Permit", None),
            cast("StreamRequest", answer),
            cast("Response", answer),
        )
        task = asyncio.get_running_loop().create_task(what(exchange))
        await answer.begun.wait()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(story())


def test_a_connection_that_answers_nobody_is_full_until_somebody_is_answered_late() -> None:
    rules = WatchRules(user_agent="test", fewest_streams=3, full_after=Seconds(0.0))

    async def story() -> list[tuple[bool, int]]:
        connection, seen = a_connection(), []
        for act in (
            connection.on_stream_opened,
            connection.on_stream_opened,
            connection.on_stream_opened,
            connection.on_late_answer,
        ):
            act()
            seen.append(
                (
                    connection.check_full(rules) if act == connection.on_stream_opened else False,
                    connection.limit,
                )
            )
        return seen

    # Two are few enough to be slow; the third shows it.
    assert asyncio.run(story()) == [(False, 95), (False, 95), (True, 3), (False, 95)]


def test_a_connection_that_has_answered_a_moment_ago_is_not_full() -> None:
    rules = WatchRules(user_agent="test", fewest_streams=1)

    async def story() -> bool:
        connection = a_connection()
        connection.on_stream_opened()
        connection.on_answer(await connection.breaker.acquire())
        return connection.check_full(rules)

    assert not asyncio.run(story())
