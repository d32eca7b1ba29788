"""Errors of handlers, as clients get them: documents, with the headers that say what to do next."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from server.errors import errors_as_json


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
