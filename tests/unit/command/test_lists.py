"""Long lists that are read while they arrive, from whoever answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import lists
from command.lists import FIRST, PAGE, ListInPieces, NoListError, in_pages

ROWS = [{"name": f"web-{number}", "note": 'a "}, {" ] é 世界'} for number in range(3)]
WHOLE = {"kind": "PodList", "more": {"items": [1]}, "items": ROWS, "last": [{"items": []}]}


def in_pieces(text: str, size: int) -> Iterator[bytes]:
    raw = text.encode()
    return iter([raw[start : start + size] for start in range(0, len(raw), size)])


def read(text: str, size: int = 1000) -> dict[str, Any]:
    found = ListInPieces(in_pieces(text, size), "items")
    rows = list(chain.from_iterable(found.pages()))
    return {**found.head, "items": rows, **found.rest}


@given(
    size=st.integers(min_value=1, max_value=400),
    indent=st.sampled_from([None, 0, 3]),
    is_ascii=st.booleans(),
)
def test_a_list_is_the_same_however_it_arrives(
    size: int, indent: int | None, *, is_ascii: bool
) -> None:
    text = json.dumps(WHOLE, indent=indent, ensure_ascii=is_ascii)
    assert read(text, size) == WHOLE


def test_the_first_page_is_there_before_the_rest_has_arrived() -> None:
    text = json.dumps({"items": [{"number": each} for each in range(2 * PAGE)]})
    arrived: list[int] = []

    def arriving() -> Iterator[bytes]:
        for number, piece in enumerate(in_pieces(text, 100)):
            arrived.append(number)
            yield piece

    pages = ListInPieces(arriving(), "items").pages()
    assert len(next(pages)) == FIRST
    assert len(arrived) < 30
    assert [len(each) for each in pages] == [PAGE, PAGE - FIRST]


def test_an_empty_list_has_no_pages() -> None:
    assert read('{"items": [], "a": 1}') == {"items": [], "a": 1}


@pytest.mark.parametrize(
    ("text", "is_an_object"),
    [
        ("", False),
        ("no", False),
        ("[]", False),
        ('[{"items": []}]', False),
        ("{}", True),
        ('{"items": null}', True),
        ('{"items": {"a": 1}}', True),
        ('{"more": {"items": [{}]}}', True),
        ('{"items": [1]}', True),
        ('{"items": [{}, "a"]}', True),
        ('{"items": [{}', False),
        ('{"items": [{"a":', False),
        ('{"items": [{"a": nothing}]}', False),
        ('{"items": [{}]', False),
        ('{"items": [{}]} more', False),
        ('{"items": [' + '{"a":' * 100_000, False),
    ],
)
def test_what_is_no_such_list_is_told_as_what_it_is(text: str, *, is_an_object: bool) -> None:
    with pytest.raises(NoListError) as failed:
        read(text, 50_000)
    assert failed.value.is_an_object == is_an_object


def test_bytes_that_are_no_text_are_no_list() -> None:
    with pytest.raises(NoListError):
        list(ListInPieces(iter([b'{"items": [{"a": "\xff"}]}']), "items").pages())


def test_a_row_without_an_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MOST_PENDING", 1000)
    taken: list[bytes] = []

    def endless() -> Iterator[bytes]:
        yield b'{"items": [{"a": "'
        while True:
            taken.append(b"x" * 100)
            yield taken[-1]

    with pytest.raises(NoListError):
        list(ListInPieces(endless(), "items").pages())
    assert len(taken) < 20


def test_rows_that_are_there_already_come_in_pages_too() -> None:
    assert [len(each) for each in in_pages([{}] * (PAGE + 1))] == [PAGE, 1]
    assert list(in_pages([])) == []
