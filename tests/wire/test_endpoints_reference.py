"""Each path answers in the form that the reference says."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.agent.process import eventually
from tests.support.agent.served import Served, served_agent
from tools.reference.endpoints import ServedRoute, served_routes

PLAIN = [
    route
    for route in served_routes()["read-only port"]
    if "{" not in route.path and route.method == "GET" and route.path != "/events"
]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served_agent(tmp_path_factory.mktemp("manifests"), "--hollow-volumes") as agent:
        # Until then threads begin, which a test must not leave behind.
        eventually(lambda: agent.get("/readyz").status == 200)
        yield agent


@pytest.mark.parametrize("route", PLAIN, ids=lambda route: route.path)
def test_a_path_answers_as_the_reference_says(agent: Served, route: ServedRoute) -> None:
    answer = agent.get(route.path)
    assert answer.status == 200
    media = answer.headers["Content-Type"].partition("; charset")[0]
    assert media in route.asked.media


def test_an_error_is_a_document_as_the_reference_says(agent: Served) -> None:
    answer = agent.get("/nothing")
    assert (answer.status, set(json.loads(answer.text))) == (404, {"error", "code"})
