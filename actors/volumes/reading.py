"""Following and reading the objects that volumes show. A part of the keeper of volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from actors.volumes.keeper_parts import VolumeKeeperPorts, VolumeReadsDue
from actors.volumes.shown_objects import ReadAsked, ReadWanted, ShownObjects
from kernel import Clock, Timer
from messages.objects import (
    FollowObjects,
    GetObject,
    ObjectId,
    ObjectKind,
    ObjectRead,
    Origin,
    RegisterPod,
    UnfollowObjects,
    UnregisterPod,
)
from messages.pods import Pod, PodUid
from messages.units import Seconds

ANSWERED_WITHIN: Final = Seconds(3.0)
"""Reads are answered within little more than a second. One that is not was lost in a crash."""
READ_AGAIN: Final = Seconds(10.0)
"""How often an object that is not there is read again. Whoever holds objects tells of each change at once;
this is for strategies that hear of none."""
READ_FILE_AGAIN: Final = Seconds(2.0)
"""The same of one that a file of this node may describe. That it came and is refused is told by nobody."""


class ObjectsOfVolumes:
    """Asks for objects, for one life of the keeper."""

    def __init__(
        self,
        ports: VolumeKeeperPorts,
        objects: ShownObjects,
        clock: Callable[[], Clock],
        after: Callable[[Seconds, VolumeReadsDue], Timer],
    ) -> None:
        self._ports = ports
        self._objects = objects
        self._clock = clock
        self._after = after
        self._timer: Timer | None = None

    def register(self, pod: Pod, objects: Iterable[ObjectId]) -> None:
        """Have what the volumes of a pod show held once more: what the life before told may be lost."""
        self._register(pod, {wanted.kind for wanted in objects})

    def begin(self, wanted: ObjectId) -> None:
        """Follow and read an object once more, whatever the life before asked for."""
        if self._objects.get(wanted) is not None:
            self._objects.give_up(wanted)
            self._follow(wanted)
            self._read(wanted, again=True)

    def take(self, pod: Pod, before: frozenset[ObjectId], objects: frozenset[ObjectId]) -> None:
        """Hold, follow and read what the volumes of ``pod`` show; let go of what they showed ``before``."""
        self._drop(pod.uid, before - objects)
        self._register(pod, {wanted.kind for wanted in (*before, *objects)})
        for wanted in self._objects.add(pod.uid, objects):
            self._follow(wanted)
        for wanted in objects:
            self._read(wanted)

    def let_go(self, uid: PodUid, objects: frozenset[ObjectId]) -> None:
        """Let go of what a pod showed: it has no volumes any more."""
        self._drop(uid, objects)
        for kind in {wanted.kind for wanted in objects}:
            self._ports.objects[kind].tell(UnregisterPod(pod=uid))

    def note_change(self, wanted: ObjectId) -> None:
        """Read an object that has changed."""
        self._objects.note_change(wanted)
        self._read(wanted)

    def note_read(self, read: ObjectRead) -> tuple[ObjectId, bool, frozenset[PodUid]] | None:
        """Note an answer. Return what it is about, whether it is news, and which pods waited for it."""
        asked = read.ref
        if not isinstance(asked, ReadAsked):
            return None
        known = self._objects.get(asked.object)
        waited = known.read_for if known is not None else frozenset[PodUid]()
        is_news = self._objects.note_read(read)
        if is_news is None:
            return None
        self._read(asked.object)
        return asked.object, is_news, waited

    def look_again(self) -> None:
        """Read again what was not answered in time, and what is not there."""
        self._timer = None
        now = self._clock().monotonic()
        for wanted in self._objects.unanswered(Seconds(now - ANSWERED_WITHIN)):
            self._objects.give_up(wanted)
            self._read(wanted)
        for wanted in self._objects.missing():
            pause = READ_FILE_AGAIN if wanted.origin is Origin.LOCAL else READ_AGAIN
            self._read_if_older(wanted, Seconds(now - pause))
        if self._ports.reads_every is not None:
            for wanted in list(self._objects):
                self._read_if_older(wanted, Seconds(now - self._ports.reads_every))
        self._watch()

    def _read_if_older(self, wanted: ObjectId, limit: Seconds) -> None:
        known = self._objects.get(wanted)
        if known is not None and known.asked_at <= limit:
            self._read(wanted, again=True)

    def _drop(self, uid: PodUid, objects: Iterable[ObjectId]) -> None:
        for wanted in self._objects.drop(uid, objects):
            unfollow = UnfollowObjects(subscriber=self._ports.me, object=wanted)
            self._ports.objects[wanted.kind].tell(unfollow)

    def _register(self, pod: Pod, kinds: Iterable[ObjectKind]) -> None:
        for kind in kinds:
            self._ports.objects[kind].tell(RegisterPod(pod=pod))

    def _follow(self, wanted: ObjectId) -> None:
        follow = FollowObjects(subscriber=self._ports.me, object=wanted)
        self._ports.objects[wanted.kind].tell(follow)

    def _read(self, wanted: ObjectId, *, again: bool = False) -> None:
        now = self._clock().monotonic()
        read = self._objects.next_read(wanted, now, again=again)
        if read is not None:
            self._ask(read)
        self._watch()

    def _ask(self, read: ReadWanted) -> None:
        wanted = read.object
        question = GetObject(
            pod=read.pod,
            name=wanted.name,
            reply_to=self._ports.me,
            ref=ReadAsked(wanted, read.number),
        )
        self._ports.objects[wanted.kind].tell(question)

    def _watch(self) -> None:
        """Have a timer while anything is not answered, or not there, and only then."""
        if self._timer is not None:
            return
        if self._objects.is_any_open:
            self._timer = self._after(ANSWERED_WITHIN, VolumeReadsDue())
        elif self._ports.reads_every is not None and len(self._objects):
            self._timer = self._after(self._ports.reads_every, VolumeReadsDue())
