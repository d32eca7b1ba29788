"""What one pod is run with: objects and Services of its variables, and volumes. A part of its worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from actors.pods.orders import (
    ObjectLevelIs,
    ObjectsDue,
    PodWish,
    ServicesDue,
    ServicesLevelIs,
    VolumesOverdue,
)
from actors.pods.records import ObjectVersion
from actors.pods.worker.needs import NO_SUPPLIES, NeedFact, Supplies, WorkerNeeds, needs_anything
from actors.pods.worker.news import WorkerNews
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.volumes import WorkerVolumes
from kernel import Port, Timer
from messages.objects import ObjectFact, ObjectId, ObjectValue
from messages.pod_runtime import PodTrouble
from messages.pods import Pod
from messages.statuses import PodFailure
from messages.units import Seconds
from messages.volumes import ReleaseAnswer, VolumesAre, VolumesGone, VolumesStay


class WorkerSupply:
    """Asks others for what a pod is run with, for one life of its worker."""

    def __init__(
        self,
        ports: WorkerPorts,
        memory: WorkerMemory,
        me: Port[ObjectLevelIs | ObjectFact | ServicesLevelIs | VolumesAre | ReleaseAnswer],
        after: Callable[[Seconds, ObjectsDue | ServicesDue | VolumesOverdue], Timer],
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._me = me
        self._after = after
        self._needs: WorkerNeeds | None = None
        self._volumes = WorkerVolumes(ports.volumes, memory, me, after)
        self._was_compared = False
        """Changes that nobody heard of were decided on in this life."""

    @property
    def is_settled(self) -> bool:
        """Whether all of it is known, or was waited for long enough."""
        return self._volumes.is_settled and (self._needs is None or self._needs.is_settled)

    @property
    def volumes(self) -> VolumesAre | None:
        """How the pod's volumes are; None while that is not known, and where nobody makes any."""
        return self._volumes.told

    @property
    def troubles(self) -> tuple[PodTrouble, ...]:
        """The troubles of its volumes, as those of the pod."""
        return self._volumes.troubles()

    @property
    def objects(self) -> Mapping[ObjectId, ObjectValue] | None:
        """The objects of its variables, as far as they are there; None while nobody knows which are."""
        needs = self._needs
        return needs.supplies().objects if needs is not None and needs.is_settled else None

    def note_wish(self, wish: PodWish) -> None:
        """Note that there may be volumes of the pod."""
        self._volumes.note_wish(wish)

    def begin(self, pod: Pod) -> None:
        """Ask for what ``pod`` needs. May repeat, with another version of the pod."""
        if self._needs is None and needs_anything(pod, self._ports):
            self._needs = WorkerNeeds(self._ports, self._me, self._after)
            self._memory.has_needs = True
        if self._needs is not None:
            self._needs.begin(pod)
        self._volumes.begin(pod)

    def end(self, pod: Pod) -> None:
        """Let go of everything, and have the volumes taken away: the pod does not run. May repeat."""
        self._volumes.end(pod.uid)
        if self._memory.has_needs:
            needs = self._needs or WorkerNeeds(self._ports, self._me, self._after)
            needs.end(pod)
            self._needs, self._memory.has_needs = None, False

    def take_need(self, fact: NeedFact) -> bool:
        """Take in what is told of objects and Services. Return whether the pod needs any."""
        if self._needs is None:
            return False
        self._needs.take(fact)
        return True

    def take_volumes(self, fact: VolumesAre | ReleaseAnswer | VolumesOverdue) -> None:
        """Take in what is told of volumes."""
        match fact:
            case VolumesAre():
                self._volumes.note(fact)
            case VolumesGone():
                self._volumes.note_gone()
            case VolumesStay(reasons=reasons):
                self._volumes.note_stay(reasons)
            case VolumesOverdue():
                self._volumes.ask_again(self._memory.wish.pod.uid)
            case _:
                assert_never(fact)

    def supplies(self) -> Supplies:
        """Return what the runtime is to be told with the pod."""
        supplies = self._needs.supplies() if self._needs is not None else NO_SUPPLIES
        return supplies._replace(volumes=self._volumes.volumes)

    def missing(self) -> list[str]:
        """Return, in words, what volumes need that is not there."""
        files = self._needs.missing_files() if self._needs is not None else []
        return files or self._volumes.missing()

    def versions(self) -> dict[ObjectId, ObjectVersion]:
        """Return the versions of the objects whose changes the pod acts on."""
        return self._needs.versions() if self._needs is not None else {}

    def decided_versions(self) -> dict[ObjectId, ObjectVersion]:
        """Return the versions of these objects up to which it was decided what is done about changes."""
        return self._needs.decided_versions() if self._needs is not None else {}

    def compare(self, news: WorkerNews) -> None:
        """Have decided what is to be done about changes that no agent or life of this worker heard of."""
        needs, memory = self._needs, self._memory
        if needs is None or self._was_compared:
            return
        is_later_life, self._was_compared, memory.was_compared = memory.was_compared, True, True
        if memory.kept is None or not (is_later_life or memory.wish.was_there):
            return  # what it is started with now is the newest
        pending = memory.hooks.unsettled() if memory.hooks is not None else {}
        missed = needs.tell_missed(memory.kept.objects, pending)
        for changed in () if is_later_life else missed:
            wanted = changed.object
            news.say("an object changed while no agent was there", object=wanted.display_name)
            message = f'{wanted.kind} "{wanted.name}" changed while the agent was not running'
            news.post(PodFailure(reason="ReferenceChanged", message=message))
