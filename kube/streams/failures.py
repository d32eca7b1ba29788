"""Which watches fail at present, and why; in the log, all of them together.

When an API server is away thousands of watches fail, and people need two lines of that. For forbidden
objects, the first ten of a collection are named; the others share one line. That matters because an API
server lets a node read only the objects that its own pods need, object by object.

The failures outlive a crash of the actor, as subscribers do. A subscriber that was told of a failure is
told by the next life that the target is followed again.
"""

from __future__ import annotations

from collections.abc import Collection
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
"""Failures without an answer: they do not show whether other failures are over."""
_OF_ALL: Final = _UNANSWERED | {FailureKind.UNAUTHORIZED}
"""Failures that all watches share."""

MOST_NAMED: Final = 10
"""Objects of one collection that get lines of their own. A guess: about a page of log."""
_OTHERS: Final = "*"
"""Stands for all objects without a line of their own. No field selector looks like this."""


@dataclass(frozen=True, slots=True)
class FailureCause:
    """A reason for which several watches may fail together."""

    kind: FailureKind
    server: str
    path: str
    """The collection; empty when the cause concerns all watches."""
    object: str = ""
    """The field selector of one object, or ``*``; empty for the whole collection."""


FailureCauses: TypeAlias = AbstractSet[FailureCause]


@dataclass(slots=True)
class _OngoingCause:
    """A cause that makes watches fail at present."""

    sentence: str
    """Of the first watch that failed for it."""
    watches: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class _TargetFailure:
    fact: WatchFailed
    causes: FailureCauses
    is_uncertain: bool = False
    """No attempt has failed yet."""


def cause_of(fact: WatchFailed, server: str) -> FailureCause:
    """Return the cause that ``fact`` shares with other failures at ``server``."""
    kind, target = fact.failure.kind, fact.target
    if kind in _OF_ALL:
        return FailureCause(kind, server, "")
    is_of_one = kind is FailureKind.FORBIDDEN and is_one_object(target)
    return FailureCause(kind, server, target.path, target.field_selector if is_of_one else "")


def causes_after(before: FailureCauses, cause: FailureCause) -> FailureCauses:
    """Return the causes of a failing watch after it failed for ``cause`` too.

    A failure without an answer ends no other cause. A 401 ends those that kept requests from reaching the
    server. Any other answer ends all earlier causes.
    """
    if cause.kind in _UNANSWERED:
        return {*before, cause}
    if cause.kind is FailureKind.UNAUTHORIZED:
        return {cause, *(each for each in before if each.kind not in _OF_ALL)}
    return {cause}


class WatchFailures:
    """The watches that fail, and why. Logs one line when a cause begins and one when it ends."""

    def __init__(self) -> None:
        self._failures: dict[WatchTarget, _TargetFailure] = {}
        self._ongoing: dict[FailureCause, _OngoingCause] = {}

    def of(self, target: WatchTarget) -> WatchFailed | None:
        """Return what subscribers of ``target`` were told of its failure; None when it does not fail."""
        failure = self._failures.get(target)
        return failure.fact if failure is not None else None

    def targets(self) -> Collection[WatchTarget]:
        """Return a view of the targets that fail."""
        return self._failures.keys()

    def note(self, fact: WatchFailed, server: str) -> bool:
        """Note a failed attempt. Return whether it is news: the first, or another reason than before.

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
        """Note that a target is not followed although no attempt has failed yet. It must not fail already.

        Logs nothing, since this may be over in a moment. If its cause is ongoing, the watch counts with it.
        """
        causes = frozenset({cause_of(fact, server)} & self._ongoing.keys())
        self._failures[fact.target] = _TargetFailure(fact, causes, is_uncertain=True)
        for cause in causes:
            self._begin(cause, fact.failure.sentence)

    def recover(self, target: WatchTarget) -> bool:
        """Note that ``target`` is followed. Return whether it was failing."""
        return self._clear(target, "watches no longer fail")

    def forget(self, target: WatchTarget) -> None:
        """Note that nobody wants ``target`` any more."""
        self._clear(target, "failing watches are no longer wanted")

    def keep_only(self, wanted: AbstractSet[WatchTarget]) -> None:
        """Forget every target that is not ``wanted``."""
        for target in self._failures.keys() - wanted:
            self.forget(target)

    def _clear(self, target: WatchTarget, event: str) -> bool:
        failure = self._failures.pop(target, None)
        for cause in failure.causes if failure is not None else ():
            self._end(cause, event)
        return failure is not None

    def _line_of(self, cause: FailureCause, before: FailureCauses) -> FailureCause:
        """Return the cause under which to log: ``cause``, or the shared one when too many are named.

        As long as any object shares the line for the others, each new object does too. Objects that fail in
        turns therefore do not fill the log. A cause that was logged ``before`` stays the same.
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
