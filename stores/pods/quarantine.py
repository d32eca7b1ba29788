"""Pods that are kept out because PodManager crashed when it took them in.

Without this, such a pod would be told again after every restart, and the agent would end within seconds.
The record outlives the actor. Before each attempt it notes what is tried, and after it that nothing
happened. A note that a new life still finds is what the old life crashed on.

A source whose listing crashed PodManager is suspect from then on. Its new pods are tried one by one, apart
from the real state, and one that fails is kept out in that version. Its last good version, if there is one,
stays. If none fails alone and the listing crashes again, everything new in it is kept out. If nothing in it
is new, the input is not to blame, but the state that outlives crashes. Then nothing is kept out, and
failures escalate until the process starts anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from messages.pods import Pod, PodUid, SourceName

STRIKES = 2
"""Crashes in a row after which everything new in a listing is kept out."""

_SENTENCE = "taking it in has crashed the pod manager"


@dataclass(slots=True)
class _Record:
    """What is known about one source.

    Pods are found by the text of their UID: a malformed pod may have a UID that cannot be hashed.
    """

    good: tuple[Pod, ...] = ()
    """Its last listing that did no harm."""
    kept_out: dict[str, Pod] = field(default_factory=dict)
    is_suspect: bool = False
    """A listing of it has crashed PodManager before."""
    strikes: int = 0
    """Crashes since its last listing that did no harm."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    source: SourceName
    pods: tuple[Pod, ...]


@dataclass(slots=True)
class Quarantine:
    """The attempts and pods kept out of all sources. Has one owner, so one attempt at a time."""

    _records: dict[SourceName, _Record] = field(default_factory=dict)
    _attempt: _Attempt | None = None

    def blame(self) -> SourceName | None:
        """Make the source of an attempt that never ended suspect; return it, or None if there is none.

        To be called when a new life begins. After ``STRIKES`` crashes in a row everything new in the
        listing is kept out.
        """
        attempt, self._attempt = self._attempt, None
        if attempt is None:
            return None
        record = self._record(attempt.source)
        record.is_suspect = True
        record.strikes += 1
        if record.strikes >= STRIKES:
            good = _by_uid(record.good)
            record.kept_out |= _by_uid(pod for pod in attempt.pods if not _is_in(good, pod))
        return attempt.source

    def admitted(
        self, source: SourceName, listed: tuple[Pod, ...], is_harmless: Callable[[Pod], bool]
    ) -> tuple[Pod, ...]:
        """Return ``listed`` without the pods that are kept out; the identical tuple if none is.

        The last good version of a pod, found by its UID or else its name, takes the place of one that is
        kept out. ``is_harmless`` tries new pods of a suspect source. Versions that are not listed any more
        are forgotten.
        """
        record = self._record(source)
        if not record.is_suspect:
            return listed
        good = _by_uid(record.good)
        kept_out, clean = dict[str, Pod](), list[Pod]()
        for pod in listed:
            if _is_in(good, pod) or self._passes(source, pod, is_harmless):
                clean.append(pod)
            else:
                kept_out[_uid(pod)] = pod
        record.kept_out = kept_out
        return (*clean, *_stand_ins(record, clean)) if kept_out else listed

    @contextmanager
    def attempt(self, source: SourceName, pods: tuple[Pod, ...]) -> Iterator[None]:
        """Record, while the context lasts, that ``pods`` are taken in. A crash leaves the record."""
        with self._noted(source, pods):
            yield
        record = self._record(source)
        record.good = pods
        record.strikes = 0

    def rejected(self, source: SourceName) -> dict[PodUid, str]:
        """Return the pods of ``source`` that are kept out, and why, as a sentence."""
        return {PodUid(uid): _SENTENCE for uid in self._record(source).kept_out}

    def _passes(self, source: SourceName, pod: Pod, is_harmless: Callable[[Pod], bool]) -> bool:
        if _is_in(self._record(source).kept_out, pod):
            return False
        # Recorded too: a trial that hangs, or ends by SystemExit or the like, is one more crash.
        with self._noted(source, (pod,)):
            return is_harmless(pod)

    @contextmanager
    def _noted(self, source: SourceName, pods: tuple[Pod, ...]) -> Iterator[None]:
        self._attempt = _Attempt(source, pods)
        yield  # no ``finally``: an exception here leaves the record
        self._attempt = None

    def _record(self, source: SourceName) -> _Record:
        return self._records.setdefault(source, _Record())


def _stand_ins(record: _Record, clean: list[Pod]) -> Iterator[Pod]:
    """Yield the last good version of each pod that is kept out, unless another has its place."""
    uids = {_uid(pod) for pod in clean}
    names = {pod.full_name for pod in clean}
    by_uid = _by_uid(record.good)
    by_name = {pod.full_name: pod for pod in record.good}
    for uid, pod in record.kept_out.items():
        good = by_uid.get(uid) or by_name.get(pod.full_name)
        if good is not None and _uid(good) not in uids and good.full_name not in names:
            uids.add(_uid(good))
            names.add(good.full_name)
            yield good


def _by_uid(pods: Iterable[Pod]) -> dict[str, Pod]:
    return {_uid(pod): pod for pod in pods}


def _uid(pod: Pod) -> str:
    return str(pod.uid)


def _is_in(pods: dict[str, Pod], pod: Pod) -> bool:
    return pods.get(_uid(pod)) == pod
