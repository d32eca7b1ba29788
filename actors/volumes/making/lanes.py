"""Lanes for the work that makes and writes volumes."""

from __future__ import annotations

from typing import Final

from actors.volumes.making.jobs import VolumeLane, VolumeLanes
from kernel import Lanes, LaneSize

MOST_GIVEN_UP: Final = 32
"""Threads of one lane more, while as many hang. With more of them the machine has other troubles."""
SIZES: Final = {
    VolumeLane.MEMORY: LaneSize(1, MOST_GIVEN_UP),
    VolumeLane.DISK: LaneSize(2, MOST_GIVEN_UP),
    VolumeLane.NODE: LaneSize(16, MOST_GIVEN_UP),
    VolumeLane.REMOVALS: LaneSize(2, MOST_GIVEN_UP),
}
"""On file systems in memory two threads gained nothing and four lost; on a disk two gained a quarter
(measured)."""


def volume_lanes() -> VolumeLanes:
    """Return lanes with threads of their own, which begin as they are needed."""
    return Lanes("volumes", SIZES)
