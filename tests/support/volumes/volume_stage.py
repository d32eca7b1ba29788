"""A stage for the keeper of volumes: real directories, plain objects, and a kernel that mounts nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from actors.volumes.keeper import (
    VOLUME_KEEPER,
    VolumeKeeper,
    VolumeKeeperMemory,
    VolumeKeeperPorts,
)
from actors.volumes.keeper_parts import VolumeKeeperMessage
from actors.volumes.making.maker import VolumeMaker
from actors.volumes.making.teardown import Teardowns
from actors.volumes.mounts.system_calls import MountCalls
from actors.volumes.shown_objects import ShownObjects
from kernel import Port, SupervisorSpec, isolated
from kernel.mailbox import InjectedCrashError
from messages.events import PostEvent
from messages.objects import ObjectKind, ObjectValue
from messages.pods import JsonObject, Pod, PodUid
from messages.tokens import TokensMessage
from messages.units import Seconds, Timestamp
from messages.volumes import (
    DescribeVolumes,
    ReleaseAnswer,
    ReleaseVolumes,
    VolumesAre,
    VolumesDescribed,
    WantVolumes,
)
from tests.support.builders import make_pod
from tests.support.kernel.hand_lanes import HandLanes
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage
from tests.support.pod_lives.plain_objects import PlainObjects
from tests.support.volumes.no_mounts import NoMounts
from tests.support.volumes.reading import seen_in

NODE_MEMORY = 1 << 30
LOOKS_EVERY = Seconds(60.0)


class VolumeStage:
    """One life of the agent: the keeper of volumes, and those that it talks to."""

    play: Stage

    def __init__(self, root: Path, calls: MountCalls | None = None) -> None:
        self.root = root
        self.calls = calls or NoMounts()
        self.objects = PlainObjects()
        self.lanes = HandLanes()
        self.events: Probe[PostEvent] = Probe()
        self.tokens: Probe[TokensMessage] = Probe()
        self.has_tokens = True
        self.reads_every: Seconds | None = None
        self.memory = VolumeKeeperMemory()
        self.told: dict[PodUid, VolumesAre] = {}
        """What the workers were told last."""
        self._workers: dict[PodUid, Probe[VolumesAre]] = {}
        self.gone: Probe[ReleaseAnswer] = Probe()
        self.most_in_a_turn = 0
        """The most jobs that one message made the keeper start."""
        self.handled = 0
        """How many messages the keeper had."""
        self.crash_at = 0
        """The number of the message at which it crashes; 0 for none."""
        self.crashes_after = False
        """Whether it crashes after that message, and not in its place."""

    def tree(self) -> SupervisorSpec:
        """Return the actors. ``play`` is set to where they run."""
        return SupervisorSpec(name="agent", children=(isolated(VOLUME_KEEPER, self._make),))

    def _make(self) -> VolumeKeeper:
        maker = VolumeMaker(str(self.root), self.calls, NODE_MEMORY, self._wall)
        ports = VolumeKeeperPorts(
            me=self.play.port(VOLUME_KEEPER),
            managers={kind: self.objects.manager(kind) for kind in ObjectKind},
            objects=self.objects.levels,
            tokens=self.tokens if self.has_tokens else None,
            events=self.events,
            lanes=self.lanes,
            maker=maker,
            teardowns=Teardowns(str(self.root), self.calls),
            reads_every=self.reads_every,
            looks_every=LOOKS_EVERY,
        )
        keeper = VolumeKeeper(ports, self.memory)
        # In front of the method of its class: every message passes here.
        vars(keeper)["receive"] = partial(self._handle, keeper.receive)
        return keeper

    def _handle(
        self, receive: Callable[[VolumeKeeperMessage], None], message: VolumeKeeperMessage
    ) -> None:
        self.handled += 1
        is_here = self.handled == self.crash_at
        if is_here and not self.crashes_after:
            raise InjectedCrashError
        started = len(self.lanes.lanes)
        receive(message)
        self.most_in_a_turn = max(self.most_in_a_turn, len(self.lanes.lanes) - started)
        if is_here:
            raise InjectedCrashError

    def _wall(self) -> Timestamp:
        return self.play.clock.wall()

    def wants(self, pod: Pod) -> VolumesAre:
        """Have a worker want the volumes of a pod. Return what it is told, once nothing more happens."""
        self.wants_again(pod)
        return self.seen(pod)

    def wants_again(self, pod: Pod) -> Probe[VolumesAre]:
        """The same, whether or not it is answered. Return who is told."""
        worker = self._workers.setdefault(pod.uid, Probe())
        self.play.tell(VOLUME_KEEPER, WantVolumes(pod=pod, reply_to=worker))
        return worker

    def seen(self, pod: Pod) -> VolumesAre:
        """Return what the worker of a pod was told last."""
        for told in self._workers[pod.uid].drain():
            self.told[pod.uid] = told
        return self.told[pod.uid]

    def releases(self, pod: Pod) -> list[ReleaseAnswer]:
        """Have a worker release the volumes of a pod. Return what it is told."""
        self.release_again(pod)
        return self.gone.drain()

    def release_again(self, pod: Pod) -> None:
        """The same, whether or not it is answered."""
        self.play.tell(VOLUME_KEEPER, ReleaseVolumes(uid=pod.uid, reply_to=self.gone))

    def puts(self, kind: ObjectKind, name: str, **data: str) -> ObjectValue:
        """Create or change an object, and let everything that follows happen."""
        self.objects.put(kind, name, **data)
        self.play.settle()
        return self.objects.values[kind, name]

    def deletes(self, kind: ObjectKind, name: str) -> None:
        """Delete an object, and let everything that follows happen."""
        self.objects.remove(kind, name)
        self.play.settle()

    def writes(self) -> None:
        """Have threads do what waits for them."""
        self.lanes.work()
        self.play.settle()

    def next_process(self) -> None:
        """Have everything forgotten that is not on the disk."""
        self.memory.pods.clear()
        self.memory.jobs.clear()
        self.memory.ended.clear()
        self.memory.objects = ShownObjects()
        self.objects.followers.clear()
        self.objects.registered.clear()
        self.crashes()

    def described(self) -> VolumesDescribed:
        """Return how the keeper describes all volumes."""

        def question(reply_to: Port[VolumesDescribed]) -> DescribeVolumes:
            return DescribeVolumes(reply_to=reply_to, in_detail=True)

        return self.play.ask(VOLUME_KEEPER, question)

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.play.advance(seconds)

    def crashes(self) -> None:
        """Crash the keeper, and let time pass until its next life is up."""
        self.play.system.crash(VOLUME_KEEPER.path)
        self.play.advance(1.0)

    def directory(self, pod: Pod) -> Path:
        """Return where all that a pod has on the disk is."""
        return self.root / "pods" / pod.uid

    def place(self, pod: Pod, kind: str, name: str) -> Path:
        """Return where a volume is."""
        return self.directory(pod) / "volumes" / f"kubernetes.io~{kind}" / name

    def files(self, pod: Pod, kind: str, name: str) -> dict[str, bytes]:
        """Return the files of a volume, as containers see them."""
        return seen_in(self.place(pod, kind, name))

    def said(self) -> list[str]:
        """Return the messages of the events that were posted since the last call."""
        return [f"{each.reason}: {each.message}" for each in self.events.drain()]


@contextmanager
def volume_stage(root: Path, calls: MountCalls | None = None) -> Iterator[VolumeStage]:
    """Start a life of the agent."""
    stage = VolumeStage(root, calls)
    stage.play = Stage(stage.tree())
    stage.play.start()
    try:
        yield stage
    finally:
        stage.play.system.stop()
        stage.play.system.wait(Seconds(0.0))


def pod_with(name: str = "web", *volumes: JsonObject, **fields: object) -> Pod:
    """Return a pod of the API server whose container mounts these volumes."""
    pod = make_pod(name, source="api")
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
    main = {"name": "main", "image": "x", "volumeMounts": mounts}
    spec = {**pod.document["spec"], "volumes": list(volumes), "containers": [main], **fields}
    return Pod.of({**pod.document, "spec": spec})
