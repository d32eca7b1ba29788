"""What the tables are written with."""

from __future__ import annotations

from typing import Any, TypeAlias

Refused: TypeAlias = tuple[str, Any, str]
"""A path, the value to put there, and the sentence that is told."""
Taken: TypeAlias = tuple[str, Any]
"""A path, and the value to put there."""

C = "spec.containers.0"
"""The path of the only container."""
CONTAINER: dict[str, Any] = {"name": "server", "image": "server"}
HTTP: dict[str, Any] = {"httpGet": {"port": 80}}


def rows(table: list[tuple[dict[str, Any], str]]) -> list[tuple[dict[str, Any], str]]:
    """Return ``table``: only says its type."""
    return table


def maps(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ``table``: only says its type."""
    return table
