"""One name for one thing, in words of the field: unique names of public classes, and no retired words."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.support.project.checkout import modules


def public_classes() -> dict[str, list[str]]:
    """Return the modules of each public class."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, module in modules().items():
        for each in module.body:
            if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
                found[each.name].append(path)
    return found


def test_the_name_of_a_public_class_is_unique() -> None:
    classes = public_classes()
    assert len(classes) > 100
    assert {name: paths for name, paths in classes.items() if len(paths) > 1} == {}


RETIRED = frozenset(
    [
        "agenda",
        "audience",
        "bell",
        "clerk",
        "course",
        "courses",
        "crew",
        "desk",
        "errand",
        "ledger",
        "rim",
        "roster",
        "rounds",
        "sayings",
        "standing",
        "surroundings",
        "teller",
    ]
)
"""Words that the field does not use. Each of them had a name of Kubernetes, Linux, OTP or Akka instead."""


def words_of(name: str) -> set[str]:
    """Return the words that a name is made of."""
    return {each.lower() for each in re.findall(r"[A-Z]?[a-z]+", name)}


def names_of(path: str, module: ast.Module) -> set[str]:
    """Return the names of a module, its classes and its functions."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {Path(path).stem, *(each.name for each in ast.walk(module) if isinstance(each, kinds))}


def test_no_file_class_or_function_has_a_retired_word_in_its_name() -> None:
    names = {(path, name) for path, module in modules().items() for name in names_of(path, module)}
    assert {(path, name) for path, name in names if words_of(name) & RETIRED} == set()


def test_a_retired_word_is_found_in_any_part_of_a_name() -> None:
    found = names_of(
        "actors/pods/call_desk.py", ast.parse("class PodRoster:\n def rounds_of(): ...")
    )
    assert found == {"call_desk", "PodRoster", "rounds_of"}
    assert all(words_of(each) & RETIRED for each in found)
