"""Texts as people read them: ages, plurals, and names without what a terminal would obey. Pure."""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import isfinite

_STEPS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_HARMFUL = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Kinds of characters that a terminal obeys, or that change the order of what it shows."""


def plain(said: str) -> str:
    """Return ``said`` on one line, each character that a terminal would obey written as an escape."""
    if said.isascii() and said.isprintable():
        return said
    return "".join(_shown(each) for each in said)


def _shown(character: str) -> str:
    if character in "\n\t":
        return " "
    if unicodedata.category(character) not in _HARMFUL:
        return character
    return character.encode("unicode_escape").decode()


def moment(said: str) -> float | None:
    """Return the seconds since 1970 of a time in the form of RFC 3339; None if it is none."""
    try:
        found = datetime.fromisoformat(said)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def age(said: str, now: float) -> str:
    """Return how long ago the time ``said`` was: ``45s``, ``3m20s``, ``5h``. Empty if it is no time."""
    at = moment(said)
    return "" if at is None else span(now - at)


def local_time(said: str) -> str:
    """Return the time ``said`` as clocks of this machine show it, with its date; empty if it is no time."""
    at = moment(said)
    return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def ago(said: str, now: float) -> str:
    """Return the same with ``ago`` behind it."""
    found = age(said, now)
    return f"{found} ago" if found else ""


def span(seconds: float) -> str:
    """Return a span of time by its largest units: two of them while the first one is small."""
    if not isfinite(seconds):
        return ""
    left = max(0, int(seconds))
    for place, (unit, size) in enumerate(_STEPS):
        if left >= size:
            many, rest = divmod(left, size)
            following = _STEPS[place + 1] if place + 1 < len(_STEPS) else None
            more = rest // following[1] if following is not None and many < 10 else 0
            return f"{many}{unit}{more}{following[0]}" if following and more else f"{many}{unit}"
    return "0s"


def counted(many: int, what: str) -> str:
    """Return ``1 pod`` or ``2 pods``."""
    return f"{many:,} {what}" if many == 1 else f"{many:,} {what}s"


def tally(words: Iterable[str]) -> str:
    """Return how often there is each word, the most frequent first: ``6 Running, 1 Pending``."""
    return counted_words(Counter(words))


def counted_words(counts: Mapping[str, int]) -> str:
    """Return the same for words that somebody has counted."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{many:,} {word}" for word, many in ordered)


def current_as_of(age: float | None) -> str:
    """Return when a value was last known to be current."""
    if age is None:
        return "never"
    return "now" if age < 1 else f"{span(age)} ago"
