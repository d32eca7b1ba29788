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


class Patience(Generic[E]):
    """Counts the failures of each errand in a row, and knows which of them wait.

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

    def waits(self, errand: E) -> bool:
        """Return whether it is too early for ``errand``."""
        return errand in self._waiting

    def failed(self, errand: E) -> int:
        """Count a failure; return how many there were in a row."""
        self._failures[errand] += 1
        return self._failures[errand]

    def show(self, errand: E, failure: ApiFailure) -> None:
        """Log a failure, unless one of its kind was the last that was logged.

        What is wrong with the credentials is said by who sends all calls.
        """
        log = self._log.debug
        if failure.kind not in {FailureKind.CREDENTIALS, self._shown.get(errand)}:
            log, self._shown[errand] = self._log.warning, failure.kind
        log(f"cannot {errand.value}", reason=failure.sentence)

    def wait(self, errand: E, failure: ApiFailure) -> None:
        """Have ``errand`` wait, the longer the more often it failed, and as long as the server wishes."""
        wish = failure.retry_after or Seconds(0.0)
        delay = max(wish, RETRIES.delay(max(1, self._failures[errand])))
        self.wait_for(errand, delay if self._longest is None else min(delay, self._longest))

    def wait_for(self, errand: E, delay: Seconds) -> None:
        """Have ``errand`` wait for ``delay``."""
        self.resume(errand)
        self._waiting[errand] = self._after(delay, errand)

    def resume(self, errand: E) -> None:
        """Let ``errand`` wait no more."""
        timer = self._waiting.pop(errand, None)
        if timer is not None:
            timer.cancel()

    def give_up(self, errand: E) -> None:
        """Forget how often ``errand`` failed: what comes next is another attempt."""
        self._failures.pop(errand, None)

    def succeeded(self, errand: E) -> None:
        """Forget the failures of ``errand``, and show that they are over."""
        self.give_up(errand)
        self.resume(errand)
        if self._shown.pop(errand, None) is not None:
            self._log.info(f"can {errand.value} again")
