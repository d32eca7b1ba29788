"""What ``$(NAME)`` becomes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.environment.assembling import LONGEST_TEXT, expanded, without_value
from runtimes.environment.objects import UnusableEnvironmentError

VARIABLES = {"A": "1", "EMPTY": "", "A B": "2", "A(": "3", "": "4", "D": "$(A)$$"}


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("", ""),
        ("plain", "plain"),
        ("$(A)", "1"),
        ("a$(A)b$(A)c", "a1b1c"),
        ("$(EMPTY)", ""),
        ("$(B)", "$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$(A", "$(A"),
        ("$(A$$", "$(A$"),
        ("$(B) $(A", "$(B) $(A"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A B)", "2"),
        ("$(A()", "3"),
        ("$()", "4"),
        ("$(A$(A))", "$(A$(A))"),
        ("$($(A))", "$($(A))"),
        ("$(\n)", "$(\n)"),
        ("$(D)", "$(A)$$"),
        ("$$)$$", "$)$"),
    ],
)
def test_references_are_replaced_once_and_everything_else_stays(text: str, becomes: str) -> None:
    assert expanded(text, VARIABLES) == becomes


def model(text: str, variables: Mapping[str, str]) -> str:
    """Expand letter by letter, in the plainest way there is."""
    result, place = "", 0
    while place < len(text):
        rest = text[place:]
        if rest.startswith("$$"):
            result, place = result + "$", place + 2
        elif rest.startswith("$(") and ")" in rest:
            name = rest[2 : rest.index(")")]
            result += variables.get(name, f"$({name})")
            place += len(name) + 3
        else:
            result, place = result + text[place], place + 1
    return result


@given(
    st.text(st.sampled_from("$()AB")),
    st.dictionaries(st.text(st.sampled_from("$(AB"), max_size=2), st.text("$()A", max_size=3)),
)
def test_any_text_becomes_what_the_plain_model_makes_of_it(
    text: str, variables: dict[str, str]
) -> None:
    assert expanded(text, variables) == model(text, variables)


def test_a_text_that_becomes_too_long_is_refused_before_it_is_made() -> None:
    variables = {"A": "x" * LONGEST_TEXT}
    assert expanded("$(A)", variables) == "x" * LONGEST_TEXT
    with pytest.raises(UnusableEnvironmentError, match="longer than a process can be given"):
        expanded("$(A)" * 100_000, variables)


def test_a_text_of_beginnings_alone_is_read_once() -> None:
    text = "$(" * 500_000
    assert expanded(text, VARIABLES) == text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("plain", ()),
        ("$(A)/$(D)", ()),
        ("$(B)/$(A)/$(EMPTY)/$(B)", ("B", "EMPTY")),
        ("$$(B)", ()),
        ("$(B", ()),
    ],
)
def test_names_without_a_value_are_told_once_and_in_order(
    text: str, names: tuple[str, ...]
) -> None:
    assert without_value(text, VARIABLES) == names
