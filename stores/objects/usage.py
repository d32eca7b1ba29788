"""Which pods a change of an object concerns: those that may have something other than what it is now.

A pod that came to reference the object later began with what it is. As was told a holder by its mark, the
pods up to some mark may have used what was known; that mark never gets lower. An object that went, and
is there again with the very content that it had, concerns nobody, unless it was missed in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from manifests.objects.values import fingerprint
from messages.holders import NO_MARK, Mark
from messages.objects import ObjectId, ObjectKind, ObjectValue, ReadVerdict

_USED: Final = frozenset({ReadVerdict.FOUND, ReadVerdict.STALE, ReadVerdict.NOT_FOUND})
"""A pod that is answered so begins with what is known: with a value, or without one."""


@dataclass(slots=True)
class Usage:
    """Of one object. Begins with nobody, as long as nothing is known of it."""

    _mark: Mark = NO_MARK
    _gone: int | None = None
    """The fingerprint of what went last, while nobody was told that it is not there."""

    def note(self, mark: Mark) -> None:
        """Note that references up to ``mark`` may have used what is known."""
        self._mark = max(self._mark, mark)

    def note_answer(self, mark: Mark, verdict: ReadVerdict) -> None:
        """Note what a read for the reference of ``mark`` was answered."""
        if verdict in _USED:
            self.note(mark)
        if verdict is ReadVerdict.NOT_FOUND:
            self._gone = None

    def concerned(self, before: ObjectValue | None, after: ObjectValue | None) -> Mark:
        """Return up to which mark references are concerned when ``after`` takes the place of ``before``.

        May repeat. None is that there is no such object.
        """
        if before is not None and after is None:
            self._gone = fingerprint(before)
        is_back = before is None and after is not None and self._gone == fingerprint(after)
        return NO_MARK if is_back else self._mark


@dataclass(slots=True)
class JointUsage:
    """Of all objects of one holder, which looks at them together. Begins with nobody.

    A look that leaves nothing uncertain proves every reference that was heard of before it. Until the
    next one, a later reference may only have used what it was answered.
    """

    _newest: dict[ObjectKind, Mark] = field(default_factory=dict)
    """Of those that were heard of."""
    _proven: dict[ObjectKind, Mark] = field(default_factory=dict)
    """The newest of them when the last such look began."""
    _answered: dict[ObjectId, Mark] = field(default_factory=dict)
    """The newest that was answered since, of those that are not proven."""

    def note_reference(self, kind: ObjectKind, mark: Mark) -> bool:
        """Note that there is a reference of ``mark``; return whether a look is needed to prove it."""
        self._newest[kind] = max(mark, self._newest.get(kind, NO_MARK))
        return mark > self._proven.get(kind, NO_MARK)

    def note_look(self) -> None:
        """Note that there was such a look, and that what it found was told.

        No reference may have been noted since it began.
        """
        self._proven = dict(self._newest)
        self._answered.clear()

    def note_answer(self, wanted: ObjectId, mark: Mark, verdict: ReadVerdict) -> None:
        """Note what a read for the reference of ``mark`` was answered."""
        if verdict in _USED and mark > self.concerned(wanted):
            self._answered[wanted] = mark

    def concerned(self, wanted: ObjectId) -> Mark:
        """Return up to which mark references may have used what ``wanted`` is before the next look."""
        proven = self._proven.get(wanted.kind, NO_MARK)
        return max(proven, self._answered.get(wanted, NO_MARK))
