"""Versions of the API's objects: what ``metadata.resourceVersion`` says, and which of two is older.

Versions that are numbers are compared as numbers, which the API allows. Other texts count as 0: older than
every number, and as old as each other (rule T7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from messages.pods import JsonObject

_LARGEST: Final = 2**64 - 1
_MOST_DIGITS: Final = len(str(_LARGEST))


def resource_version(document: JsonObject) -> str:
    """Return the ``metadata.resourceVersion`` of ``document``; empty if there is none."""
    metadata = document.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
    return version if isinstance(version, str) else ""


def version_number(version: str) -> int:
    """Return the number that ``version`` is; 0 if it is no number, or needs more than 64 bits."""
    # No more digits than 64 bits need: more would cost time and have no meaning.
    if not (version.isascii() and version.isdigit() and len(version) <= _MOST_DIGITS):
        return 0
    number = int(version)
    return number if number <= _LARGEST else 0


def is_older(version: str, than: str) -> bool:
    """Return whether ``version`` is older than ``than``."""
    return version_number(version) < version_number(than)
