"""The world of the crash matrix around StatusKeeper: workers that tell statuses, a watch, an API server."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from typing_extensions import override

from actors.pods.status_keeper import STATUS_KEEPER, StatusKeeper, StatusPorts
from actors.pods.status_records import StatusMemory
from kernel import Backoff, Port, SupervisorSpec, isolated
from messages.api import CallApi, Verb
from messages.changes import Op, PodChange
from messages.pod_lives import RepeatPodStatuses
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.pod_runtime import ContainerHistory
from messages.pods import API, JsonObject, Pod, PodUid
from messages.statuses import FollowStatuses, ForgetPodStatus, PodStatusChanged, PodStatusIs
from messages.units import Seconds, Timestamp
from messages.watches import ObjectOp, ObjectsAre, Watch, WatchEvent, WatchFact
from stores.statuses.status import StatusSituation, status_after
from tests.support.apiserver.fake_api import FakeApi
from tests.support.crash_matrix import Outcome, StoryRun, World
from tests.support.mirrors.mirror_stage import NODE, PODS_OF_NODE
from tests.support.pods.observations import observation


@dataclass(slots=True, eq=False)
class WatchedPods(Port[Subscribe | WatchFact]):
    """PodManager as its subscribers see it: it tells what the watch of pods shows."""

    pods: dict[PodUid, Pod] = field(default_factory=dict)
    subscribers: dict[Port[PodFact], None] = field(default_factory=dict)

    @override
    def tell(self, message: Subscribe | WatchFact, /) -> None:
        match message:
            case Subscribe(subscriber=subscriber):
                self.subscribers[subscriber] = None
                self._tell_all(subscriber)
            case ObjectsAre(objects=objects):
                self.pods = {pod.uid: pod for pod in map(Pod.of, objects)}
                for subscriber in self.subscribers:
                    self._tell_all(subscriber)
            case WatchEvent(op=op, object=document):
                self._tell_change(op, Pod.of(document))
            case _:
                pass

    def _tell_all(self, subscriber: Port[PodFact]) -> None:
        subscriber.tell(PodsAre(source=API, pods=tuple(self.pods.values())))

    def _tell_change(self, op: ObjectOp, pod: Pod) -> None:
        kind = Op.UPDATE if pod.uid in self.pods else Op.ADD
        if op is ObjectOp.DELETED:
            kind = Op.REMOVE
            self.pods.pop(pod.uid, None)
        else:
            self.pods[pod.uid] = pod
        for subscriber in self.subscribers:
            subscriber.tell(PodsChanged(source=API, changes=(PodChange(op=kind, pod=pod),)))


@dataclass(slots=True, eq=False)
class CountedCalls(Port[CallApi]):
    """Passes calls on, and counts deletions."""

    port: Port[CallApi]
    deletions: Counter[str] = field(default_factory=Counter)

    @override
    def tell(self, message: CallApi, /) -> None:
        if message.request.verb is Verb.DELETE:
            self.deletions[message.request.path] += 1
        self.port.tell(message)


@dataclass(slots=True, eq=False)
class TellingWorkers(Port[RepeatPodStatuses]):
    """The workers of all pods: each remembers what it told last."""

    told: dict[PodUid, PodStatusIs] = field(default_factory=dict)
    keeper: list[Port[PodStatusIs]] = field(default_factory=list)

    @override
    def tell(self, message: RepeatPodStatuses, /) -> None:
        for status in self.told.values():
            self.keeper[0].tell(status)


@dataclass(slots=True, eq=False)
class LastStatuses(Port[PodStatusChanged]):
    """A follower who remembers the last status of each pod."""

    phases: dict[str, str] = field(default_factory=dict)

    @override
    def tell(self, message: PodStatusChanged, /) -> None:
        self.phases[message.pod.name] = message.status.phase.value


class StatusWorld(World):
    """StatusKeeper, which is the victim."""

    pause: ClassVar[float] = 0.5  # longer than the first backoffs
    in_the_end: ClassVar[float] = 90.0  # longer than a lost call is waited for
    taken_at_once: ClassVar[tuple[type, ...]] = (FollowStatuses, ForgetPodStatus)

    def __init__(self, run: StoryRun) -> None:
        self.api = FakeApi(as_node=NODE)
        self.watched = WatchedPods()
        self.calls = CountedCalls(self.api.calls)
        self.workers = TellingWorkers()
        self.follower = LastStatuses()
        self.memory = StatusMemory()
        backoff = Backoff(initial=Seconds(0.1), cap=Seconds(1.0))
        keeper = isolated(STATUS_KEEPER, self._make)
        super().__init__(run, SupervisorSpec(name="root", backoff=backoff, children=(keeper,)))
        keeper_port: Port[Any] = self.play.port(STATUS_KEEPER)
        self.workers.keeper.append(keeper_port)
        self.api.watches.tell(Watch(target=PODS_OF_NODE, subscriber=self.watched))

    def binds(self, name: str) -> None:
        """Have a pod created that is bound to the node."""
        containers = [{"name": "main", "image": "registry.example/web:1"}]
        self.api.store.add(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"nodeName": NODE, "containers": containers},
            }
        )

    def tells(self, name: str, *histories: ContainerHistory, **fields: Any) -> None:
        """Have the pod's worker tell what follows from what is observed."""
        pod = next(pod for pod in self.watched.pods.values() if pod.name == name)
        before = self.workers.told.get(pod.uid)
        is_finished = fields.pop("is_finished", False)
        situation = StatusSituation(
            pod=pod,
            observed=observation(*histories, uid=pod.uid),
            previous=None if before is None else before.status,
            is_ended=is_finished,
            now=Timestamp(self.play.clock.wall()),
        )
        told = PodStatusIs(pod=pod, status=status_after(situation), is_finished=is_finished)
        self.workers.told[pod.uid] = told
        self.play.port(STATUS_KEEPER).tell(told)

    def forgets(self, name: str) -> None:
        """Have the keeper of pods say that nothing of a pod is left."""
        (uid,) = [uid for uid, told in self.workers.told.items() if told.pod.name == name]
        del self.workers.told[uid]
        self.play.port(STATUS_KEEPER).tell(ForgetPodStatus(uid=uid))

    def follows(self) -> None:
        """Have somebody follow."""
        self.play.port(STATUS_KEEPER).tell(FollowStatuses(subscriber=self.follower))

    def _make(self) -> StatusKeeper:
        me: Port[Any] = self.play.port(STATUS_KEEPER)
        ports = StatusPorts(
            me=me, pod_keeper=self.workers, pod_manager=self.watched, calls=self.calls
        )
        return StatusKeeper(ports, self.memory)

    @override
    def _outcome(self) -> Outcome:
        shown = {pod["metadata"]["name"]: _in_words(pod) for pod in self.api.store.pods()}
        records = self.memory.records.values()
        return Outcome(
            observed={
                "shown": shown,
                "followed": dict(self.follower.phases),
                "kept": sorted(record.pod.name for record in records),
                "waiting": sorted(record.pod.name for record in records if record.is_waiting),
                "errors": self.other_errors,
            },
        )


def _in_words(pod: JsonObject) -> object:
    status = pod["status"]
    states = [
        (each["name"], each["restartCount"], next(iter(each["state"])))
        for each in status.get("containerStatuses", ())
    ]
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    return status["phase"], states, conditions
