"""Which version of the agent this is."""

from __future__ import annotations

import tomllib
from pathlib import Path


def version() -> str:
    """Return the version in ``pyproject.toml``: the agent runs from its checkout, so there is no other."""
    project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
    return str(project["project"]["version"])
