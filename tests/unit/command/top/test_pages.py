"""Pages of lists: what is asked for, and what is made of the answers."""

from __future__ import annotations

from typing import Any

import pytest

from command.failures import StrangeAnswerError
from command.top.lists import ACTORS, LISTS, PODS, ListKind
from command.top.pages import ListAsked, ListWindow, key_of, page_told
from tests.support.command.live_agent import told


def test_only_what_is_wanted_is_asked_for() -> None:
    assert ListAsked().path(PODS) == "/ui/pods?limit=50"
    asked = ListAsked(
        search="a b&c", order="restarts", falls=True, only_troubled=True, skip=40, limit=9_999
    )
    assert asked.path(PODS) == "/ui/pods?search=a+b%26c&sort=-restarts&skip=40&limit=500&troubled="
    assert ListAsked(falls=True).path(PODS) == "/ui/pods?sort=-&limit=50"


def test_the_tree_is_one_document_until_somebody_searches() -> None:
    assert ListAsked(order="mailbox", limit=9).path(ACTORS) == "/ui/actors"
    assert ListAsked(search="pods/").path(ACTORS) == "/ui/actors?search=pods%2F&limit=50"


@pytest.mark.parametrize("kind", LISTS.values(), ids=LISTS)
def test_what_a_real_agent_answers_is_a_page_with_a_text_for_each_column(kind: ListKind) -> None:
    page = page_told(kind, told(kind.field), ListAsked())
    assert page.rows
    for row in page.rows:
        cells = kind.cells(row, 0.0)
        assert len(cells) == len(kind.columns)
        assert cells[0]
        assert key_of(row)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"pods": {}},
        {"pods": [1], "matching": 1, "total": 1, "before": 0},
        {"pods": [{"name": "x"}], "matching": 1, "total": 1, "before": 0},
        {"pods": [], "total": 1, "before": 0},
    ],
)
def test_an_answer_of_another_version_is_a_sentence(document: dict[str, Any]) -> None:
    with pytest.raises(StrangeAnswerError, match="another version"):
        page_told(PODS, document, ListAsked())


def test_a_page_knows_its_place_in_the_whole_list() -> None:
    page = ListWindow(rows=({"key": "a"}, {"key": "b"}), before=10, matching=12, total=99)
    assert (page.row(10), page.row(9), page.row(12)) == ({"key": "a"}, None, None)
    assert (page.place_of("b"), page.place_of("x")) == (11, None)
    assert page.holds(10, 40)
    assert not page.holds(9, 11)
    assert page.holds(12, 40)


def test_actors_of_pods_are_a_row_below_their_supervisor_with_those_that_do_not_run() -> None:
    tree = {
        "actors": [
            {"name": "root", "parent": "", "restarts": 0},
            {"name": "pods", "parent": "root", "restarts": 3, "state": "running"},
        ],
        "groups": [
            {
                "name": "pods/*",
                "parent": "pods",
                "states": {"running": 9_999, "backoff": 1},
                "mailbox": 4,
                "notRunning": [{"name": "pods/7", "parent": "pods", "state": "backoff"}],
            }
        ],
    }
    page = page_told(ACTORS, tree, ListAsked())
    names = [ACTORS.cells(row, 0.0)[0] for row in page.rows]
    assert names == ["root", "  pods", "    pods/*", "    pods/7"]
    assert ACTORS.cells(page.rows[2], 0.0)[1:4] == ("9,999 running, 1 backoff", "0", "4")
    by_restarts = page_told(ACTORS, tree, ListAsked(order="restarts", falls=True))
    assert key_of(by_restarts.rows[0]) == "pods"
    by_state = page_told(ACTORS, tree, ListAsked(order="state", falls=True))
    assert key_of(by_state.rows[0]) == "pods"
    assert key_of(page_told(ACTORS, tree, ListAsked(falls=True)).rows[-1]) == "root"
