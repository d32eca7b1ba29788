"""Thresholds of eviction: an amount that should stay free, or a share of all there is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from manifests.quantities import amount, is_quantity

_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%")


class Threshold(NamedTuple):
    """What should stay free. Either ``amount`` counts or, if there is none, ``share``."""

    amount: int | None = None
    share: float = 0.0
    """From 0 to 1."""

    def of(self, total: int | None) -> int:
        """Return the amount that should stay free of ``total``; a share of what is unknown is nothing."""
        return int((total or 0) * self.share) if self.amount is None else self.amount


NO_THRESHOLD: Final = Threshold()
"""Nothing needs to stay free."""

MEMORY_FREE: Final = "memory.available"
STORAGE_FREE: Final = "nodefs.available"
INODES_FREE: Final = "nodefs.inodesFree"
PIDS_FREE: Final = "pid.available"

Thresholds: TypeAlias = Mapping[str, Threshold]
"""What should stay free, by the names that kubelets have for it."""

DEFAULT_THRESHOLDS: Final[Thresholds] = {
    MEMORY_FREE: Threshold(amount=100 * 2**20),
    STORAGE_FREE: Threshold(share=0.10),
    INODES_FREE: Threshold(share=0.05),
    # A guess: a kubelet has no default for process IDs. Few systems recover once these are gone.
    PIDS_FREE: Threshold(share=0.05),
}
"""A kubelet's defaults for hard eviction."""


def parse_threshold(text: str) -> Threshold:
    """Return what ``100Mi`` or ``10%`` means. Raises ``ValueError`` with the end of a sentence."""
    share = _SHARE.fullmatch(text)
    if share is not None and float(share[1]) <= 100:
        return Threshold(share=float(share[1]) / 100)
    if is_quantity(text) and amount(text) >= 0:
        return Threshold(amount=int(amount(text)))
    raise ValueError("should be an amount such as 100Mi or a share such as 10%")
