"""Lists the rules of a kubelet that no test is marked with: ``make rules``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from tools.mutants import ROOT

PAGE: Final = "docs/kubelet-rules.md"


def rules(page: str) -> dict[str, str]:
    """Return the rules of the page by their marks, each with what a kubelet does."""
    rows = re.findall(r"^\| ([A-Z]\d+(?:(?:, |-)[A-Z]\d+)*) \| ([^|]+) \|", page, re.MULTILINE)
    return {mark: says.strip() for marks, says in rows for mark in _each(marks)}


def _each(marks: str) -> Iterator[str]:
    """Yield the marks of a row: of ``P13, P15-P17`` four."""
    for part in marks.split(", "):
        first, _, last = part.partition("-")
        numbers = range(int(first[1:]), int((last or first)[1:]) + 1)
        yield from (f"{first[0]}{number}" for number in numbers)


def marked(text: str) -> Iterator[str]:
    """Yield the rules that the tests of a file are marked with: ``@pytest.mark.rule("P19")``."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
            yield from (ast.literal_eval(each) for each in node.args)


def proven(tests: Path) -> set[str]:
    """Return the rules that some test is marked with."""
    texts = (path.read_text("utf-8") for path in tests.rglob("test_*.py"))
    return {rule for text in texts if "mark.rule(" in text for rule in marked(text)}


@click.command(help=__doc__)
def main() -> None:
    """Print a line for each, and how many there are."""
    known, found = rules((ROOT / PAGE).read_text("utf-8")), proven(ROOT / "tests")
    for mark, says in known.items():
        if mark not in found:
            click.echo(f"{mark:5} {says}")
    click.echo(f"{len(found & known.keys())} of {len(known)} rules have a test that says so")


if __name__ == "__main__":
    main()
