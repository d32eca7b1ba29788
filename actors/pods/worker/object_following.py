"""Following the objects that one pod needs. A part of its worker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

from actors.pods.orders import ObjectsDue
from actors.pods.records import ObjectVersion
from actors.pods.worker.needed_objects import NeededObjects, needed_objects
from kernel import Followable, LevelIs, Port, Timer, Unset
from messages.objects import (
    BEGUN_WITH,
    ChangeMissed,
    FollowObjects,
    HeldObject,
    ObjectChanged,
    ObjectFact,
    ObjectId,
    ObjectKind,
    ObjectValue,
    RegisterPod,
    UnfollowObjects,
    UnprovenTaken,
    UnregisterPod,
)
from messages.pods import Pod
from messages.units import Seconds

WAITS_FOR: Final = Seconds(1.0)
"""How long a pod waits for a fresh value, as a kubelet does. Then it goes on with what is known."""
LOOK_AGAIN: Final = Seconds(10.0)
"""How often a fresh value is asked for of an object that is missing. Whoever holds objects tells of each
change at once; this is for strategies that hear of none."""

ObjectManagers: TypeAlias = Mapping[
    ObjectKind,
    Port[
        RegisterPod | UnregisterPod | FollowObjects | UnfollowObjects | UnprovenTaken | ChangeMissed
    ],
]
"""The addresses of the managers of Secrets and of ConfigMaps."""
ObjectLevels: TypeAlias = Mapping[ObjectKind, Followable[ObjectId, HeldObject]]
"""What is known of Secrets and of ConfigMaps."""


class ObjectFollowing:
    """Follows what a pod needs, for one life of its worker."""

    def __init__(
        self,
        managers: ObjectManagers,
        objects: ObjectLevels,
        me: Port[LevelIs[ObjectId, HeldObject] | ObjectFact],
        after: Callable[[Seconds, ObjectsDue], Timer],
        *,
        with_files: bool = True,
    ) -> None:
        """With ``with_files`` the pod waits for what files of its volumes are made of."""
        self._with_files = with_files
        self._managers = managers
        self._objects = objects
        self._me = me
        self._after = after
        self._pod: Pod | None = None
        self._needed: NeededObjects | None = None
        self._timer: Timer | None = None

    @property
    def is_settled(self) -> bool:
        """Whether every object is known as it is now, or was waited for long enough."""
        return self._needed is None or not self._needed.awaited()

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

    def decided_versions(self) -> dict[ObjectId, ObjectVersion]:
        """Return the versions of these objects up to which it was decided what is done about changes."""
        return {} if self._needed is None else self._needed.decided_versions()

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
        """Hold and follow what ``pod`` needs. May repeat, with another version of the pod."""
        if self._pod is pod:
            return
        before, self._needed, self._pod = self._needed, self._needed_by(pod), pod
        needed = self._needed
        if before is not None and needed is not None:
            needed.keep(before)
        kinds = (kind for each in (before, needed) if each is not None for kind in each.kinds())
        for kind in dict.fromkeys(kinds):
            self._managers[kind].tell(RegisterPod(pod=pod))
        self._follow(pod, before, needed)
        if needed is not None:
            self._ask(needed.awaited())
        self._cancel()
        self._wait()

    def end(self, pod: Pod) -> None:
        """Let go of everything: ``pod`` does not run any more. May repeat."""
        needed, self._needed, self._pod = self._needed or self._needed_by(pod), None, None
        self._cancel()
        self._follow(pod, needed, None)
        for kind in needed.kinds() if needed is not None else ():
            self._managers[kind].tell(UnregisterPod(pod=pod.uid))

    def note(self, told: LevelIs[ObjectId, HeldObject]) -> None:
        """Note what an object is."""
        if self._needed is not None and not isinstance(told.value, Unset):
            self._needed.note(told.key, told.value, is_fresh=told.is_fresh)
            self._wait()

    def note_change(self, changed: ObjectChanged) -> None:
        """Note that it was decided what is done about a change, if anything."""
        if self._needed is not None:
            self._needed.note_change(changed)

    def wait_no_longer(self) -> None:
        """Go on with what is known. Ask again for what was missing before."""
        self._timer, needed, pod = None, self._needed, self._pod
        if needed is None or pod is None:
            return
        missing = needed.missing()
        for wanted, held in needed.take_unproven():
            if held.verdict in BEGUN_WITH:
                version = held.value.resource_version if held.value is not None else ""
                taken = UnprovenTaken(
                    pod=pod.uid, object=wanted, verdict=held.verdict, resource_version=version
                )
                self._managers[wanted.kind].tell(taken)
        self._ask(missing)
        self._wait()

    def _needed_by(self, pod: Pod) -> NeededObjects | None:
        return needed_objects(pod, with_files=self._with_files)

    def _follow(self, pod: Pod, before: NeededObjects | None, needed: NeededObjects | None) -> None:
        """Follow what is needed and nothing else, and decisions about what is acted on."""
        ids = needed.ids() if needed is not None else ()
        for kind, level in self._objects.items():
            level.follow_only([each for each in ids if each.kind is kind], self._me)
        acted_on = needed.acted_on() if needed is not None else []
        for wanted in before.acted_on() if before is not None else ():
            if wanted not in acted_on:
                unfollow = UnfollowObjects(subscriber=self._me, object=wanted)
                self._managers[wanted.kind].tell(unfollow)
        for wanted in acted_on:
            follow = FollowObjects(subscriber=self._me, object=wanted, pod=pod.uid)
            self._managers[wanted.kind].tell(follow)

    def _ask(self, objects: Iterable[ObjectId]) -> None:
        for wanted in objects:
            self._objects[wanted.kind].follow(wanted, self._me, fresh=True)

    def _wait(self) -> None:
        """Have a timer while anything is awaited or missing, and only then."""
        needed = self._needed
        if needed is None or not (needed.awaited() or needed.missing()):
            self._cancel()
        elif self._timer is None:
            delay = WAITS_FOR if needed.awaited() else LOOK_AGAIN
            self._timer = self._after(delay, ObjectsDue())

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
