"""Documents as JSON and YAML: what reads them gets back what was written."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from command.written import as_json, as_yaml, list_as_json, list_as_yaml
from tests.support.command.agents import body

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner),
    max_leaves=15,
)
PARTS = st.dictionaries(st.text(max_size=20), DOCUMENTS, max_size=3)


@given(DOCUMENTS)
def test_any_document_is_written_as_json_has_it(document: Any) -> None:
    assert "".join(as_json(document)) == json.dumps(document, indent=2) + "\n"


@given(DOCUMENTS)
def test_any_document_can_be_read_back_from_yaml(document: Any) -> None:
    assert yaml.safe_load("".join(as_yaml(document))) == document


@given(head=PARTS, rows=st.lists(DOCUMENTS, max_size=4), rest=PARTS)
def test_a_list_is_written_as_the_document_that_it_is_in(
    head: dict[str, Any], rows: list[Any], rest: dict[str, Any]
) -> None:
    rest = {key: each for key, each in rest.items() if key not in head}
    document = {**head, "items of it": rows, **rest}
    as_text = "".join(list_as_json(head, "items of it", rows, lambda: rest))
    assert as_text == json.dumps(document, indent=2) + "\n"
    text = "".join(list_as_yaml(head, "items of it", rows, lambda: rest))
    assert yaml.safe_load(text) == document


@pytest.mark.parametrize("name", ["pods", "sourcez", "watchz", "actorz", "probez"])
def test_what_agents_say_can_be_read_back(name: str) -> None:
    assert yaml.safe_load("".join(as_yaml(body(name)))) == body(name)


@pytest.mark.parametrize(
    "said",
    [
        *(
            "yes",
            "No",
            "null",
            "~",
            "1e3",
            "0x1f",
            "1_000",
            "12:30:45",
            "2026-11-22",
            ".5",
            "=",
            "<<",
        ),
        *(
            "a: b",
            "a #b",
            "- a",
            " a",
            "a ",
            "a:",
            "'",
            '"',
            "\\",
            "a\nb",
            "\x85\u2028\ufeff",
            "\ud800",
        ),
        *("key" * 1000, "世界" * 400, "!tag", "&a", "*a", "%a", "@a", "`a", "{a", "[a", "|", ">"),
    ],
)
def test_a_text_stays_a_text_wherever_it_stands(said: str) -> None:
    document = {said: [said, {"in": said, said: {said: [said]}}], "alone": said}
    assert yaml.safe_load("".join(as_yaml(document))) == document
    assert yaml.safe_load("".join(as_yaml(said))) == said


@pytest.mark.parametrize(("value", "text"), [(1e400, ".inf\n"), (-1e400, "-.inf\n")])
def test_numbers_that_json_has_not_are_those_of_yaml(value: float, text: str) -> None:
    assert "".join(as_yaml(value)) == text


def test_pods_look_as_people_know_them() -> None:
    pod = {
        "metadata": {"name": "web", "labels": {}},
        "spec": {"containers": [{"name": "a", "args": ["1"]}]},
    }
    assert "".join(as_yaml(pod)) == (
        "metadata:\n  name: web\n  labels: {}\n"
        "spec:\n  containers:\n  - name: a\n    args:\n    - '1'\n"
    )
