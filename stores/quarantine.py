"""Listings that crashed whoever took them in, and the pods that are kept out because of it.

Without this a poisonous pod is told again after every restart and brings the agent down in seconds.
The record outlives the actor: before each attempt it notes what is tried, and after it that nothing
happened. A note that a new life still finds is what the old one died of.

The first crash makes the next attempt careful: pods that are new are tried one by one, apart from
the real state. A crash then names its pod, which is kept out from there on, in the version that was
told; its last good version, if it had one, stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from actors.messages.pods import Pod, PodUid, SourceName

_SENTENCE = "taking it in has crashed the pod manager twice"


@dataclass(slots=True)
class _Record:
    """What is known about one source."""

    good: tuple[Pod, ...] = ()
    """Its last listing that did no harm."""
    rejected: frozenset[Pod] = frozenset()
    careful: bool = False
    """The last attempt crashed."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    source: SourceName
    pods: tuple[Pod, ...]


@dataclass(slots=True)
class Quarantine:
    """Remembers attempts for all sources. One attempt at a time: its owner is one actor."""

    _records: dict[SourceName, _Record] = field(default_factory=dict)
    _attempt: _Attempt | None = None

    def blame(self) -> SourceName | None:
        """Draw the consequences of an attempt that never ended; return its source, if there is one.

        To be called when a new life begins.
        """
        attempt, self._attempt = self._attempt, None
        if attempt is None:
            return None
        record = self._record(attempt.source)
        if record.careful:
            good = frozenset(record.good)
            record.rejected |= frozenset(pod for pod in attempt.pods if pod not in good)
        record.careful = True
        return attempt.source

    def admitted(self, source: SourceName, listed: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """Return ``listed`` without what is kept out; the identical tuple if nothing is.

        In place of a pod that is kept out stands its last good version, if there is one. Versions
        that are not listed any more are forgotten.
        """
        record = self._record(source)
        if not record.rejected:
            return listed
        record.rejected &= frozenset(listed)
        good = {pod.uid: pod for pod in record.good}
        chosen = (good.get(pod.uid) if pod in record.rejected else pod for pod in listed)
        return tuple(pod for pod in chosen if pod is not None)

    def attempts(self, source: SourceName, pods: tuple[Pod, ...]) -> Iterator[tuple[Pod, ...]]:
        """Yield what to try, in order: the whole listing last, new pods alone before when careful.

        Each is on record while the caller tries it.
        """
        record = self._record(source)
        if record.careful:
            good = frozenset(record.good)
            for pod in pods:
                if pod not in good:
                    self._attempt = _Attempt(source, (pod,))
                    yield (pod,)
        self._attempt = _Attempt(source, pods)
        yield pods
        self._attempt = None
        record.good = pods
        record.careful = False

    def rejected(self, source: SourceName) -> dict[PodUid, str]:
        """Return the pods of ``source`` that are kept out, and why, as a sentence."""
        return {pod.uid: _SENTENCE for pod in self._record(source).rejected}

    def _record(self, source: SourceName) -> _Record:
        return self._records.setdefault(source, _Record())
