"""What stands in the way of watches: for each of them, and in the log for all of them together.

An API server that is away fails thousands of watches; what people need of that is two lines. Of single
objects that are forbidden the first ten of a collection are named, the others are one trouble together:
an API server lets a node read what its own pods need, object by object.

It outlives a crash, as subscribers do: who was told that a target fails hears from the next life that
it is followed again.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import structlog

from kube.streams.queries import is_one_object
from messages.api import FailureKind
from messages.watches import WatchFailed, WatchTarget

_log = structlog.get_logger("watches")

_UNANSWERED: Final = frozenset(
    {FailureKind.UNREACHABLE, FailureKind.TIMEOUT, FailureKind.CREDENTIALS, FailureKind.LOST}
)
"""Failures that say nothing of whether others are over."""
_OF_ALL: Final = _UNANSWERED | {FailureKind.UNAUTHORIZED}
"""Failures that all watches have in common."""

MOST_NAMED: Final = 10
"""Objects of one collection that have lines of their own. A guess: a page, with what is around it."""
_OTHERS: Final = "*"
"""Stands for the objects that have none: no selector is so."""


@dataclass(frozen=True, slots=True)
class FailureCause:
    """What watches may fail for together."""

    kind: FailureKind
    server: str
    path: str
    """Of the collection; empty for what all watches have in common."""
    object: str = ""
    """The selector of the one that is meant, or a ``*``; empty for the whole collection."""


FailureCauses: TypeAlias = AbstractSet[FailureCause]


@dataclass(slots=True)
class _OngoingCause:
    """A cause that is going on."""

    sentence: str
    """Of the watch that it began with."""
    watches: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class _TargetFailure:
    fact: WatchFailed
    causes: FailureCauses
    is_uncertain: bool = False
    """No attempt has failed since."""


def cause_of(fact: WatchFailed, server: str) -> FailureCause:
    """Return what ``fact`` has in common with other failures at ``server``."""
    kind, target = fact.failure.kind, fact.target
    if kind in _OF_ALL:
        return FailureCause(kind, server, "")
    is_of_one = kind is FailureKind.FORBIDDEN and is_one_object(target)
    return FailureCause(kind, server, target.path, target.field_selector if is_of_one else "")


def causes_after(before: FailureCauses, cause: FailureCause) -> FailureCauses:
    """Return what keeps a watch from being followed after it failed for one cause more.

    No answer ends nothing, a refused user ends only what kept requests from the server, and any
    other answer everything that was there before it.
    """
    if cause.kind in _UNANSWERED:
        return {*before, cause}
    if cause.kind is FailureKind.UNAUTHORIZED:
        return {cause, *(each for each in before if each.kind not in _OF_ALL)}
    return {cause}


class WatchFailures:
    """Which watches fail, and why. Logs when a cause begins and when it is over, once each."""

    def __init__(self) -> None:
        self._failures: dict[WatchTarget, _TargetFailure] = {}
        self._ongoing: dict[FailureCause, _OngoingCause] = {}

    def of(self, target: WatchTarget) -> WatchFailed | None:
        """Return what stands since it was told of ``target``."""
        failure = self._failures.get(target)
        return failure.fact if failure is not None else None

    def note(self, fact: WatchFailed, server: str) -> bool:
        """Note an attempt that failed; return whether it is news: the first, or for another reason.

        ``server`` is empty when the credentials could not be read.
        """
        known = self._failures.get(fact.target)
        before: FailureCauses = known.causes if known is not None else frozenset()
        after = causes_after(before, self._line_of(cause_of(fact, server), before))
        self._failures[fact.target] = _TargetFailure(fact, after)
        for cause in after - before:
            self._begin(cause, fact.failure.sentence)
        for cause in before - after:
            self._end(cause, "watches no longer fail")
        return known is None or known.is_uncertain or _reason(known.fact) != _reason(fact)

    def note_uncertain(self, fact: WatchFailed, server: str) -> None:
        """Note ``fact`` of a target of which nothing stands: it is not followed, but nothing failed yet.

        Begins no line in the log, since it may be over in a moment; it counts with a cause that is there.
        """
        causes = frozenset({cause_of(fact, server)} & self._ongoing.keys())
        self._failures[fact.target] = _TargetFailure(fact, causes, is_uncertain=True)
        for cause in causes:
            self._begin(cause, fact.failure.sentence)

    def recover(self, target: WatchTarget) -> bool:
        """Note that ``target`` is followed; return whether something stood in the way of that."""
        return self._clear(target, "watches no longer fail")

    def forget(self, target: WatchTarget) -> None:
        """Note that nobody wants ``target`` any more."""
        self._clear(target, "failing watches are no longer wanted")

    def keep_only(self, wanted: AbstractSet[WatchTarget]) -> None:
        """Note that nobody wants any other target."""
        for target in self._failures.keys() - wanted:
            self.forget(target)

    def _clear(self, target: WatchTarget, event: str) -> bool:
        failure = self._failures.pop(target, None)
        for cause in failure.causes if failure is not None else ():
            self._end(cause, event)
        return failure is not None

    def _line_of(self, cause: FailureCause, before: FailureCauses) -> FailureCause:
        """Return ``cause``, or what it has in common with others if there are too many to name.

        As long as there are such others each new one is one of them, so that objects that take turns
        do not fill the log. What was said of an object ``before`` stays as it is.
        """
        if not cause.object or cause in before:
            return cause
        others = replace(cause, object=_OTHERS)
        if others in self._ongoing:
            return others
        alike = [each for each in self._ongoing if replace(each, object=_OTHERS) == others]
        return cause if len(alike) < MOST_NAMED else others

    def _begin(self, cause: FailureCause, sentence: str) -> None:
        ongoing = self._ongoing.get(cause)
        if ongoing is None:
            ongoing = self._ongoing[cause] = _OngoingCause(sentence)
            is_of_others = cause.object == _OTHERS
            event = "more watches fail, and are only counted" if is_of_others else "watches fail"
            _log.warning(event, reason=sentence)
        ongoing.watches += 1
        ongoing.most = max(ongoing.most, ongoing.watches)

    def _end(self, cause: FailureCause, event: str) -> None:
        ongoing = self._ongoing[cause]
        ongoing.watches -= 1
        if ongoing.watches == 0:
            del self._ongoing[cause]
            _log.info(event, reason_was=ongoing.sentence, watches=ongoing.most)


def _reason(fact: WatchFailed) -> tuple[FailureKind, int]:
    return fact.failure.kind, fact.failure.status
