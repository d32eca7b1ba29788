"""Why a pod that has ended stays: volumes that cannot be taken away. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from server.reasons.known import PodCase, PodReason
from stores.statuses.conditions import VOLUMES_RELEASED

_OF_A_VOLUME: Final = re.compile(r'UnmountVolume\.TearDown failed for volume "([^"]*)" : ')
_ADVICE: Final = (
    "Have its driver unmount it, or do that yourself once nobody writes to it, and remove its directory: "
    "the pod goes then. docs/troubleshooting.md says how, under FailedUnmount"
)


def held(case: PodCase) -> Iterator[PodReason]:
    """Yield a reason for each volume for which the pod stays."""
    for condition in case.conditions:
        if condition.get("type") != VOLUMES_RELEASED or condition.get("status") != "False":
            continue
        before, *pieces = _OF_A_VOLUME.split(str(condition.get("message") or ""))
        if before := before.rstrip("; "):
            yield PodReason(
                f"It has ended, and its volumes cannot be taken away: {before}",
                "It is tried again, after pauses",
            )
        for volume, cause in zip(pieces[::2], pieces[1::2], strict=True):
            said = cause.rstrip("; ")
            yield PodReason(f"It has ended, and stays because of volume {volume}: {said}", _ADVICE)
