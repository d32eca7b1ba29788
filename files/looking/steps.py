"""Work in steps: a generator that stops wherever it may be interrupted, and returns its result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

R = TypeVar("R")

Steps: TypeAlias = Generator[None, None, R]


def result_of(steps: Steps[R]) -> R:
    """Return the result of ``steps``, all of which are taken at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: R = end.value
            return result
