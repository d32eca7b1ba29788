"""Steps that are counted, and a crash after one of them."""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import override

from kernel import Steps


class Schedule(Steps):
    """Calls ``crash`` after the step ``crash_at``; never if that is 0."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.taken = 0
        self.crash_at = 0
        self.crash: Callable[[], None] = lambda: None

    @override
    def step(self) -> bool:
        if not super().step():
            return False
        self.taken += 1
        if self.taken == self.crash_at:
            self.crash()
        return True
