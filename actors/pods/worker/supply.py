"""What one pod is run with: objects and Services of its variables, and volumes. A part of its worker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeAlias, assert_never, cast

from actors.pods.orders import (
    ObjectLevelIs,
    ObjectsDue,
    ServicesDue,
    ServicesLevelIs,
    VolumesOverdue,
)
from actors.pods.records import ObjectVersion
from actors.pods.worker.needed_objects import NOTHING_NEEDED, NeededObjects, needed_objects
from actors.pods.worker.news import WorkerNews
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.volumes import WorkerVolumes
from kernel import Followable, LevelIs, Port, Timer, Unset
from messages.cluster import ClusterServices, ServicesIn
from messages.objects import (
    BEGUN_WITH,
    ChangeMissed,
    FollowObjects,
    HeldObject,
    ObjectChanged,
    ObjectFact,
    ObjectId,
    ObjectValue,
    RegisterPod,
    UnfollowObjects,
    UnprovenTaken,
    UnregisterPod,
)
from messages.pods import Pod
from messages.statuses import PodFailure
from messages.units import Seconds
from messages.volumes import PodVolume, ReleaseAnswer, VolumesAre

WAITS_FOR: Final = Seconds(1.0)
"""How long a pod waits for a fresh value, as a kubelet does. Then it goes on with what is known."""
LOOK_AGAIN: Final = Seconds(10.0)
"""How often a fresh value is asked for of an object that is missing. Whoever holds objects tells of each
change at once; this is for strategies that hear of none."""
KNOWN_WITHIN: Final = Seconds(3.0)
"""How long the first start of a pod waits for Services. It goes without them after that."""

NeedFact: TypeAlias = ObjectLevelIs | ObjectChanged | ObjectsDue | ServicesLevelIs | ServicesDue
"""What a worker hears of the objects and Services that its pod needs."""


class Supplies(NamedTuple):
    """What a runtime is told with a pod: the fields of ``RunPod``."""

    objects: Mapping[ObjectId, ObjectValue]
    unread: Mapping[ObjectId, str]
    services: ClusterServices
    volumes: Mapping[str, PodVolume]


NO_SUPPLIES: Final = Supplies({}, {}, (), {})


class WorkerSupply:
    """Asks others for what a pod is run with, for one life of its worker."""

    def __init__(
        self,
        ports: WorkerPorts,
        memory: WorkerMemory,
        me: Port[ObjectLevelIs | ObjectFact | ServicesLevelIs | VolumesAre | ReleaseAnswer],
        after: Callable[[Seconds, ObjectsDue | ServicesDue | VolumesOverdue], Timer],
    ) -> None:
        self._memory = memory
        self._with_files = ports.volumes is None
        """The pod waits for what files of its volumes show. Else who makes volumes follows that."""
        self._pod: Pod | None = None
        """The version that is supplied; None while none is."""
        self._follow = partial(ObjectFollowing, ports, me, after)
        self._objects: ObjectFollowing | None = None
        """None while the pod needs no object and no Service, as most pods of a mass start."""
        self._services = (
            ServiceFollowing(ports.services, me, after) if ports.services is not None else None
        )
        self.volumes = WorkerVolumes(ports.volumes, memory, me, after)
        self._was_compared = False
        """Changes that nobody heard of were decided on in this life."""

    @property
    def is_settled(self) -> bool:
        """Whether all of it is known, or was waited for long enough."""
        return self.volumes.is_settled and self._is_read

    @property
    def _is_read(self) -> bool:
        """Whether objects and Services are known as they are now, or were waited for long enough."""
        services = self._services
        return not self.needed.awaited() and (services is None or services.is_settled)

    @property
    def needed(self) -> NeededObjects:
        """The objects that the pod needs, and what is known of them."""
        return self._objects.needed if self._objects is not None else NOTHING_NEEDED

    @property
    def objects(self) -> Mapping[ObjectId, ObjectValue] | None:
        """The objects of its variables, as far as they are there; None while nobody knows which are."""
        return self.needed.values() if self._objects is not None and self._is_read else None

    def begin(self, pod: Pod) -> None:
        """Ask for what ``pod`` needs. May repeat, with another version of the pod."""
        if self._pod is pod:
            return
        self._pod, needed = pod, self._needed_by(pod)
        if self._objects is None and (needed or self._services is not None):
            self._objects, self._memory.has_needs = self._follow(), True
        if self._objects is not None:
            self._objects.begin(pod, needed)
            if self._services is not None:
                self._services.begin(pod)
        self.volumes.begin(pod)

    def end(self, pod: Pod) -> None:
        """Let go of everything, and have the volumes taken away: the pod does not run. May repeat."""
        self.volumes.end(pod.uid)
        if self._memory.has_needs:
            following = self._objects or self._follow()
            following.end(pod, self._needed_by(pod))
            if self._services is not None:
                self._services.end(pod)
        self._pod, self._objects, self._memory.has_needs = None, None, False

    def _needed_by(self, pod: Pod) -> NeededObjects:
        return needed_objects(pod, with_files=self._with_files)

    def take_need(self, fact: NeedFact) -> bool:
        """Take in what is told of objects and Services. Return whether the pod needs any."""
        if self._objects is None:
            return False
        match fact:
            case ObjectChanged():
                self.needed.note_change(fact)
            case ObjectsDue():
                self._objects.wait_no_longer()
            case LevelIs(key=ObjectId()):
                self._objects.note(cast(ObjectLevelIs, fact))
            case LevelIs() | ServicesDue():
                if self._services is not None:
                    self._services.take(cast(ServicesLevelIs | ServicesDue, fact))
            case _:
                assert_never(fact)
        return True

    def supplies(self) -> Supplies:
        """Return what the runtime is to be told with the pod."""
        services = self._services.services if self._services is not None else ()
        needed = self.needed
        return Supplies(needed.values(), needed.unread(), services, self.volumes.volumes)

    def missing(self) -> list[str]:
        """Return, in words, what volumes need that is not there."""
        return self.needed.missing_files() or self.volumes.missing()

    def compare(self, news: WorkerNews) -> None:
        """Have decided what is to be done about changes that no agent or life of this worker heard of."""
        memory = self._memory
        if self._objects is None or self._was_compared:
            return
        is_later_life, self._was_compared, memory.was_compared = memory.was_compared, True, True
        if memory.kept is None or not (is_later_life or memory.wish.was_there):
            return  # what it is started with now is the newest
        pending = memory.hooks.unsettled() if memory.hooks is not None else {}
        missed = self._objects.tell_missed(memory.kept.objects, pending)
        for changed in () if is_later_life else missed:
            wanted = changed.object
            news.say("an object changed while no agent was there", object=wanted.display_name)
            message = f'{wanted.kind} "{wanted.name}" changed while the agent was not running'
            news.post(PodFailure(reason="ReferenceChanged", message=message))


class ObjectFollowing:
    """Follows what a pod needs, for one life of its worker."""

    def __init__(
        self,
        ports: WorkerPorts,
        me: Port[LevelIs[ObjectId, HeldObject] | ObjectFact],
        after: Callable[[Seconds, ObjectsDue], Timer],
    ) -> None:
        self._managers = ports.managers
        self._objects = ports.objects
        self._me = me
        self._after = after
        self._pod: Pod | None = None
        self._timer: Timer | None = None
        self.needed: NeededObjects = NOTHING_NEEDED
        """What the pod needs, and what is known of it."""

    def tell_missed(
        self, begun_with: Mapping[ObjectId, ObjectVersion], pending: Collection[ObjectId]
    ) -> list[ObjectChanged]:
        """Have the managers decide about changes since the pod had those versions. Return the changes.

        About ``pending`` objects they have decided already.
        """
        if self._pod is None:
            return []
        changes = self.needed.missed_changes(begun_with)
        missed = [each for each in changes if each.object not in pending]
        for changed in missed:
            told = ChangeMissed(pod=self._pod.uid, changed=changed)
            self._managers[changed.object.kind].tell(told)
        return missed

    def begin(self, pod: Pod, needed: NeededObjects) -> None:
        """Hold and follow what ``pod`` needs. May repeat, with another version of the pod."""
        before, self.needed, self._pod = self.needed, needed, pod
        needed.keep(before)
        for kind in dict.fromkeys((*before.kinds(), *needed.kinds())):
            self._managers[kind].tell(RegisterPod(pod=pod))
        self._follow(pod, before, needed)
        self._ask(needed.awaited())
        self._cancel()
        self._wait()

    def end(self, pod: Pod, needed: NeededObjects) -> None:
        """Let go of everything that ``pod`` needed: it does not run any more. May repeat."""
        needed, self.needed, self._pod = self.needed or needed, NOTHING_NEEDED, None
        self._cancel()
        self._follow(pod, needed, NOTHING_NEEDED)
        for kind in needed.kinds():
            self._managers[kind].tell(UnregisterPod(pod=pod.uid))

    def note(self, told: LevelIs[ObjectId, HeldObject]) -> None:
        """Note what an object is."""
        if not isinstance(told.value, Unset):
            self.needed.note(told.key, told.value, is_fresh=told.is_fresh)
            self._wait()

    def wait_no_longer(self) -> None:
        """Go on with what is known. Ask again for what was missing before."""
        self._timer, needed, pod = None, self.needed, self._pod
        if pod is None:
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

    def _follow(self, pod: Pod, before: NeededObjects, needed: NeededObjects) -> None:
        """Follow what is needed and nothing else, and decisions about what is acted on."""
        for kind, level in self._objects.items():
            level.follow_only([each for each in needed.ids() if each.kind is kind], self._me)
        acted_on = needed.acted_on()
        for wanted in before.acted_on():
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
        needed = self.needed
        if not (needed.awaited() or needed.missing()):
            self._cancel()
        elif self._timer is None:
            delay = WAITS_FOR if needed.awaited() else LOOK_AGAIN
            self._timer = self._after(delay, ObjectsDue())

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ServiceFollowing:
    """Follows the Services of a pod's namespace, for one life of its worker.

    They come to the runtime with ``RunPod``, as Secrets and ConfigMaps do, and again when they change: so a
    runtime knows no API server, one that was restarted hears everything again, and a pod can wait for them
    before it starts. Workers follow them only where the runtime makes containers of them; hollow pods cost
    nothing.
    """

    def __init__(
        self,
        level: Followable[ServicesIn, ClusterServices | None],
        me: Port[LevelIs[ServicesIn, ClusterServices | None]],
        after: Callable[[Seconds, ServicesDue], Timer],
    ) -> None:
        self._level = level
        self._me = me
        self._after = after
        self._followed: ServicesIn | None = None
        """What is followed; None for nothing yet."""
        self._timer: Timer | None = None
        self._is_waited_for = False
        self._is_told = False
        self.services: ClusterServices = ()
        """As they were told last."""

    @property
    def is_settled(self) -> bool:
        """Whether they are known, or were waited for long enough."""
        return self._is_told or not self._is_waited_for

    def begin(self, pod: Pod) -> None:
        """Follow what ``pod`` is told of. May repeat.

        A static pod does not wait: it runs even where there is no API server.
        """
        if self._followed is None:
            self._followed, self._is_waited_for = _followed_by(pod), not pod.is_static
            self._level.follow(self._followed, self._me)
            if self._is_waited_for:
                self._timer = self._after(KNOWN_WITHIN, ServicesDue())

    def end(self, pod: Pod) -> None:
        """Follow nothing any more. May repeat, also in a life that never began to."""
        self._level.leave(_followed_by(pod), self._me)
        self._followed = None
        self._wait_no_longer()

    def take(self, fact: ServicesLevelIs | ServicesDue) -> None:
        """Take what is told. Have the pod start without Services if nothing was told in time."""
        if isinstance(fact, ServicesDue):
            self._wait_no_longer()
        elif fact.key == self._followed and not isinstance(fact.value, Unset):
            self.services, self._is_told = fact.value or (), True
            self._wait_no_longer()

    def _wait_no_longer(self) -> None:
        self._is_waited_for = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _followed_by(pod: Pod) -> ServicesIn:
    """Return what ``pod`` is told of: only the API server's Service if it wants to know of none."""
    links = (pod.document.get("spec") or {}).get("enableServiceLinks")
    return ServicesIn("" if links is False else pod.namespace)
