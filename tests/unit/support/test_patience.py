"""Tests that wait for a process, a server or a thread wait longer where the machine is slow."""

from __future__ import annotations

import re

import pytest

from tests.support.patience import MOST, USUAL, slowness_of
from tests.support.project.checkout import ROOT


@pytest.mark.parametrize(
    ("took", "slowness"),
    [(0.0, 1.0), (USUAL, 1.0), (2 * USUAL, 2.0), (MOST * USUAL, MOST), (1000.0, MOST)],
)
def test_patience_grows_with_what_the_turns_of_a_loop_take_and_has_an_end(
    took: float, slowness: float
) -> None:
    assert slowness_of(took) == slowness


def test_there_is_one_patience() -> None:
    own = re.compile(r"^\w*PATIENC[E](: Final)? = [0-9]", re.MULTILINE)
    found = [path.name for path in (ROOT / "tests").rglob("*.py") if own.search(path.read_text())]
    assert found == ["patience.py"]
