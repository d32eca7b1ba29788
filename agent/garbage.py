"""When the interpreter looks for cycles of garbage. All actors stop meanwhile, so no look may be long.

Pods are trees of thousands of dictionaries without cycles, and so is nearly all else. With the interpreter's
default thresholds, a large merge spends half of its time in looking for cycles. A look at 25,000 new objects
takes 15 to 40 ms, and one at the 420,000 of an agent with 5,000 watched objects 330 ms (measured).
"""

from __future__ import annotations

import gc
from typing import Final, TypeAlias

Thresholds: TypeAlias = tuple[int, int, int]

WHILE_STARTING: Final[Thresholds] = (10_000, 1_000_000, 1_000)
"""What is made while the agent starts stays: each object is looked at once, when it is new."""
ONCE_SETTLED: Final[Thresholds] = (5_000, 2, 3_000)
"""A look is at 15,000 objects at most. One at all that came since the agent settled comes once in 30 million
more objects made than let go."""


def start() -> None:
    """Exclude what was imported, and expect much that stays."""
    gc.freeze()
    gc.set_threshold(*WHILE_STARTING)


def settle() -> None:
    """Exclude all objects that exist by now from later looks, without a look at them.

    A look at all of them found no cycle to let go, and stopped all actors for 0.3 s, or 1.5 s on a busy
    machine (measured, with 5,000 watched objects).
    """
    gc.freeze()
    gc.set_threshold(*ONCE_SETTLED)
