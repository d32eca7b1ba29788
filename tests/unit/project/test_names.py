"""One name for one thing: no two public classes of the product have the same."""

from __future__ import annotations

import ast
from collections import defaultdict

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
