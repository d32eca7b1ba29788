"""Retries: how long each failed operation waits, and what the log says of it.

A failure that repeats is one line in the log; the end of it is another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

import structlog

from actors.node.rules import RETRIES
from kernel import Timer
from messages.api import ApiFailure, FailureKind
from messages.units import Seconds

E = TypeVar("E", bound=StrEnum)


class OperationRetries(Generic[E]):
    """Counts consecutive failures of each operation, and knows which operations wait.

    ``after`` sets a timer at whose end the caller calls ``resume``. ``longest`` limits the wait after a
    failure, whatever the server asks for. ``log_name`` is the logger's.
    """

    def __init__(
        self, after: Callable[[Seconds, E], Timer], log_name: str, longest: Seconds | None = None
    ) -> None:
        self._after = after
        self._longest = longest
        self._log = structlog.get_logger(log_name)
        self._failures: Counter[E] = Counter()
        self._waiting: dict[E, Timer] = {}
        self._shown: dict[E, FailureKind] = {}

    def waits(self, operation: E) -> bool:
        """Return whether it is too early for ``operation``."""
        return operation in self._waiting

    def failed(self, operation: E) -> int:
        """Count a failure. Return how many there were in a row."""
        self._failures[operation] += 1
        return self._failures[operation]

    def show(self, operation: E, failure: ApiFailure) -> None:
        """Log a failure as a warning, or for debugging only if the last one was of the same kind.

        Failures of credentials are not warned of here: the sender of all calls does that.
        """
        log = self._log.debug
        if failure.kind not in {FailureKind.CREDENTIALS, self._shown.get(operation)}:
            log, self._shown[operation] = self._log.warning, failure.kind
        log(f"cannot {operation.value}", reason=failure.sentence)

    def wait(self, operation: E, failure: ApiFailure) -> None:
        """Let ``operation`` wait: longer after each failure, and at least as long as the server asks for."""
        wish = failure.retry_after or Seconds(0.0)
        delay = max(wish, RETRIES.delay(max(1, self._failures[operation])))
        self.wait_for(operation, delay if self._longest is None else min(delay, self._longest))

    def wait_for(self, operation: E, delay: Seconds) -> None:
        """Let ``operation`` wait for ``delay``, instead of any wait before."""
        self.resume(operation)
        self._waiting[operation] = self._after(delay, operation)

    def resume(self, operation: E) -> None:
        """End the wait of ``operation``."""
        timer = self._waiting.pop(operation, None)
        if timer is not None:
            timer.cancel()

    def give_up(self, operation: E) -> None:
        """Forget how often ``operation`` failed. Its next attempt counts as the first."""
        self._failures.pop(operation, None)

    def succeeded(self, operation: E) -> None:
        """Forget the failures of ``operation``, end its wait, and log the end of a logged failure."""
        self.give_up(operation)
        self.resume(operation)
        if self._shown.pop(operation, None) is not None:
            self._log.info(f"can {operation.value} again")
