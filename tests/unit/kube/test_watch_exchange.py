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
from kube.streams.circuit_breaker import Gate, LostError, Permit
from kube.streams.connections import Lane
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


def a_lane() -> Lane:
    """Return a lane without a client, which is nobody's here."""
    loop = asyncio.get_running_loop()
    gate = Gate(RULES, random.Random(3))
    return Lane(Access(server="https://h", user="u"), loop.create_future, gate, 95)


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
    """Return what opening gives when its tries end like this, and whether the gate is open then."""

    async def story() -> tuple[ApiError | None, bool]:
        lane = a_lane()
        gate = lane.gate
        permit = await gate.enter()
        tries: Iterator[Ending] = iter([Ending(error) for error in errors])
        try:
            await open_exchange(lane, permit, lambda: cast("StreamRequest", next(tries)), RULES)
        except ApiError as error:
            return error, gate.lets(permit)
        return None, gate.lets(permit)

    return asyncio.run(story())


def test_a_request_that_met_a_closing_connection_is_sent_once_more() -> None:
    closing = broken(RequestError, GOING_AWAY)
    assert outcome(closing, None) == (None, True)
    error, gate_is_open = outcome(closing, closing, None)
    assert isinstance(error, LostError)
    assert not gate_is_open


@pytest.mark.parametrize("causes", [REFUSED, RESET], ids=["refused", "reset"])
def test_the_word_timeout_in_the_url_makes_no_timeout(causes: tuple[str, ...]) -> None:
    """pyreqwest names its exceptions by their texts, and the URL of a watch is in them."""
    error, gate_is_open = outcome(broken(ConnectTimeoutError, causes))
    assert isinstance(error, LostError)
    assert error.kind is FailureKind.UNREACHABLE
    assert not gate_is_open


def test_an_answer_that_is_late_says_nothing_of_the_connection() -> None:
    error, gate_is_open = outcome(broken(RequestTimeoutError, TOO_SLOW))
    assert error is not None
    assert error.kind is FailureKind.TIMEOUT
    assert not isinstance(error, LostError)
    assert gate_is_open


def test_a_handshake_that_is_late_is_no_connection() -> None:
    error, gate_is_open = outcome(broken(ConnectTimeoutError, NO_HANDSHAKE))
    assert isinstance(error, LostError)
    assert error.kind is FailureKind.TIMEOUT
    assert not gate_is_open


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
        lane = a_lane()
        permit = await lane.gate.enter()
        request = Meeting()
        opening = open_exchange(lane, permit, lambda: cast("StreamRequest", request), RULES)
        request.who = asyncio.get_running_loop().create_task(opening)
        with pytest.raises(asyncio.CancelledError):
            await request.who
        await asyncio.gather(*lane.pending)
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
            a_lane(),
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
    rules = WatchRules(user_agent="test", fewest_streams=3, crowded_after=Seconds(0.0))

    async def story() -> list[tuple[bool, int]]:
        lane, seen = a_lane(), []
        for act in (lane.take_stream, lane.take_stream, lane.take_stream, lane.take_late_answer):
            act()
            seen.append((lane.is_full(rules) if act == lane.take_stream else False, lane.limit))
        return seen

    # Two are few enough to be slow; the third shows it.
    assert asyncio.run(story()) == [(False, 95), (False, 95), (True, 3), (False, 95)]


def test_a_connection_that_has_answered_a_moment_ago_is_not_full() -> None:
    rules = WatchRules(user_agent="test", fewest_streams=1)

    async def story() -> bool:
        lane = a_lane()
        lane.take_stream()
        lane.take_answer(await lane.gate.enter())
        return lane.is_full(rules)

    assert not asyncio.run(story())
