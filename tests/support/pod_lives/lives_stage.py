"""A stage for the keeper of pods and its workers: sources that a test lists for, and a plain runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from actors.cluster.service_keeper import SERVICE_KEEPER, ServiceKeeper, ServiceMemory, ServicePorts
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from actors.pods.keeper import PodKeeper
from actors.pods.keeper_parts import POD_KEEPER, PODS, PodKeeperPorts, keeper_memory
from actors.pods.node_fit import NodeView
from actors.pods.orders import worker_key
from actors.pods.records import PodRecordsMessage
from actors.pods.rollout_keeper import ROLLOUT_KEEPER, RolloutKeeper, RolloutMemory
from actors.pods.worker.parts import WorkerPorts
from kernel import (
    AnySpec,
    DynamicMessage,
    DynamicSpec,
    Level,
    Port,
    Runtime,
    Steps,
    SupervisorSpec,
    isolated,
)
from messages.cluster import ClusterServices, ServicesIn
from messages.events import PostEvent
from messages.node import FollowNode
from messages.objects import ObjectKind
from messages.pod_lives import (
    DescribePodLives,
    KillPod,
    PodKilled,
    PodLife,
    PodLivesDescribed,
)
from messages.pod_runtime import PodTrouble
from messages.pods import API, FILE, HTTP, Pod, PodPhase, PodUid, SourceName
from messages.sources import Epoch, SourceListed
from messages.statuses import ForgetPodStatus, PodFailure, PodStatus, PodStatusIs
from messages.units import Seconds
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage
from tests.support.patience import PATIENCE
from tests.support.pod_lives.plain_objects import PlainObjects
from tests.support.pod_lives.plain_probe_keeper import PlainProbeKeeper
from tests.support.pod_lives.plain_runtime import (
    PLAIN_RUNTIME,
    ContainerExits,
    ContainersReady,
    Machine,
    PlainRuntime,
    TroubleIs,
)
from tests.support.pod_lives.plain_volumes import PlainVolumes
from tests.support.pods.pod_manager_stage import SilentSource
from tests.support.services.plain_watches import PlainWatches


class Statuses(Port[PodStatusIs | ForgetPodStatus]):
    """Keeps the newest status of each pod, as the keeper of statuses does."""

    def __init__(self) -> None:
        self.newest: dict[PodUid, PodStatus] = {}
        self.finished: set[PodUid] = set()
        self.told: list[tuple[str, PodPhase]] = []

    @override
    def tell(self, message: PodStatusIs | ForgetPodStatus, /) -> None:
        if isinstance(message, PodStatusIs):
            self.newest[message.pod.uid] = message.status
            self.told.append((message.pod.name, message.status.phase))
            if message.is_finished:
                self.finished.add(message.pod.uid)
        else:
            self.newest.pop(message.uid, None)
            self.finished.discard(message.uid)


@dataclass
class LivesWorld:
    """What outlives the agent, and what the test looks at."""

    machine: Machine = field(default_factory=Machine)
    statuses: Statuses = field(default_factory=Statuses)
    events: Probe[PostEvent] = field(default_factory=Probe)
    objects: PlainObjects = field(default_factory=PlainObjects)
    volumes: PlainVolumes | None = None
    """Who makes volumes; None if nobody does."""
    restarts_containers: bool = True
    watches: PlainWatches | None = None
    """Where Services are watched; None if pods are told of none."""
    probes: PlainProbeKeeper | None = None
    """Who has probes run; None if nobody does."""
    records: Port[PodRecordsMessage] | None = None
    keeps_starts: bool = False
    """The runtime does not know any more since when containers run, if the agent was restarted."""
    node: NodeView = field(default_factory=lambda: NodeView(name="node"))
    sources: frozenset[SourceName] = frozenset({FILE, HTTP, API})
    cluster: Port[FollowNode] | None = None
    """Who knows the Node. The test tells what it says."""


class LivesStage:
    """One life of the agent: PodManager, the keeper of pods, its workers and a plain runtime."""

    play: Stage

    def __init__(self, world: LivesWorld) -> None:
        self.world = world
        self.machine, self.statuses = world.machine, world.statuses
        self.memory = keeper_memory(world.node, world.sources)
        self.workers_port: Callable[[], Port[DynamicMessage]] = lambda: self.play.port(PODS)
        self._epochs = dict.fromkeys((FILE, HTTP, API), 0)
        self._sources = {name: SilentSource() for name in (FILE, HTTP, API)}
        self._pod_memory = PodMemory()
        self.rollouts = RolloutMemory()
        self._service_memory = ServiceMemory()
        self.services: Level[ServicesIn, ClusterServices | None] = Level()

    def tree(self) -> SupervisorSpec:
        """Return the actors. ``play`` is set to where they run."""
        return SupervisorSpec(
            name="agent",
            children=(
                isolated(PLAIN_RUNTIME, lambda: PlainRuntime(self.machine)),
                isolated(POD_MANAGER, lambda: PodManager(self._sources, self._pod_memory)),
                *self._services(),
                isolated(ROLLOUT_KEEPER, self._make_rollouts),
                DynamicSpec(key=PODS),
                isolated(POD_KEEPER, self._make_keeper),
            ),
        )

    def _services(self) -> tuple[AnySpec, ...]:
        has_any = self.world.watches is not None
        return (isolated(SERVICE_KEEPER, self._make_services),) if has_any else ()

    def _make_services(self) -> ServiceKeeper:
        assert self.world.watches is not None
        me = self.play.port(SERVICE_KEEPER)
        ports = ServicePorts(
            watches=self.world.watches, events=self.world.events, me=me, services=self.services
        )
        return ServiceKeeper("node", ports, self._service_memory)

    def _make_rollouts(self) -> RolloutKeeper:
        return RolloutKeeper(self.rollouts, self.world.events)

    def _make_keeper(self) -> PodKeeper:
        play, world = self.play, self.world
        keeper, runtime = play.port(POD_KEEPER), play.port(PLAIN_RUNTIME)
        pod_manager = play.port(POD_MANAGER)
        rollouts = play.port(ROLLOUT_KEEPER)
        worker = WorkerPorts(
            keeper=keeper,
            runtime=runtime,
            statuses=world.statuses,
            managers={kind: world.objects.manager(kind) for kind in ObjectKind},
            objects=world.objects.levels,
            services=self.services if world.watches is not None else None,
            probes=world.probes,
            volumes=world.volumes,
            rollouts=rollouts,
            restarts_containers=world.restarts_containers,
            events=world.events,
            records=world.records,
            keeps_starts=world.keeps_starts,
            host_ips=lambda: ("192.0.2.1",),
        )
        ports = PodKeeperPorts(
            pod_manager=pod_manager,
            node=world.cluster,
            workers=self.workers_port(),
            runtime=runtime,
            statuses=world.statuses,
            worker=worker,
            records=world.records,
            address=play.port,
            me=keeper,
        )
        return PodKeeper(ports, self.memory)

    def listing(self, source: SourceName, *pods: Pod, is_provisional: bool = False) -> SourceListed:
        """Return the next listing of ``source``."""
        self._epochs[source] += 1
        epoch = Epoch(1, self._epochs[source])
        return SourceListed(source=source, epoch=epoch, pods=pods, is_provisional=is_provisional)

    def lists(self, source: SourceName, *pods: Pod) -> None:
        """Have ``source`` list ``pods``, and let everything that follows happen."""
        self.play.tell(POD_MANAGER, self.listing(source, *pods))

    def takes_for_empty(self, source: SourceName) -> None:
        """Have ``source`` list nothing, since what it lists from never was there."""
        self.play.tell(POD_MANAGER, self.listing(source, is_provisional=True))

    def exits(self, pod: Pod, code: int = 0, name: str = "main") -> None:
        """Have a container exit by itself."""
        self.play.tell(PLAIN_RUNTIME, ContainerExits(uid=pod.uid, name=name, code=code))

    def becomes_ready(self, name: str) -> None:
        """Have all containers of a pod be ready."""
        uid = next(uid for uid, pod in self.machine.pods.items() if pod.name == name)
        self.play.tell(PLAIN_RUNTIME, ContainersReady(uid=uid))

    def has_trouble(self, pod: Pod, trouble: PodTrouble) -> None:
        """Have the runtime tell a trouble of the pod."""
        self.play.tell(PLAIN_RUNTIME, TroubleIs(uid=pod.uid, trouble=trouble))

    def kills(self, pod: Pod, failure: PodFailure, grace: float | None = None) -> Probe[PodKilled]:
        """Have the node kill a pod. Return who is told when it is dead."""
        told = Probe[PodKilled]()
        seconds = None if grace is None else Seconds(grace)
        order = KillPod(uid=pod.uid, failure=failure, reply_to=told, grace=seconds)
        self.play.tell(POD_KEEPER, order)
        return told

    def crashes(self, path: str) -> None:
        """Crash an actor, and let time pass until its next life is up."""
        self.play.system.crash(path)
        self.play.advance(1.0)

    def worker_crashes(self, pod: Pod) -> None:
        """Crash the worker of a pod."""
        self.crashes(worker_key(pod.uid).path)

    def ran(self) -> list[str]:
        """Return what happened on the machine since the last call."""
        diary, self.machine.diary = self.machine.diary, []
        return diary

    def commanded(self) -> list[str]:
        """Return what the runtime was told since the last call."""
        commands, self.machine.commands = self.machine.commands, []
        return commands

    def described(self) -> PodLivesDescribed:
        """Return what the keeper of pods answers."""

        def question(reply_to: Port[PodLivesDescribed]) -> DescribePodLives:
            return DescribePodLives(reply_to=reply_to)

        return self.play.ask(POD_KEEPER, question)

    def lives(self) -> dict[str, PodLife]:
        """Return where each pod is in its life, by UID."""
        return {str(uid): life for uid, life in self.described().lives.items()}

    def status(self, pod: Pod) -> PodStatus:
        """Return the last status of a pod."""
        return self.statuses.newest[pod.uid]

    def workers(self) -> list[str]:
        """Return the names of the workers that there are."""
        return sorted(name for name in self.play.describe() if name.startswith("pods/"))


@contextmanager
def lives_stage(
    runtime: Runtime | None = None, world: LivesWorld | None = None
) -> Iterator[LivesStage]:
    """Start a life of the agent. No source has listed yet."""
    lives = LivesStage(world or LivesWorld())
    lives.play = Stage(lives.tree(), runtime)
    lives.play.start()
    try:
        yield lives
    finally:
        lives.play.system.stop()
        is_stepped = isinstance(lives.play.runtime, Steps)
        lives.play.system.wait(Seconds(0.0 if is_stepped else PATIENCE))


def api_pod(name: str = "web", **fields: Any) -> Pod:
    """Return a pod that the API server bound to this node."""
    return make_pod(name, source=API, **fields)
