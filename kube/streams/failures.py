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
class Cause:
    """What watches may fail for together."""

    kind: FailureKind
    server: str
    path: str
    """Of the collection; empty for what all watches have in common."""
    object: str = ""
    """The selector of the one that is meant, or a ``*``; empty for the whole collection."""


Causes: TypeAlias = AbstractSet[Cause]


@dataclass(slots=True)
class _Trouble:
    """A cause that is going on."""

    sentence: str
    """Of the watch that it began with."""
    watches: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class _Standing:
    fact: WatchFailed
    causes: Causes
    is_doubt: bool = False
    """No attempt has failed since."""


def cause_of(fact: WatchFailed, server: str) -> Cause:
    """Return what ``fact`` has in common with other failures at ``server``."""
    kind, target = fact.failure.kind, fact.target
    if kind in _OF_ALL:
        return Cause(kind, server, "")
    is_of_one = kind is FailureKind.FORBIDDEN and is_one_object(target)
    return Cause(kind, server, target.path, target.field_selector if is_of_one else "")


def causes_after(before: Causes, cause: Cause) -> Causes:
    """Return what keeps a watch from being followed after it failed for one cause more.

    No answer ends nothing, a refused user ends only what kept requests from the server, and any
    other answer everything that was there before it.
    """
    if cause.kind in _UNANSWERED:
        return {*before, cause}
    if cause.kind is FailureKind.UNAUTHORIZED:
        return {cause, *(each for each in before if each.kind not in _OF_ALL)}
    return {cause}


class Troubles:
    """Which watches fail, and why. Logs when a cause begins and when it is over, once each."""

    def __init__(self) -> None:
        self._standing: dict[WatchTarget, _Standing] = {}
        self._going_on: dict[Cause, _Trouble] = {}

    def of(self, target: WatchTarget) -> WatchFailed | None:
        """Return what stands since it was told of ``target``."""
        standing = self._standing.get(target)
        return standing.fact if standing is not None else None

    def note(self, fact: WatchFailed, server: str) -> bool:
        """Note an attempt that failed; return whether it is news: the first, or for another reason.

        ``server`` is empty when the credentials could not be read.
        """
        known = self._standing.get(fact.target)
        before: Causes = known.causes if known is not None else frozenset()
        after = causes_after(before, self._line_of(cause_of(fact, server), before))
        self._standing[fact.target] = _Standing(fact, after)
        for cause in after - before:
            self._begin(cause, fact.failure.sentence)
        for cause in before - after:
            self._end(cause, "watches no longer fail")
        return known is None or known.is_doubt or _reason(known.fact) != _reason(fact)

    def doubt(self, fact: WatchFailed, server: str) -> None:
        """Note ``fact`` of a target of which nothing stands: it is not followed, but nothing failed yet.

        Begins no line in the log, since it may be over in a moment; it counts with a cause that is there.
        """
        causes = frozenset({cause_of(fact, server)} & self._going_on.keys())
        self._standing[fact.target] = _Standing(fact, causes, is_doubt=True)
        for cause in causes:
            self._begin(cause, fact.failure.sentence)

    def recover(self, target: WatchTarget) -> bool:
        """Note that ``target`` is followed; return whether something stood in the way of that."""
        return self._clear(target, "watches no longer fail")

    def forget(self, target: WatchTarget) -> None:
        """Note that nobody wants ``target`` any more."""
        self._clear(target, "failing watches are no longer wanted")

    def forget_all_but(self, wanted: AbstractSet[WatchTarget]) -> None:
        """Note that nobody wants any other target."""
        for target in self._standing.keys() - wanted:
            self.forget(target)

    def _clear(self, target: WatchTarget, event: str) -> bool:
        standing = self._standing.pop(target, None)
        for cause in standing.causes if standing is not None else ():
            self._end(cause, event)
        return standing is not None

    def _line_of(self, cause: Cause, before: Causes) -> Cause:
        """Return ``cause``, or what it has in common with others if there are too many to name.

        As long as there are such others each new one is one of them, so that objects that take turns
        do not fill the log. What was said of an object ``before`` stays as it is.
        """
        if not cause.object or cause in before:
            return cause
        others = replace(cause, object=_OTHERS)
        if others in self._going_on:
            return others
        alike = [each for each in self._going_on if replace(each, object=_OTHERS) == others]
        return cause if len(alike) < MOST_NAMED else others

    def _begin(self, cause: Cause, sentence: str) -> None:
        trouble = self._going_on.get(cause)
        if trouble is None:
            trouble = self._going_on[cause] = _Trouble(sentence)
            is_of_others = cause.object == _OTHERS
            event = "more watches fail, and are only counted" if is_of_others else "watches fail"
            _log.warning(event, reason=sentence)
        trouble.watches += 1
        trouble.most = max(trouble.most, trouble.watches)

    def _end(self, cause: Cause, event: str) -> None:
        trouble = self._going_on[cause]
        trouble.watches -= 1
        if trouble.watches == 0:
            del self._going_on[cause]
            _log.info(event, reason_was=trouble.sentence, watches=trouble.most)


def _reason(fact: WatchFailed) -> tuple[FailureKind, int]:
    return fact.failure.kind, fact.failure.status
