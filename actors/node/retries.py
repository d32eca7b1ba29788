"""Trying again: who waits for how long, and what of it is in the log.

One failure of a kind is one line, however often it is repeated, and its end is another.
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
    """Counts the failures of each operation in a row, and knows which of them wait.

    ``after`` sets a timer that ends a wait: who set it calls ``resume`` then. Nothing that failed
    waits for more than ``longest``, whatever the server wishes.
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
        """Count a failure; return how many there were in a row."""
        self._failures[operation] += 1
        return self._failures[operation]

    def show(self, operation: E, failure: ApiFailure) -> None:
        """Log a failure, unless one of its kind was the last that was logged.

        What is wrong with the credentials is said by who sends all calls.
        """
        log = self._log.debug
        if failure.kind not in {FailureKind.CREDENTIALS, self._shown.get(operation)}:
            log, self._shown[operation] = self._log.warning, failure.kind
        log(f"cannot {operation.value}", reason=failure.sentence)

    def wait(self, operation: E, failure: ApiFailure) -> None:
        """Have ``operation`` wait, the longer the more often it failed, and as long as the server wishes."""
        wish = failure.retry_after or Seconds(0.0)
        delay = max(wish, RETRIES.delay(max(1, self._failures[operation])))
        self.wait_for(operation, delay if self._longest is None else min(delay, self._longest))

    def wait_for(self, operation: E, delay: Seconds) -> None:
        """Have ``operation`` wait for ``delay``."""
        self.resume(operation)
        self._waiting[operation] = self._after(delay, operation)

    def resume(self, operation: E) -> None:
        """Let ``operation`` wait no more."""
        timer = self._waiting.pop(operation, None)
        if timer is not None:
            timer.cancel()

    def give_up(self, operation: E) -> None:
        """Forget how often ``operation`` failed: what comes next is another attempt."""
        self._failures.pop(operation, None)

    def succeeded(self, operation: E) -> None:
        """Forget the failures of ``operation``, and show that they are over."""
        self.give_up(operation)
        self.resume(operation)
        if self._shown.pop(operation, None) is not None:
            self._log.info(f"can {operation.value} again")
