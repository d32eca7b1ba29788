"""Snapshots of what there is, one after the other, in which what did not change is the identical object."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_


def same_objects(some: Sequence[object], others: Sequence[object]) -> bool:
    """Return whether both hold the identical objects in the same order. Compares no content."""
    return some is others or (len(some) == len(others) and all(map(is_, some, others)))
