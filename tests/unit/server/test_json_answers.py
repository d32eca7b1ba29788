"""How documents are written in pieces."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from server.json_answers import compact

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
