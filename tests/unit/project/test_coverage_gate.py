"""The Makefile's gate for pure modules names all of them, wherever they live."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROOMS = ("actors", "agent", "files", "kernel", "kube", "manifests", "messages", "server", "settings",
         "sources", "stores")  # fmt: skip
PURE = re.compile(r"\bPure\b[.,:;]|\bPure functions\b")


def patterns() -> list[str]:
    found = re.search(r"^PURE := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    return found[1].replace("\\\n", " ").split()


def modules() -> dict[str, str]:
    """Return the docstring of every module of the product, by its path."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return {
        path.relative_to(ROOT).as_posix(): ast.get_docstring(ast.parse(path.read_bytes())) or ""
        for path in paths
        if path.name != "__init__.py"
    }


def test_every_module_that_says_it_is_pure_is_gated() -> None:
    gated = patterns()
    pure = [path for path, text in modules().items() if PURE.search(text)]
    assert pure
    assert [path for path in pure if not any(fnmatch(path, each) for each in gated)] == []


@pytest.mark.parametrize("pattern", patterns())
def test_every_gate_has_a_module_behind_it(pattern: str) -> None:
    assert any(fnmatch(path, pattern) for path in modules())
