"""This checkout, as the tests of the project read it."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[3]
TOOL: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
CONTRACTS: Final[list[dict[str, Any]]] = TOOL["importlinter"]["contracts"]
NO_ROOMS: Final = {"benchmarks", "examples", "tests", "tools"}
"""Folders with code that is not of the product."""


def code(root: Path = ROOT) -> set[Path]:
    """Return all modules of a checkout, relative to it. What stands in hidden folders is none of it."""
    folders = [path for path in root.iterdir() if path.is_dir() and path.name[0] != "."]
    modules = [*root.glob("*.py"), *(each for folder in folders for each in folder.rglob("*.py"))]
    return {path.relative_to(root) for path in modules}


def rooms(root: Path = ROOT) -> set[str]:
    """Return the top-level folders with code of the product, whether they are packages or not."""
    return {path.parts[0] for path in code(root) if len(path.parts) > 1} - NO_ROOMS


def product() -> list[Path]:
    """Return all modules of the rooms, relative to the checkout."""
    return sorted(path for path in code() if len(path.parts) > 1 and path.parts[0] not in NO_ROOMS)


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax of each module of the rooms, by its path; packages' own modules are left out."""
    return {
        path.as_posix(): ast.parse((ROOT / path).read_bytes())
        for path in product()
        if path.name != "__init__.py"
    }
