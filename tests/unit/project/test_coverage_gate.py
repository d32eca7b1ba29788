"""The Makefile's gate for pure modules names all of them, wherever they live."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch

import pytest

from tests.support.project.checkout import ROOT, modules

PURE = re.compile(r"\bPure\b[.,:;]|\bPure functions\b")


def patterns() -> list[str]:
    found = re.search(r"^PURE := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    return found[1].replace("\\\n", " ").split()


def test_every_module_that_says_it_is_pure_is_gated() -> None:
    gated = patterns()
    told = {path: ast.get_docstring(module) or "" for path, module in modules().items()}
    pure = [path for path, text in told.items() if PURE.search(text)]
    assert pure
    assert [path for path in pure if not any(fnmatch(path, each) for each in gated)] == []


@pytest.mark.parametrize("pattern", patterns())
def test_every_gate_has_a_module_behind_it(pattern: str) -> None:
    assert any(fnmatch(path, pattern) for path in modules())
