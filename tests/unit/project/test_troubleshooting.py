"""The page on troubleshooting quotes what the agent and its command really say."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.support.project.checkout import ROOT, product

PAGE = (ROOT / "docs/troubleshooting.md").read_text()
HEADINGS = re.findall(r"^### (.+)$", PAGE, flags=re.MULTILINE)
OF_THE_PAGE = {
    "A liveness probe failed": " probe failed",
    "A hook failed": "PostStartHook",
    "Init:0/1": "Init:",
    "OutOfcpu": "OutOf",
    "Running but not ready": " runs, but its ",
    "The directory does not exist": "does not exist",
    "another agent uses": "another agent",
    "did not answer within 2 s": " did not answer ",
    "it is no agent": "it is no agent, or of ",
    "or of another version": "another version",
    "kubeconfig cannot be read": " cannot be read: ",
    "so it is left alone": "so it is left alone",
    "static pods may not reference": "static pods may not reference ",
    "the Node exists": " exists and has no label ",
}
"""What is said where a heading shortens it, or where the code puts it together."""
OF_OTHERS = {"No such option", "Permission denied", "connection refused"}
"""Sentences of click, the kernel and the HTTP client."""


@cache
def said() -> str:
    """Return all texts in the code of the product but docstrings, each in a line."""
    nodes = [node for path in product() for node in ast.walk(ast.parse((ROOT / path).read_text()))]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return "\n".join(
        node.value
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    )


@pytest.mark.parametrize("heading", HEADINGS)
def test_what_readers_look_for_is_what_the_code_says(heading: str) -> None:
    for part in heading.split(", "):
        if part not in OF_OTHERS:
            assert OF_THE_PAGE.get(part, part) in said(), part


def test_there_are_many_symptoms_and_the_table_leads_to_each() -> None:
    table, _, _ = PAGE.partition("\n## ")
    anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in HEADINGS}
    assert len(HEADINGS) >= 20
    assert anchors - set(re.findall(r"\(#([^)]+)\)", table)) == set()


def test_each_symptom_says_what_it_means_and_what_to_do() -> None:
    entries = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    lacking = [
        entry.partition("\n")[0]
        for entry in entries
        if "**It means:**" not in entry or "**Do:**" not in entry
    ]
    assert lacking == []


def test_each_example_of_a_trouble_is_on_the_page_or_in_the_list_of_examples() -> None:
    text = PAGE + (ROOT / "examples/README.md").read_text()
    examples = [path.stem for path in ROOT.glob("examples/troubles/*.yaml")]
    assert [name for name in examples if name not in text] == []
