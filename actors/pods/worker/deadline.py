"""How long a pod may be active: ``activeDeadlineSeconds``. A part of its worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.pods.lifecycle import active_deadline
from actors.pods.orders import DeadlineDue
from actors.pods.worker.parts import WorkerMemory
from kernel import Timer
from messages.statuses import PodFailure
from messages.units import Seconds, Timestamp

OVERDUE: Final = PodFailure(
    reason="DeadlineExceeded",
    message="Pod was active on the node longer than the specified deadline",
)
"""The failure of a pod that was active for longer than ``activeDeadlineSeconds``."""

_LONGEST_TIMER: Final = Seconds(86_400.0)
"""A deadline that is further away is looked at once a day: absurd numbers are no timers."""


class WorkerDeadline:
    """Watches the deadline of one pod, for one life of its worker."""

    def __init__(
        self, memory: WorkerMemory, after: Callable[[Seconds, DeadlineDue], Timer]
    ) -> None:
        self._memory = memory
        self._after = after
        self._timer: Timer | None = None

    def is_over(self, now: Timestamp) -> bool:
        """Return whether the pod was active for as long as it may be; else look again when that is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        limit, status = active_deadline(self._memory.wish.pod.document), self._memory.status
        if limit is None or status is None or status.start_time is None:
            return False
        left = status.start_time + limit - now
        if left > 0:
            self._timer = self._after(Seconds(min(left, _LONGEST_TIMER)), DeadlineDue())
        return left <= 0
