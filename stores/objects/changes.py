"""The step from one version of an object to the next, which pods it concerns, and what is done for these.

The step is added, modified or deleted, with the keys that changed; the caller decides whether there was one.
The annotations of a pod decide what is done.

A change concerns the pods that may use the former value. Pods with a mark up to some mark may have used the
known value; that mark never gets lower. A pod that came to reference the object later starts with the new
value. An object that was deleted and is there again with the same content concerns nobody, unless somebody
was told in between that it does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

from manifests.objects.values import changed_keys, fingerprint
from messages.holders import NO_MARK, Mark
from messages.objects import (
    BEGUN_WITH,
    Change,
    ChangeDecided,
    ChangeMissed,
    ObjectChanged,
    ObjectId,
    ObjectKind,
    ObjectValue,
    ReadVerdict,
    UnprovenTaken,
)
from messages.units import Seconds
from stores.objects.reference_index import PodNeeds


def object_change(
    wanted: ObjectId,
    before: ObjectValue | None,
    after: ObjectValue | None,
    gone_version: str = "",
) -> ObjectChanged:
    """Return the message that ``after`` has replaced ``before``; None is no object, and not both may be None.

    A deletion has the UID of the last version. Its version is ``gone_version``, or that of the last version
    if this is empty.
    """
    newest = after or before
    assert newest is not None  # noqa: S101  # nothing came of nothing
    version = newest.resource_version
    if after is None:
        change, version = Change.DELETED, gone_version or version
    else:
        change = Change.MODIFIED if before else Change.ADDED
    return ObjectChanged(
        object=wanted,
        change=change,
        uid=newest.uid,
        resource_version=version,
        keys=changed_keys(before, after),
    )


def change_after(taken: UnprovenTaken, present: ObjectValue | None) -> ChangeMissed | None:
    """Return what a pod missed that goes on with something else than ``present``; None if that is nothing.

    The change was told before it was known what the pod has begun with.
    """
    if present is None or present.resource_version == taken.resource_version:
        return None
    changed = ObjectChanged(
        object=taken.object,
        change=Change.MODIFIED if taken.resource_version else Change.ADDED,
        uid=present.uid,
        resource_version=present.resource_version,
        keys=tuple(sorted(present.data)),
    )
    return ChangeMissed(pod=taken.pod, changed=changed)


def decisions(
    changed: ObjectChanged, pods: Iterable[PodNeeds], chance: Random
) -> Iterator[ChangeDecided]:
    """Yield a decision for each of ``pods`` that wants something done about this change.

    ``pods`` have hooks for the object, and may have used its former value, or started without one. The delay
    of a decision is a random part of its pod's splay.
    """
    if not _can_be_seen(changed):
        return
    for pod in pods:
        if pod.hook is not None and not pod.is_ending:
            yield ChangeDecided(
                pod=pod.uid,
                pod_name=pod.name,
                action=pod.hook.action,
                signal=pod.hook.signal,
                delay=Seconds(chance.uniform(0.0, pod.hook.splay)),
                changed=changed,
            )


def _can_be_seen(changed: ObjectChanged) -> bool:
    """Return whether a running pod can see the change.

    It cannot see a deletion, since it keeps what it has, nor a change of metadata alone.
    """
    return bool(changed.keys) and changed.change is not Change.DELETED


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
