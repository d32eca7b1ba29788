"""Answers of the API server that still count, by what was asked. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from messages.units import Seconds

D = TypeVar("D")

MOST_DECISIONS: Final = 8192
"""As many are kept. Those go first that nobody has asked for for the longest time."""
STALE_FOR: Final = Seconds(15 * 60.0)
"""How long a decision that has expired may still count while the API server is away."""


def key_of(secret: bytes, question: bytes) -> bytes:
    """Return what stands for ``question``, which may be a token: nobody finds it by its key.

    ``secret`` is made anew by each process.
    """
    return hmac.digest(secret, question, hashlib.sha256)


@dataclass(frozen=True, slots=True)
class _Decision(Generic[D]):
    value: D
    until: Seconds


@dataclass(slots=True)
class Decisions(Generic[D]):
    """Decisions by their keys. There is one for each key, the last one, whether it still counts or not."""

    most: int = MOST_DECISIONS
    _kept: OrderedDict[bytes, _Decision[D]] = field(default_factory=OrderedDict, repr=False)

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def keep(self, key: bytes, value: D, until: Seconds) -> None:
        """Keep a decision, which counts until then by the monotonic clock, in place of the one before."""
        self._kept[key] = _Decision(value, until)
        self._kept.move_to_end(key)
        if len(self._kept) > self.most:
            self._kept.popitem(last=False)

    def fresh(self, key: bytes, now: Seconds) -> D | None:
        """Return the decision on ``key`` that counts ``now``; None if there is none."""
        return self._by(key, now)

    def stale(self, key: bytes, now: Seconds) -> D | None:
        """Return the decision on ``key`` that counts while the API server is away; None if there is none."""
        return self._by(key, Seconds(now - STALE_FOR))

    def _by(self, key: bytes, moment: Seconds) -> D | None:
        kept = self._kept.get(key)
        if kept is None or kept.until <= moment:
            return None
        self._kept.move_to_end(key)
        return kept.value
