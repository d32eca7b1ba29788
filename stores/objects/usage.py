"""Which pods a change of an object concerns: those that may use its former value.

Pods with a mark up to some mark may have used the known value; that mark never gets lower. A pod that came to
reference the object later starts with the new value. An object that was deleted and is there again with the
same content concerns nobody, unless somebody was told in between that it does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from manifests.objects.values import fingerprint
from messages.holders import NO_MARK, Mark
from messages.objects import BEGUN_WITH, ObjectId, ObjectKind, ObjectValue, ReadVerdict


@dataclass(slots=True)
class Usage:
    """Who may have used what is known of one object. At first nobody."""

    _mark: Mark = NO_MARK
    """Pods with a mark up to this one may have used the known value."""
    _gone: int | None = None
    """The fingerprint of the value that was deleted last, as long as nobody was told that there is none."""

    def note(self, mark: Mark) -> None:
        """Note that pods with a mark up to ``mark`` may have used what is known."""
        self._mark = max(self._mark, mark)

    def note_answer(self, mark: Mark, verdict: ReadVerdict) -> None:
        """Note the verdict that the pod whose reference has ``mark`` was told."""
        if verdict in BEGUN_WITH:
            self.note(mark)
        if verdict is ReadVerdict.NOT_FOUND:
            self._gone = None

    def note_absence(self) -> None:
        """Note that somebody was told that there is no such object."""
        self._gone = None

    def concerned(self, before: ObjectValue | None, after: ObjectValue | None) -> Mark:
        """Return the highest mark of the pods that are concerned when ``after`` replaces ``before``.

        None is no object. May be asked again for the same step.
        """
        if before is not None and after is None:
            self._gone = fingerprint(before)
        is_back = before is None and after is not None and self._gone == fingerprint(after)
        return NO_MARK if is_back else self._mark


@dataclass(slots=True)
class JointUsage:
    """Who may have used what is known of all local objects, which are looked at together. At first nobody.

    A look that leaves nothing uncertain proves every reference that was heard of before it began. Until the
    next such look, a pod with a later reference can only have used what it was answered.
    """

    _newest: dict[ObjectKind, Mark] = field(default_factory=dict)
    """The highest mark heard of."""
    _proven: dict[ObjectKind, Mark] = field(default_factory=dict)
    """The highest mark heard of before the last such look began."""
    _answered: dict[ObjectId, Mark] = field(default_factory=dict)
    """The highest mark answered since, above the proven ones."""

    def note_reference(self, kind: ObjectKind, mark: Mark) -> bool:
        """Note a reference of ``mark``; return whether a look is needed to prove it."""
        self._newest[kind] = max(mark, self._newest.get(kind, NO_MARK))
        return mark > self._proven.get(kind, NO_MARK)

    def note_look(self) -> None:
        """Note that such a look ended and that its result was told. No reference came since it began."""
        self._proven = dict(self._newest)
        self._answered.clear()

    def note_answer(self, wanted: ObjectId, mark: Mark, verdict: ReadVerdict) -> None:
        """Note the verdict that the pod whose reference has ``mark`` was told."""
        if verdict in BEGUN_WITH and mark > self.concerned(wanted):
            self._answered[wanted] = mark

    def concerned(self, wanted: ObjectId) -> Mark:
        """Return the highest mark of the pods that may have used what is known of ``wanted``."""
        proven = self._proven.get(wanted.kind, NO_MARK)
        return max(proven, self._answered.get(wanted, NO_MARK))
