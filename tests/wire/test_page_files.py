"""The page over a socket: who gets it, and what browsers are told to allow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.ui.pages import POLICY, static_files
from tests.support.agent.process import eventually
from tests.support.agent.served import Served, served_agent

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served_agent(tmp_path_factory.mktemp("manifests")) as agent:
        eventually(lambda: agent.get("/readyz").status == 200)
        yield agent


def test_browsers_get_the_page_and_programs_the_paths(agent: Served) -> None:
    assert agent.get("/", Accept=BROWSER).text.startswith("<!doctype html>")
    assert "/ui/" in agent.get("/", Accept="*/*").json["paths"]
    assert "/ui/" in agent.get("/").json["paths"]
    for path in ("/ui", "/ui/"):
        assert agent.get(path).text.startswith("<!doctype html>")


def test_every_file_comes_with_the_policy_and_with_its_kind(agent: Served) -> None:
    kinds = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
    for name in static_files():
        answer = agent.get(f"/ui/{name}")
        assert answer.status == 200
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        kind = kinds.get(Path(name).suffix, "image/svg+xml")
        assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert "unsafe" not in POLICY


def test_a_file_that_the_browser_has_is_not_sent_again(agent: Served) -> None:
    tag = agent.get("/ui/main.js").headers["Etag"]
    again = agent.get("/ui/main.js", **{"If-None-Match": tag})
    assert (again.status, again.text) == (304, "")
    assert agent.get("/ui/main.js", **{"If-None-Match": '"another"'}).status == 200


@pytest.mark.parametrize("name", ["none.js", "..%2ffiles.py", "%2e%2e/pages.py", "index.html%00"])
def test_nothing_else_is_a_file_of_the_page(agent: Served, name: str) -> None:
    assert agent.get(f"/ui/{name}").status == 404


def test_the_page_names_no_other_place_and_has_no_inline_scripts() -> None:
    for name, file in static_files().items():
        text = file.body.decode().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, name
        assert "innerHTML" not in text, name
    index = static_files()["index.html"].body.decode()
    assert index.count("<script") == index.count('<script type="module" src="/ui/')
    assert " on" + "click=" not in index
    assert " style=" not in index


def test_a_browser_is_told_of_all_modules_at_once_and_not_by_each_of_the_next() -> None:
    modules = {name for name in static_files() if name.endswith(".js")} - {"main.js"}
    index = static_files()["index.html"].body.decode()
    assert set(re.findall(r'<link rel="modulepreload" href="/ui/([^"]+)">', index)) == modules


def test_a_page_that_cannot_be_is_refused(agent: Served) -> None:
    answer = agent.get("/ui/pods?limit=1000000")
    assert (answer.status, answer.json["error"]) == (400, "limit is a number from 1 to 500")
    assert agent.get("/ui/pods/none").status == 404
