"""Whatever happens to a node, it keeps its promises meanwhile, and comes to rest afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.environment.node import USUAL
from tests.simulation.history import History
from tests.simulation.shortening import shortened
from tests.simulation.telling import again

SEEDS: Final = {"cri": range(1, 17), "hollow": range(1, 13), "provider": range(1, 13)}
"""Those of each run of the tests, by what runs the pods. ``make simulate`` has others."""
RESTARTS_ACTORS: Final = 11
"""A seed in which supervisors wait, by chance longer or shorter, before they start actors again."""
FAILED_ONCE: Final = Path(__file__).with_name("seeds.txt")


def seeds() -> Iterator[tuple[str, int]]:
    """Yield the seeds that failed once, each of which a comment explains, and a few more."""
    for line in FAILED_ONCE.read_text("utf-8").splitlines():
        if said := line.partition("#")[0].split():
            yield said[0], int(said[1])
    for runtime, few in SEEDS.items():
        yield from ((runtime, seed) for seed in few)


@pytest.mark.parametrize(("runtime", "seed"), dict.fromkeys(seeds()))
def test_a_node_keeps_its_promises_whatever_happens_and_comes_to_rest_afterwards(
    runtime: str, seed: int
) -> None:
    history = History.of(seed, runtime)
    broken = history.broken()
    assert not broken, "\n".join((again(runtime, seed), *history.lines(), *broken))


def test_a_history_is_the_same_in_each_process_so_that_a_seed_can_be_told_again() -> None:
    told = {_digest_in_a_process_with(hash_seed) for hash_seed in ("1", "2")}
    assert len(told) == 1


def _digest_in_a_process_with(hash_seed: str) -> str:
    program = (
        "from tests.simulation.history import History\n"
        "from tests.simulation.telling import quiet\n"
        "quiet()\n"
        f"print(History.of({RESTARTS_ACTORS}).told().digest)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


def test_of_a_broken_history_the_shortest_is_found_without_pauses_and_bounds_it_does_not_need() -> (
    None
):
    whole = History.of(1)
    needed = whole.events[7], whole.events[31]

    def is_broken(history: History) -> bool:
        kinds = {(each.kind, each.luck) for each in history.events}
        return {(each.kind, each.luck) for each in needed} <= kinds

    shortest = shortened(whole, is_broken)
    assert [(each.luck, each.pause) for each in shortest.events] == [
        (each.luck, 0.0) for each in needed
    ]
    assert shortest.bounds == USUAL
