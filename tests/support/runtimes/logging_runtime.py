"""A stage with LogKeeper on it, real files, and a runtime of containers that writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from typing_extensions import override

from actors.logs.keeper import LogKeeper
from actors.logs.layout import LoggedPod, LogOptions
from actors.logs.messages import LOG_KEEPER, LogKeeperMemory, LogKeeperPorts
from kernel import Port
from messages.container_logs import ContainerLogsDescribed, DescribeContainerLogs
from messages.container_runtime import (
    CallRuntime,
    ContainersAre,
    FollowContainers,
    PodContainersAre,
    PodIdentity,
    ReopenLog,
    RuntimeAnswered,
    RuntimeFailure,
    RuntimeFailureKind,
    SandboxContents,
)
from messages.pod_lives import DescribePodLives, PodLife, PodLivesDescribed
from messages.pod_manager import PodFact, PodsAre, Subscribe
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved, SandboxState
from messages.pods import FILE, PodUid
from messages.units import Seconds, Timestamp
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, stage_for
from tests.support.runtimes.log_files import POD, WrittenLog


class LoggingRuntime(Port[FollowContainers | CallRuntime]):
    """Has containers that write logs, and opens a log anew when it is told to."""

    def __init__(self) -> None:
        self.logs: dict[str, tuple[WrittenLog, ContainerState]] = {}
        self.reopened: list[str] = []
        self.answers_calls = True
        self.reopens_in_spite_of_failing = False
        self.waiting: list[CallRuntime] = []
        self.is_away = False

    @override
    def tell(self, message: FollowContainers | CallRuntime, /) -> None:
        if isinstance(message, FollowContainers):
            if not self.is_away:
                message.subscriber.tell(self.everything())
        elif self.answers_calls:
            self.answer(message)
        else:
            self.waiting.append(message)

    def answer(self, call: CallRuntime) -> None:
        assert isinstance(call.request, ReopenLog)
        log, state = self.logs[call.request.id]
        outcome: RuntimeFailure | None = None
        if state is not ContainerState.RUNNING or self.reopens_in_spite_of_failing:
            outcome = RuntimeFailure(
                kind=RuntimeFailureKind.REFUSED, message="container is not running"
            )
        if state is ContainerState.RUNNING:
            log.reopen()
            self.reopened.append(call.request.id)
        call.reply_to.tell(RuntimeAnswered(ref=call.ref, outcome=outcome))

    def everything(self) -> ContainersAre:
        pods = {log.pod for log, _ in self.logs.values()}
        return ContainersAre(sandboxes=tuple(each for pod in pods for each in self.of(pod)))

    def of(self, pod: LoggedPod) -> tuple[SandboxContents, ...]:
        containers = tuple(
            ContainerObserved(id=container_id, name=log.container, attempt=log.attempt, state=state)
            for container_id, (log, state) in self.logs.items()
            if log.pod == pod
        )
        if not containers:
            return ()
        sandbox = SandboxObserved(
            id="s", attempt=0, state=SandboxState.READY, created_at=Timestamp(0.0)
        )
        identity = PodIdentity(uid=pod.uid, namespace=pod.namespace, name=pod.name, source="file")
        return (SandboxContents(pod=identity, sandbox=sandbox, containers=containers),)


class PodsOfNode(Port[Subscribe | DescribePodLives]):
    """Both keepers of pods: what sources want, and what the node has a life of."""

    def __init__(self) -> None:
        self.wanted: set[PodUid] = set()
        self.lives: dict[PodUid, PodLife] = {}
        self.have_listed = True
        self.subscribers: list[Port[PodFact]] = []

    @override
    def tell(self, message: Subscribe | DescribePodLives, /) -> None:
        if isinstance(message, Subscribe):
            self.subscribers.append(message.subscriber)
            self.list()
        else:
            message.reply_to.tell(
                PodLivesDescribed(
                    lives=dict(self.lives),
                    started=0,
                    refused={},
                    restarted_static=0,
                    restarted=0,
                    preempted=0,
                )
            )

    def list(self) -> None:
        if self.have_listed:
            pods = tuple(make_pod(uid, uid=uid) for uid in self.wanted)
            for each in self.subscribers:
                each.tell(PodsAre(source=FILE, pods=pods))


class LogStage:
    """LogKeeper, and what is around it."""

    def __init__(self, base: Path, play: ExitStack, max_size: int = 1000, workers: int = 1) -> None:
        self.root, self.links = base / "pods", base / "links"
        self.runtime, self.pods = LoggingRuntime(), PodsOfNode()
        self.pods.wanted.add(POD.uid)
        self.memory = LogKeeperMemory()
        self.options = LogOptions(
            pods_directory=self.root,
            links_directory=self.links,
            max_size=max_size,
            workers=workers,
        )
        self._cleanup = play
        self.play = stage_for((LOG_KEEPER, self._keeper), root=PATIENT_ROOT)

    def _keeper(self, play: Stage) -> LogKeeper:
        ports = LogKeeperPorts(
            me=play.port(LOG_KEEPER),
            containers=self.runtime,
            pod_manager=self.pods,
            pod_keeper=self.pods,
            sources=frozenset({FILE}),
        )
        return LogKeeper(ports, self.memory, self.options)

    def container(
        self,
        container_id: str = "containerd://c0ffee",
        state: ContainerState = ContainerState.RUNNING,
        pod: LoggedPod = POD,
        name: str = "main",
        attempt: int = 0,
    ) -> WrittenLog:
        """Have a container with a log."""
        log = WrittenLog(self.root, pod, name, attempt)
        self._cleanup.callback(log.close)
        self.runtime.logs[container_id] = (log, state)
        return log

    def tell_pod(self, pod: LoggedPod = POD) -> None:
        """Tell LogKeeper what there is of a pod."""
        self.play.tell(LOG_KEEPER, PodContainersAre(uid=pod.uid, sandboxes=self.runtime.of(pod)))

    def next_round(self) -> None:
        self.play.advance(self.options.monitor_interval)

    def linked(self) -> dict[str, str]:
        if not self.links.exists():
            return {}
        return {
            each.name: str(each.readlink()) for each in self.links.iterdir() if each.is_symlink()
        }

    def described(self) -> ContainerLogsDescribed:
        told: Probe[ContainerLogsDescribed] = Probe()
        self.play.tell(LOG_KEEPER, DescribeContainerLogs(reply_to=told))
        return told.next()


@contextmanager
def log_stage(base: Path, *, max_size: int = 1000, workers: int = 1) -> Iterator[LogStage]:
    with ExitStack() as cleanup:
        stage = LogStage(base, cleanup, max_size, workers)
        cleanup.callback(lambda: stage.play.system.wait(Seconds(0.0)))
        cleanup.callback(stage.play.system.stop)
        yield stage
