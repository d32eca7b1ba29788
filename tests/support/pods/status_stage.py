"""A stage for StatusKeeper with a real PodManager and an API server in memory.

``tells`` acts as a worker. What the watch of pods shows goes to PodManager as listings of the API source,
and ``serves`` acts as the source of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from actors.pods.status_keeper import STATUS_KEEPER, StatusKeeper, StatusPorts
from actors.pods.status_records import StatusMemory
from kernel import Port, Steps
from messages.api import ApiRequest, CallApi
from messages.events import PostEvent
from messages.pod_runtime import ContainerHistory
from messages.pods import CONFIG_MIRROR, CONFIG_SOURCE, FILE, JsonObject, Pod
from messages.sources import Epoch, SourceListed
from messages.statuses import (
    FollowStatuses,
    ForgetPodStatus,
    PodFailure,
    PodStatus,
    PodStatusChanged,
    PodStatusIs,
    StatusesDescribed,
)
from messages.units import Timestamp
from messages.watches import Watch
from stores.statuses.status import StatusSituation, status_after
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, StagedActor, stage_for
from tests.support.mirrors.mirror_stage import NODE, PODS_OF_NODE, PodWatcher
from tests.support.pods.observations import observation
from tests.support.questions import describe_statuses


@dataclass(slots=True, eq=False)
class StatusReader(Port[PodStatusChanged]):
    """A follower that notes the phases that it is told."""

    told: list[str] = field(default_factory=list)

    @override
    def tell(self, message: PodStatusChanged, /) -> None:
        self.told.append(f"{message.pod.name} {message.status.phase.value}")


class StatusStage:
    """The stage, and everything that the keeper deals with."""

    def __init__(self, store: ApiStore, *, is_joined: bool, seed: int = 0) -> None:
        self.store = store
        self.api = FakeApi(store, as_node=NODE)
        self._calls: list[Port[CallApi]] = [self.api.calls]
        self.events: Probe[PostEvent] = Probe()
        self.memory = StatusMemory()
        self._is_joined = is_joined
        self._sequence = 0
        self.play = stage_for(*self._actors(), runtime=Steps(seed), root=PATIENT_ROOT)
        pod_manager = self.play.port(POD_MANAGER)
        self.watcher = PodWatcher(pod_manager)
        self.play.start()

    # --- the agent's side ----------------------------------------------------------------------------

    def connects(self, calls: Port[CallApi]) -> None:
        """Have calls go by ``calls``, and nowhere else."""
        self._calls[:] = [calls]
        self.crashes()

    def watches(self) -> None:
        """Have the API source begin its watch: it lists."""
        self.api.watches.tell(Watch(target=PODS_OF_NODE, subscriber=self.watcher))
        self.play.settle()

    def serves(self, *pods: Pod) -> None:
        """Have the source of files list ``pods``."""
        self._sequence += 1
        epoch = Epoch(1, self._sequence)
        self.play.tell(POD_MANAGER, SourceListed(source=FILE, epoch=epoch, pods=pods))

    def tells(
        self,
        pod: Pod,
        *histories: ContainerHistory,
        is_finished: bool = False,
        is_ended: bool = False,
        failure: PodFailure | None = None,
        **observed: Any,
    ) -> PodStatus:
        """Have the pod's worker tell the status that follows from what is observed."""
        record = self.memory.records.get(pod.uid)
        status = status_after(
            StatusSituation(
                pod=pod,
                observed=observation(*histories, uid=pod.uid, **observed) if histories else None,
                previous=None if record is None else record.status,
                failure=failure,
                is_ended=is_ended or is_finished,
                host_ips=("192.0.2.1",),
                now=Timestamp(self.play.clock.wall()),
            )
        )
        self.play.tell(STATUS_KEEPER, PodStatusIs(pod=pod, status=status, is_finished=is_finished))
        return status

    def forgets(self, pod: Pod) -> None:
        """Have the keeper of pods say that nothing of a pod is left."""
        self.play.tell(STATUS_KEEPER, ForgetPodStatus(uid=pod.uid))

    def follows(self) -> StatusReader:
        """Return a new follower."""
        reader = StatusReader()
        self.play.tell(STATUS_KEEPER, FollowStatuses(subscriber=reader))
        return reader

    def settle(self) -> None:
        """Let everything happen that needs no time."""
        self.play.settle()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.play.advance(seconds)

    def crashes(self) -> None:
        """Crash the keeper, and let time pass until its next life is up."""
        self.play.system.crash(STATUS_KEEPER.path)
        self.play.advance(1.0)

    def check(self) -> None:
        """Fail if an actor crashed by itself."""
        errors = [ended.error for ended in self.play.endings]
        assert [error for error in errors if "InjectedCrashError" not in error] == []

    def described(self) -> StatusesDescribed:
        """Return what the keeper says of the statuses."""
        return self.play.ask(STATUS_KEEPER, describe_statuses)

    # --- the cluster's side --------------------------------------------------------------------------

    def binds(self, name: str = "web", **spec: Any) -> Pod:
        """Have a pod created that is bound to the node; return it as the watch shows it."""
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeName": NODE,
                "containers": [{"name": "main", "image": "registry.example/web:1"}],
                **spec,
            },
        }
        added = Pod.of(self.store.add(document))
        self.play.settle()
        return Pod.of(_as_told(added.document))

    def mirrors(self, static: Pod, config_hash: str | None = None) -> Pod:
        """Have a mirror of ``static`` created, of this version or of another."""
        hash_ = static.uid if config_hash is None else config_hash
        annotations = {**static.annotations, CONFIG_MIRROR: hash_}
        document = {
            **static.document,
            "metadata": {
                "name": static.name,
                "namespace": static.namespace,
                "annotations": annotations,
            },
        }
        added = Pod.of(self.store.add(document))
        self.play.settle()
        return added

    def removes(self, name: str = "web", grace: int | None = None) -> Pod:
        """Have somebody delete a pod, by force if ``grace`` is 0; return it as it is from then on."""
        self.store.remove("pods", "default", name, grace=grace)
        self.play.settle()
        left = [one for one in self.store.pods() if one["metadata"]["name"] == name]
        return Pod.of(_as_told(left[0])) if left else make_pod(name)

    def shown(self, name: str = "web") -> JsonObject:
        """Return the status of a pod at the API server."""
        status: JsonObject = self.store.get("pods", "default", name)["status"]
        return status

    def conditions(self, name: str = "web") -> dict[str, str]:
        """Return the conditions of a pod at the API server."""
        return {each["type"]: each["status"] for each in self.shown(name).get("conditions", ())}

    def names(self) -> list[str]:
        """Return the names of all pods at the API server."""
        return [document["metadata"]["name"] for document in self.store.pods()]

    def asked(self) -> list[str]:
        """Return what was asked of the API server since the last look, as ``PATCH web``."""
        requests = self.api.calls.requests
        asked = [_in_words(request) for request in requests]
        requests.clear()
        return asked

    def _actors(self) -> tuple[StagedActor, ...]:
        pods = PodMemory()
        pod_manager = (POD_MANAGER, lambda _play: PodManager({}, pods))
        return (pod_manager, (STATUS_KEEPER, self._make_keeper))

    def _make_keeper(self, play: Stage) -> StatusKeeper:
        me = play.port(STATUS_KEEPER)
        if not self._is_joined:
            return StatusKeeper(StatusPorts(me=me), self.memory)
        pod_manager = play.port(POD_MANAGER)
        ports = StatusPorts(
            me=me, pod_manager=pod_manager, calls=self._calls[0], events=self.events
        )
        return StatusKeeper(ports, self.memory)


@contextmanager
def status_stage(
    *, store: ApiStore | None = None, is_joined: bool = True, seed: int = 0
) -> Iterator[StatusStage]:
    """Start a keeper that knows nothing."""
    stage = StatusStage(store or ApiStore(), is_joined=is_joined, seed=seed)
    try:
        yield stage
        stage.check()
    finally:
        stage.play.stop()


def _as_told(document: JsonObject) -> JsonObject:
    """Return a pod as PodManager tells it: with the annotation of its source."""
    metadata = document["metadata"]
    annotations = {**metadata.get("annotations", {}), CONFIG_SOURCE: "api"}
    return {**document, "metadata": {**metadata, "annotations": annotations}}


def _in_words(request: ApiRequest) -> str:
    path = request.path.removesuffix("/status")
    return f"{request.verb.value} {path.rpartition('/')[2]}"
