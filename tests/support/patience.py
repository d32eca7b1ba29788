"""How long tests wait for what should come, wherever they wait: ``PATIENCE`` and no other number.

Only a failing test waits this long. On a machine that is slow, or does much else, it is longer: that is
measured once, when a process of the tests begins.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

TURNS: Final = 1000
USUAL: Final = 0.25
"""Seconds that so many turns take on two idle cores of the year 2024, and some more."""
MOST: Final = 8.0


def _turns() -> float:
    """Return how many seconds a loop takes that many times to give something to a thread and have it back."""

    async def turns() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(TURNS):
            await loop.run_in_executor(None, int)

    began = time.perf_counter()
    asyncio.run(turns())
    return time.perf_counter() - began


def slowness_of(took: float) -> float:
    """Return how much slower the machine is where the turns took so many seconds: 1 to 8."""
    return min(MOST, max(1.0, took / USUAL))


SLOWNESS: Final = slowness_of(_turns())
PATIENCE: Final = 60.0 * SLOWNESS
"""Seconds until what should come is missed."""
TEST_LIMIT: Final = 2 * PATIENCE
"""Seconds that a test may take which says nothing else."""
