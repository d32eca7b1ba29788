"""Reading and following the objects that one pod needs. A part of its worker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

from actors.pods.orders import ObjectsDue
from actors.pods.record_pages import ObjectVersion
from actors.pods.worker.needed_objects import NeededObjects, needed_objects
from kernel import Port, Timer
from messages.objects import (
    ChangeMissed,
    FollowObjects,
    GetObject,
    ObjectChanged,
    ObjectFact,
    ObjectId,
    ObjectKind,
    ObjectRead,
    ObjectValue,
    RegisterPod,
    UnfollowObjects,
    UnregisterPod,
)
from messages.pods import Pod
from messages.units import Seconds

READ_AGAIN: Final = Seconds(10.0)
"""How long after an answer, or without one, an object that is missing is read again. Whoever holds objects
tells of each change at once; this is for strategies that hear of none, and for reads that were lost."""
ANSWERED_WITHIN: Final = Seconds(3.0)
"""How long the first start waits for answers. Reads are answered within little more than a second."""

ObjectManagers: TypeAlias = Mapping[
    ObjectKind,
    Port[RegisterPod | UnregisterPod | GetObject | FollowObjects | UnfollowObjects | ChangeMissed],
]
"""The addresses of the managers of Secrets and of ConfigMaps."""


class ObjectReading:
    """Asks for what a pod needs, and hears when it changes, for one life of its worker."""

    def __init__(
        self,
        managers: ObjectManagers,
        me: Port[ObjectRead | ObjectFact],
        after: Callable[[Seconds, ObjectsDue], Timer],
        *,
        with_files: bool = True,
    ) -> None:
        """With ``with_files`` the pod waits for what files of its volumes are made of."""
        self._with_files = with_files
        self._managers = managers
        self._me = me
        self._after = after
        self._pod: Pod | None = None
        self._needed: NeededObjects | None = None
        self._timer: Timer | None = None
        self._has_waited = False

    @property
    def is_answered(self) -> bool:
        """Whether every read was answered once, or was waited for long enough."""
        return self._needed is None or self._has_waited or not self._needed.unanswered()

    def missing_files(self) -> list[str]:
        """Return, in words, what volumes require that is not there."""
        return [] if self._needed is None else self._needed.missing_files()

    def values(self) -> dict[ObjectId, ObjectValue]:
        """Return what the runtime is told, as far as it is there."""
        return {} if self._needed is None else self._needed.values()

    def unread(self) -> dict[ObjectId, str]:
        """Return why others that variables are set from cannot be read."""
        return {} if self._needed is None else self._needed.unread()

    def versions(self) -> dict[ObjectId, ObjectVersion]:
        """Return the versions of the objects whose changes the pod acts on."""
        return {} if self._needed is None else self._needed.versions()

    def tell_missed(
        self, begun_with: Mapping[ObjectId, ObjectVersion], pending: Collection[ObjectId]
    ) -> list[ObjectChanged]:
        """Have the managers decide about changes since the pod had those versions. Return the changes.

        About ``pending`` objects they have decided already.
        """
        if self._needed is None or self._pod is None:
            return []
        changes = self._needed.missed_changes(begun_with)
        missed = [each for each in changes if each.object not in pending]
        for changed in missed:
            told = ChangeMissed(pod=self._pod.uid, changed=changed)
            self._managers[changed.object.kind].tell(told)
        return missed

    def begin(self, pod: Pod) -> None:
        """Hold, follow and read what ``pod`` needs. May repeat, with another version of the pod."""
        if self._pod is pod:
            return
        before, self._needed, self._pod = self._needed, self._needed_by(pod), pod
        followed = set(before.ids()) if before is not None else set[ObjectId]()
        needed = self._needed.ids() if self._needed is not None else ()
        if before is not None and self._needed is not None:
            self._needed.keep(before)
        for wanted in followed.difference(needed):
            self._managers[wanted.kind].tell(UnfollowObjects(subscriber=self._me, object=wanted))
        for kind in {wanted.kind for wanted in (*followed, *needed)}:
            self._managers[kind].tell(RegisterPod(pod=pod))
        for wanted in needed:
            if wanted not in followed:
                follow = FollowObjects(subscriber=self._me, object=wanted, pod=pod.uid)
                self._managers[wanted.kind].tell(follow)
        if self._needed is not None:
            self._read_all(self._needed.unanswered())
        self._wait()

    def end(self, pod: Pod) -> None:
        """Let go of everything: ``pod`` does not run any more. May repeat."""
        needed, self._needed, self._pod = self._needed or self._needed_by(pod), None, None
        self._cancel()
        if needed is None:
            return
        for wanted in needed.ids():
            self._managers[wanted.kind].tell(UnfollowObjects(subscriber=self._me, object=wanted))
        for kind in needed.kinds():
            self._managers[kind].tell(UnregisterPod(pod=pod.uid))

    def note_read(self, read: ObjectRead) -> None:
        """Note the answer to a read."""
        if self._needed is not None and isinstance(read.ref, ObjectId):
            self._needed.note(read.ref, read)
            self._wait()

    def note_change(self, wanted: ObjectId) -> None:
        """Read an object again that has changed."""
        if self._needed is not None and wanted in self._needed.ids():
            self._read(wanted)

    def read_again(self) -> None:
        """Read again what is missing."""
        self._timer, self._has_waited = None, True
        if self._needed is not None:
            self._read_all({*self._needed.unanswered(), *self._needed.missing()})
        self._wait()

    def _needed_by(self, pod: Pod) -> NeededObjects | None:
        return needed_objects(pod, with_files=self._with_files)

    def _read_all(self, objects: Iterable[ObjectId]) -> None:
        for wanted in objects:
            self._read(wanted)

    def _read(self, wanted: ObjectId) -> None:
        if self._pod is not None:
            question = GetObject(pod=self._pod.uid, name=wanted.name, reply_to=self._me, ref=wanted)
            self._managers[wanted.kind].tell(question)

    def _wait(self) -> None:
        """Have a timer while anything is missing, and only then."""
        needed = self._needed
        if needed is None or not (needed.unanswered() or needed.missing()):
            self._cancel()
        elif self._timer is None:
            delay = READ_AGAIN if self.is_answered else ANSWERED_WITHIN
            self._timer = self._after(delay, ObjectsDue())

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
