"""Pages with the last good contents of files: what comes back, and what is not taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from files.keeping.pages import (
    COUNT_LIMIT,
    PAGE_LIMIT,
    PAGES,
    Page,
    decoded,
    encoded,
    fitting,
    page_of,
)

PAGE = Page(path="/manifests", contents={"web.yaml": b"kind: Pod", "\udcff": b"\xff\xfe"})


@given(st.binary(max_size=200))
def test_every_content_comes_back_as_it_was(data: bytes) -> None:
    page = Page(path="/manifests", contents={"web.yaml": data})
    assert decoded(encoded(page)) == page


def test_names_and_contents_that_are_not_utf_8_come_back() -> None:
    assert decoded(encoded(PAGE)) == PAGE


def test_every_torn_page_is_known_as_torn() -> None:
    whole = encoded(PAGE)
    assert {decoded(whole[:length]) for length in range(len(whole))} == {None}


def test_a_page_with_any_byte_changed_is_not_taken() -> None:
    whole = encoded(PAGE)
    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        assert decoded(changed) is None


@pytest.mark.parametrize("foreign", [b"", b"\n", b"{}", b"kind: Pod\n", bytes(1000)])
def test_what_is_no_page_is_not_taken(foreign: bytes) -> None:
    assert decoded(foreign) is None


def test_a_page_of_a_later_version_is_not_taken() -> None:
    assert decoded(encoded(PAGE).replace(b"last-good 1", b"last-good 2")) is None


def test_no_repr_shows_what_is_on_a_page() -> None:
    assert "Pod" not in repr(PAGE)


def test_a_name_leads_to_the_same_page_in_every_process() -> None:
    assert page_of("web.yaml") == 14
    assert {page_of(f"{number}.yaml") for number in range(10_000)} == {*range(PAGES)}


def test_a_page_has_no_more_than_fits() -> None:
    large, small = bytes(PAGE_LIMIT - 10), b"kind: Pod"
    assert [*fitting({"a": large, "b": bytes(11), "c": small})] == ["a", "c"]
    assert len(fitting({f"{number}": b"" for number in range(COUNT_LIMIT + 1)})) == COUNT_LIMIT
