"""When the interpreter looks for cycles of garbage. Everything stops meanwhile.

Pods are trees of thousands of dictionaries without cycles, and so is nearly all else. With the interpreter's
default thresholds, a large merge spends half of its time in looking for cycles. To look at 100,000 objects
takes 30 ms, and at a million half a second (measured).
"""

from __future__ import annotations

import gc
from typing import Final, TypeAlias

Thresholds: TypeAlias = tuple[int, int, int]

WHILE_STARTING: Final[Thresholds] = (50_000, 1_000, 1_000)
"""What is made while the agent starts stays: it is looked at once when it is new, and again when all has
settled. To look once more in between would take 0.15 s for 5,000 watched objects (measured)."""
ONCE_SETTLED: Final[Thresholds] = (25_000, 3, 1_000)
"""A look is at 100,000 objects at most."""


def start() -> None:
    """Exclude what was imported, and expect much that stays."""
    gc.freeze()
    gc.set_threshold(*WHILE_STARTING)


def settle() -> None:
    """Exclude all objects that exist by now from collections, which find nothing among them.

    With thousands of watched objects a full collection stopped all actors for 91 ms, and under load for up to
    half a second. After this it takes no time (measured).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*ONCE_SETTLED)
