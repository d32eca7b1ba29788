"""Lists in JSON are taken apart by text, and everything about them is told as of a document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.reading.decoding import read_document
from manifests.reading.document import MAX_BYTES, DocumentError
from manifests.reading.json_lists import JsonList, take_apart

SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def apart(text: str, most: int = 100) -> JsonList:
    listed = take_apart(text, most)
    assert listed is not None
    return listed


def sentence(text: str, most: int = 100) -> str:
    with pytest.raises(DocumentError) as caught:
        take_apart(text, most)
    return caught.value.sentence


@given(
    items=st.lists(VALUES, max_size=5),
    others=st.dictionaries(
        st.text(max_size=5).filter(lambda key: key != "items"), VALUES, max_size=3
    ),
    indent=st.sampled_from((None, 0, 2)),
    is_ascii=st.booleans(),
)
def test_items_and_the_rest_are_what_the_whole_text_says(
    items: list[Any], others: dict[str, Any], indent: int | None, *, is_ascii: bool
) -> None:
    text = json.dumps({**others, "items": items}, indent=indent, ensure_ascii=is_ascii)
    listed = apart(text)
    assert listed.rest.value == {**others, "items": []}
    assert [listed.read(item).value for item in listed.items] == items
    assert [json.loads(listed.text_of(item)) for item in listed.items] == items
    for item in listed.items:
        assert item.line == text.count("\n", 0, item.begin) + 1


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"items": null}',
        '{"items": {}}',
        '{"kind": "Pod"}',
        "[]",
        "5",
        '{"spec": {"items": []}}',
    ],
)
def test_what_has_no_list_of_items_is_not_taken_apart(text: str) -> None:
    assert take_apart(text, 10) is None


def test_lines_are_those_of_the_whole_text() -> None:
    text = '{"kind":\n "PodList",\n "items": [\n {"a": 1},\n\n {"b":\n 2}\n], "after": 3}'
    listed = apart(text)
    first, second = map(listed.read, listed.items)
    assert first.line(("a",)) == 4
    assert second.line(("b",)) == 6
    assert second.line(()) == 6
    assert listed.rest.line(("kind",)) == 1
    assert listed.rest.line(("after",)) == 8


def test_of_two_lists_the_last_one_counts_with_a_warning() -> None:
    listed = apart('{"items": [1], "items": [2, 3]}')
    assert [listed.read(item).value for item in listed.items] == [2, 3]
    assert "stands here twice" in listed.rest.warnings[0].text


def test_a_key_that_stands_twice_in_an_item_is_told_with_its_lines() -> None:
    listed = apart('{"items": [\n{"a": 1,\n "a": 2}]}')
    (warning,) = listed.read(listed.items[0]).warnings
    assert warning.text.startswith("the key stands here twice; this one on line 3 counts")


@pytest.mark.parametrize(
    "text",
    [
        '{"items": [1, 2',
        '{"items": [1 2]}',
        '{"items": [1,]}',
        '{"items": [{"a": }]}',
        '{"items": [1]} more',
        '{"items": [1]',
        '{"items": [1], "b"}',
        '{"items": [1], }',
        '{"items": [\n\n1,\n{"a" 1}]}',
        '{"a": tru, "items": []}',
        '{"items": ["\t"]}',
    ],
)
def test_what_is_no_json_is_told_in_the_same_words_as_of_any_document(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(text.encode())
    assert sentence(text) == caught.value.sentence


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("NaN", "not JSON: NaN is no number"),
        ("1e999", "not JSON: a number is too large"),
        ("[" * 200 + "]" * 200, "nested more than 100 levels deep"),
        ("[" + "1," * 100_000 + "1]", "more than 100,000 values"),
        ('"' + "x" * MAX_BYTES + '"', "10 MiB or more"),
    ],
)
def test_an_item_has_the_limits_of_a_document(item: str, reason: str) -> None:
    listed = apart(f'{{"items": [{item}]}}')
    with pytest.raises(DocumentError) as caught:
        listed.read(listed.items[0])
    assert caught.value.sentence == reason


def test_numbers_longer_than_python_reads_do_no_harm() -> None:
    listed = apart('{"items": [' + "9" * 5000 + "]}")
    with pytest.raises(DocumentError):
        listed.read(listed.items[0])


def test_no_depth_does_harm() -> None:
    assert sentence('{"items": [' + "[" * 100_000) == "nested more than 100 levels deep"


def test_too_many_items_are_refused_before_they_are_counted() -> None:
    assert sentence('{"a": 1,\n"items": [1,2,3,4,', most=3) == (
        "items (line 2): must not be more than 3"
    )
    assert len(apart('{"items": [1,2,3]}', most=3).items) == 3


def test_what_stands_beside_the_items_has_the_limit_of_a_document() -> None:
    assert sentence('{"items": [], "a": "' + "x" * MAX_BYTES + '"}') == "10 MiB or more"
