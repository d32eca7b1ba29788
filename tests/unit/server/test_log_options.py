"""What ``kubectl logs`` asks for: one row for each option, with both sides of its bound."""

from __future__ import annotations

import pytest
from aiohttp import web

from messages.units import Timestamp
from server.node.logs import INVALID, UNDECODABLE, LogParameters, options_of

NOW = Timestamp(1000.0)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ({}, LogParameters()),
        ({"follow": "true"}, LogParameters(follow=True)),
        ({"follow": "no"}, LogParameters(follow=True)),
        ({"follow": ""}, LogParameters(follow=True)),
        ({"follow": "false", "previous": "0"}, LogParameters()),
        ({"previous": "1", "timestamps": "yes"}, LogParameters(previous=True, timestamps=True)),
        ({"tailLines": "0"}, LogParameters(tail=0)),
        ({"tail": "5"}, LogParameters(tail=5)),
        ({"tail": "all"}, LogParameters()),
        ({"tail": "5", "tailLines": "3"}, LogParameters(tail=3)),
        ({"limitBytes": "1"}, LogParameters(limit=1)),
        ({"sinceSeconds": "1"}, LogParameters(since=Timestamp(999.0))),
        ({"sinceTime": "1970-01-01T00:00:10Z"}, LogParameters(since=Timestamp(10.0))),
        ({"sinceTime": "1970-01-01T01:00:10.5+01:00"}, LogParameters(since=Timestamp(10.5))),
        ({"stream": "Stdout"}, LogParameters(stream="stdout")),
        ({"stream": "All"}, LogParameters()),
        ({"unknown": "x"}, LogParameters()),
    ],
)
def test_an_option_is_taken_as_a_kubelet_takes_it(
    query: dict[str, str], options: LogParameters
) -> None:
    assert options_of(query, NOW) == options


@pytest.mark.parametrize(
    "query",
    [
        {"tailLines": "-1"},
        {"limitBytes": "0"},
        {"sinceSeconds": "0"},
        {"sinceSeconds": "1", "sinceTime": "1970-01-01T00:00:10Z"},
        {"stream": "stdout"},
    ],
)
def test_what_makes_no_sense_is_422(query: dict[str, str]) -> None:
    with pytest.raises(web.HTTPUnprocessableEntity) as error:
        options_of(query, NOW)
    assert error.value.text == INVALID


@pytest.mark.parametrize(
    "query",
    [
        {"tailLines": "many"},
        {"tail": "any"},
        {"limitBytes": "1.5"},
        {"sinceSeconds": "9999999999999999999"},
        {"tailLines": "\u0663"},
        {"sinceTime": "yesterday"},
        {"sinceTime": "1970-01-01"},
    ],
)
def test_what_is_no_number_and_no_time_is_400(query: dict[str, str]) -> None:
    with pytest.raises(web.HTTPBadRequest) as error:
        options_of(query, NOW)
    assert error.value.text == UNDECODABLE
