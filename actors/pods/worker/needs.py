"""What one pod needs of others before it runs: Secrets, ConfigMaps and Services. A part of its worker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, TypeAlias, assert_never, cast

from actors.pods.orders import ObjectLevelIs, ObjectsDue, ServicesDue, ServicesLevelIs
from actors.pods.records import ObjectVersion
from actors.pods.worker.needed_objects import needed_objects
from actors.pods.worker.object_following import ObjectFollowing
from actors.pods.worker.parts import WorkerPorts
from actors.pods.worker.service_following import ServiceFollowing
from kernel import LevelIs, Port, Timer
from messages.objects import ObjectChanged, ObjectFact, ObjectId, ObjectValue
from messages.pods import Pod
from messages.services import ClusterServices
from messages.units import Seconds
from messages.volumes import PodVolume

NeedFact: TypeAlias = ObjectLevelIs | ObjectChanged | ObjectsDue | ServicesLevelIs | ServicesDue
"""What a worker hears of what its pod needs."""


class Supplies(NamedTuple):
    """What a runtime is told with a pod: the fields of ``RunPod``."""

    objects: Mapping[ObjectId, ObjectValue]
    unread: Mapping[ObjectId, str]
    services: ClusterServices
    volumes: Mapping[str, PodVolume]


NO_SUPPLIES: Final = Supplies({}, {}, (), {})


def needs_anything(pod: Pod, ports: WorkerPorts) -> bool:
    """Return whether ``pod`` needs anything of others. Most pods of a mass start do not."""
    with_files = ports.volumes is None
    return ports.services is not None or needed_objects(pod, with_files=with_files) is not None


class WorkerNeeds:
    """Asks for what a pod needs, and hears when it changes, for one life of its worker."""

    def __init__(
        self,
        ports: WorkerPorts,
        me: Port[ObjectLevelIs | ObjectFact | ServicesLevelIs],
        after: Callable[[Seconds, ObjectsDue | ServicesDue], Timer],
    ) -> None:
        # Whoever makes volumes follows what their files are.
        with_files = ports.volumes is None
        self._objects = ObjectFollowing(
            ports.managers, ports.objects, me, after, with_files=with_files
        )
        self._services = (
            ServiceFollowing(ports.services, me, after) if ports.services is not None else None
        )

    @property
    def is_settled(self) -> bool:
        """Whether everything is known, or was waited for long enough."""
        services = self._services
        return self._objects.is_settled and (services is None or services.is_settled)

    def begin(self, pod: Pod) -> None:
        """Ask for what ``pod`` needs. May repeat, with another version of the pod."""
        self._objects.begin(pod)
        if self._services is not None:
            self._services.begin(pod)

    def end(self, pod: Pod) -> None:
        """Let go of everything: ``pod`` does not run any more. May repeat."""
        self._objects.end(pod)
        if self._services is not None:
            self._services.end(pod)

    def take(self, fact: NeedFact) -> None:
        """Take in what is told."""
        match fact:
            case ObjectChanged():
                self._objects.note_change(fact)
            case ObjectsDue():
                self._objects.wait_no_longer()
            case LevelIs(key=ObjectId()):
                self._objects.note(cast(ObjectLevelIs, fact))
            case LevelIs():
                if self._services is not None:
                    self._services.note(cast(ServicesLevelIs, fact))
            case ServicesDue():
                if self._services is not None:
                    self._services.wait_no_longer()
            case _:
                assert_never(fact)

    def supplies(self) -> Supplies:
        """Return what the runtime is to be told with the pod."""
        services = self._services.services if self._services is not None else ()
        return Supplies(self._objects.values(), self._objects.unread(), services, {})

    def missing_files(self) -> list[str]:
        """Return, in words, what volumes require that is not there."""
        return self._objects.missing_files()

    def versions(self) -> dict[ObjectId, ObjectVersion]:
        """Return the versions of the objects whose changes the pod acts on."""
        return self._objects.versions()

    def decided_versions(self) -> dict[ObjectId, ObjectVersion]:
        """Return the versions of these objects up to which it was decided what is done about changes."""
        return self._objects.decided_versions()

    def tell_missed(
        self, begun_with: Mapping[ObjectId, ObjectVersion], pending: Collection[ObjectId]
    ) -> list[ObjectChanged]:
        """Have decided what is to be done about changes since the pod had those versions. Return them.

        About ``pending`` objects that is decided already.
        """
        return self._objects.tell_missed(begun_with, pending)
