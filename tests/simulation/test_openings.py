"""Short stories of things that happen, in which actors crash again and again: a node keeps its promises."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation.history import History
from tests.simulation.openings import tellable

SEEDS: Final = range(1, 2)
"""Those of each opening, with each runtime that can tell it."""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("runtime", "opening"), list(tellable()))
def test_a_node_keeps_its_promises_whoever_crashes_wherever_and_comes_to_rest_afterwards(
    runtime: str, opening: str, seed: int
) -> None:
    history = History.opened_by(opening, seed, runtime)
    broken = history.broken()
    assert not broken, "\n".join((*history.lines(), *broken))
