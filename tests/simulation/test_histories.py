"""Whatever happens to a node, it keeps its promises meanwhile, and comes to rest afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.simulation.history import History

SEEDS: Final = range(1, 17)
"""Those of each run of the tests. ``make simulate`` has others."""
FAILED_ONCE: Final = Path(__file__).with_name("seeds.txt")


def seeds() -> Iterator[int]:
    """Yield the seeds that failed once, each of which a comment explains, and a few more."""
    for line in FAILED_ONCE.read_text("utf-8").splitlines():
        if seed := line.partition("#")[0].strip():
            yield int(seed)
    yield from SEEDS


@pytest.mark.parametrize("seed", dict.fromkeys(seeds()))
def test_a_node_keeps_its_promises_whatever_happens_and_comes_to_rest_afterwards(seed: int) -> None:
    history = History.of(seed)
    broken = history.broken()
    assert not broken, "\n".join((f"make simulate ARGS='{seed} {seed}'", *history.lines(), *broken))
