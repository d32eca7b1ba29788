"""How documents are written in pieces."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from messages.units import Seconds
from server.json_answers import KEPT_AT_MOST, WORTH_KEEPING, KeptText, compact, errors_as_json
from tests.support.kernel.clock import ManualClock

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
LONG_LISTS = st.integers(0, 350).map(lambda length: list(range(length)))


@given(VALUES | st.dictionaries(st.text(), LONG_LISTS | VALUES, max_size=3))
def test_the_pieces_of_a_document_are_the_document(document: Any) -> None:
    assert "".join(compact(document)) == json.dumps(document)


def test_a_long_list_is_written_in_pieces() -> None:
    longest = max(map(len, compact({"items": ["x"] * 10_000})))
    assert longest < 1_000


class CostlyText:
    """Makes texts with a number. Each takes so long on the clock, unless it fails."""

    def __init__(self, clock: ManualClock, takes: float) -> None:
        self.clock, self.takes = clock, Seconds(takes)
        self.made = 0
        self.fails = False
        self.length = WORTH_KEEPING

    async def make(self) -> str:
        advance(self.clock, self.takes)
        if self.fails:
            raise ConnectionError
        self.made += 1
        return f"text {self.made}".ljust(self.length)


def advance(clock: ManualClock, by: float) -> None:
    clock.move(Seconds(clock.monotonic() + by))


def answers(text: KeptText) -> str:
    return asyncio.run(text.get()).rstrip()


@pytest.mark.parametrize(("takes", "kept"), [(0.01, 0.2), (0.04, 0.8), (0.05, 1.0), (0.3, 1.0)])
def test_a_costly_text_is_kept_for_twenty_times_its_cost_and_a_second_at_most(
    takes: float, kept: float
) -> None:
    clock = ManualClock()
    text = KeptText(CostlyText(clock, takes).make, clock)
    assert answers(text) == "text 1"
    advance(clock, kept - takes - 0.001)
    assert answers(text) == "text 1"
    advance(clock, 0.002)
    assert answers(text) == "text 2"


@pytest.mark.parametrize(
    ("takes", "length", "second"),
    [
        (0.0, WORTH_KEEPING, "text 2"),
        (0.3, WORTH_KEEPING - 1, "text 2"),
        (0.3, WORTH_KEEPING, "text 1"),
    ],
)
def test_a_text_that_costs_nothing_or_is_short_is_made_for_each_request(
    takes: float, length: int, second: str
) -> None:
    clock = ManualClock()
    costly = CostlyText(clock, takes)
    costly.length = length
    text = KeptText(costly.make, clock)
    assert [answers(text), answers(text)] == ["text 1", second]


def test_a_text_that_could_not_be_made_is_not_kept() -> None:
    clock = ManualClock()
    costly = CostlyText(clock, 0.04)
    text = KeptText(costly.make, clock)
    assert answers(text) == "text 1"
    advance(clock, KEPT_AT_MOST)
    costly.fails = True
    with pytest.raises(ConnectionError):
        answers(text)
    costly.fails = False
    assert answers(text) == "text 2"


def answer_to(error: Exception) -> tuple[web.Response, Any]:
    async def fails(_request: web.Request) -> web.StreamResponse:
        raise error

    answer = asyncio.run(errors_as_json(make_mocked_request("GET", "/pods"), fails))
    assert isinstance(answer, web.Response)
    assert answer.content_type == "application/json"
    return answer, json.loads(answer.text or "")


@pytest.mark.parametrize(
    ("error", "code", "name", "value"),
    [
        (web.HTTPFound("/ui/"), 302, "Location", "/ui/"),
        (web.HTTPMethodNotAllowed("POST", ["GET"]), 405, "Allow", "GET"),
        (web.HTTPServiceUnavailable(headers={"Retry-After": "3"}), 503, "Retry-After", "3"),
    ],
)
def test_an_error_keeps_the_headers_that_say_what_to_do_next(
    error: web.HTTPException, code: int, name: str, value: str
) -> None:
    answer, document = answer_to(error)
    assert (answer.status, answer.headers[name]) == (code, value)
    assert document["code"] == code


def test_a_bug_of_a_handler_is_told_without_its_text() -> None:
    answer, document = answer_to(ValueError("password hunter2"))
    assert answer.status == 500
    assert document == {"error": "internal error, see the log", "code": 500}
