"""A runtime of pods that keeps the contract and does nothing by itself but what the test has said.

Its machine outlives its crashes, as containers do. The diary has what really happened, in order:
``start web/main#0``, ``stop web/main#0``, ``remove web``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias, assert_never

from typing_extensions import override

from kernel import Key, PooledActor, Port
from messages.objects import ObjectId, ObjectValue
from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerObserved,
    ContainersSignalled,
    ContainerState,
    ContainerWait,
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    Mark,
    PodObserved,
    PodRuntimeMessage,
    PodsObserved,
    PodTrouble,
    RunPod,
    RuntimeDescribed,
    RuntimePod,
    SandboxObserved,
    SandboxState,
    SignalContainers,
    StopPod,
)
from messages.pods import JsonObject, Pod, PodUid
from messages.units import Seconds, Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerExits:
    """The running container of a pod exits by itself."""

    uid: PodUid
    name: str = "main"
    code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainersReady:
    """All containers of a pod are ready."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleIs:
    """The pod has this trouble from now on."""

    uid: PodUid
    trouble: PodTrouble


@dataclass(frozen=True, slots=True, kw_only=True)
class GraceOver:
    """Timer: what still runs of a pod that is being stopped is killed."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class LooksAgain:
    """Everything is told once more."""


PlainRuntimeMessage: TypeAlias = (
    PodRuntimeMessage | ContainerExits | ContainersReady | TroubleIs | GraceOver | LooksAgain
)

PLAIN_RUNTIME = Key[PlainRuntimeMessage]("runtime")


@dataclass(slots=True)
class PodOnMachine:
    """What is of one pod on the machine, and the last command about it."""

    name: str
    namespace: str
    source: str
    command: RunPod | StopPod | ForgetPod | None = None
    reply_to: Port[PodObserved] | None = None
    mark: Mark = NO_MARK
    effect: Mark = NO_MARK
    kill_at: Seconds | None = None
    sandbox: SandboxObserved | None = None
    containers: dict[str, ContainerHistory] = field(default_factory=dict)
    troubles: tuple[PodTrouble, ...] = ()

    @property
    def running(self) -> list[str]:
        """The names of the containers that run."""
        return [
            name
            for name, history in self.containers.items()
            if history.current and history.current.state is ContainerState.RUNNING
        ]


class Observer(Protocol):
    """Somebody who looks at the machine all the time."""

    def commanded(self, command: RunPod | StopPod | ForgetPod) -> None:
        """See a command that the runtime takes."""
        ...

    def started(self, uid: PodUid, instance: ContainerObserved) -> None:
        """See a container that was started."""
        ...


@dataclass(slots=True)
class Machine:
    """What outlives lives of the runtime, and what the test may set."""

    pods: dict[PodUid, PodOnMachine] = field(default_factory=dict)
    diary: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """What was told: ``run web``, ``stop web 30``, ``forget web``."""
    objects: list[Mapping[ObjectId, ObjectValue]] = field(default_factory=list)
    runs: list[RunPod] = field(default_factory=list)
    """Every such command, as far as it was obeyed."""
    """What variables were to be set from, for each ``RunPod``."""
    stubborn: set[PodUid] = field(default_factory=set)
    """Pods whose containers run on until their grace is over."""
    foreign: set[PodUid] = field(default_factory=set)
    """Static pods that a kubelet started."""
    is_away: bool = False
    """It answers nothing."""
    is_silent: bool = False
    """It does what it is told, and tells nobody what became of it."""
    observers: list[Observer] = field(default_factory=list)
    """They are told each command, start and stop at the moment that it happens."""
    fails_over: type[RunPod | StopPod | ForgetPod] | None = None
    """The next command of this type is lost in a crash."""
    followers: list[Port[PodsObserved]] = field(default_factory=list)
    """Who asked what there is: each life tells them."""
    signal_trouble: str = ""
    """Why no container gets a signal; empty if they do."""
    starts_ready: bool = True
    """Whether containers are ready as soon as they run."""
    loses_signals: bool = False
    """It answers nobody who wants a signal sent."""
    serial: int = 0
    untold: dict[PodUid, PodOnMachine] = field(default_factory=dict)
    """Pods that were removed while it told nobody."""

    def forget_commands(self) -> None:
        """Forget what was commanded, as a runtime does whose process ended. What runs goes on."""
        for pod in self.pods.values():
            pod.command = pod.reply_to = pod.kill_at = None
            pod.mark = pod.effect = NO_MARK

    def running(self) -> list[str]:
        """Return the containers that run, as ``web/main``."""
        return sorted(f"{pod.name}/{name}" for pod in self.pods.values() for name in pod.running)

    def has_running(self, pod: Pod, name: str = "main", begun_with: str = "") -> None:
        """Put a running container onto the machine, as an earlier life of the agent left it.

        ``begun_with`` is the digest of the manifest when its sandbox was made.
        """
        on_machine = PodOnMachine(name=pod.name, namespace=pod.namespace, source=pod.source)
        self.pods[pod.uid] = on_machine
        on_machine.sandbox = SandboxObserved(
            id="earlier",
            attempt=0,
            state=SandboxState.READY,
            created_at=Timestamp(1.0),
            content_digest=begun_with,
        )
        instance = ContainerObserved(
            id="plain://earlier",
            name=name,
            attempt=0,
            state=ContainerState.RUNNING,
            started_at=Timestamp(1.0),
        )
        on_machine.containers[name] = ContainerHistory(name=name, current=instance)


class PlainRuntime(PooledActor[PlainRuntimeMessage]):
    """Starts every container at once, and stops it at once unless it is stubborn."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @override
    def started(self) -> None:
        for follower in self._machine.followers:
            follower.tell(self._listed())
        for uid, pod in self._machine.pods.items():
            self._observe(uid, pod)
            if pod.kill_at is not None:
                self._kill_later(uid, pod.kill_at)

    @override
    def receive(self, message: PlainRuntimeMessage, /) -> None:
        match message:
            case RunPod() | StopPod() | ForgetPod():
                self._command(message)
            case ListRuntimePods(reply_to=reply_to):
                if reply_to not in self._machine.followers:
                    self._machine.followers.append(reply_to)
                if not self._machine.is_away:
                    reply_to.tell(self._listed())
            case SignalContainers():
                self._signal(message)
            case DescribeRuntime(reply_to=reply_to):
                reply_to.tell(RuntimeDescribed(name="plain"))
            case _:
                self._happen(message)

    def _signal(self, command: SignalContainers) -> None:
        machine, failures = self._machine, dict[str, str]()
        if machine.loses_signals:
            return
        pod = machine.pods.get(command.uid)
        for name, instance in command.instances.items():
            history = pod.containers.get(name) if pod is not None else None
            if machine.signal_trouble or history is None or pod is None:
                failures[name] = machine.signal_trouble or "there is none"
            elif (
                name not in pod.running or history.current is None or history.current.id != instance
            ):
                failures[name] = "it does not run any more"
            else:
                machine.diary.append(
                    f"{command.signal} {pod.name}/{name}#{history.current.attempt}"
                )
        answer = ContainersSignalled(uid=command.uid, ref=command.ref, failures=failures)
        command.reply_to.tell(answer)

    def _happen(
        self, event: ContainerExits | ContainersReady | TroubleIs | GraceOver | LooksAgain
    ) -> None:
        match event:
            case LooksAgain():
                untold, self._machine.untold = self._machine.untold, {}
                for uid, pod in (untold | self._machine.pods).items():
                    self._observe(uid, pod)
            case ContainerExits(uid=uid, name=name, code=code):
                self._exit(uid, name, code)
            case ContainersReady(uid=uid):
                pod = self._machine.pods[uid]
                pod.containers = {
                    name: replace(each, current=replace(each.current, is_ready=True))
                    for name, each in pod.containers.items()
                    if each.current is not None
                }
                self._observe(uid, pod)
            case TroubleIs(uid=uid, trouble=trouble):
                pod = self._machine.pods[uid]
                pod.troubles = (trouble,)
                self._observe(uid, pod)
            case GraceOver(uid=uid):
                self._kill(uid)
            case _:
                assert_never(event)

    def _kill(self, uid: PodUid) -> None:
        pod = self._machine.pods.get(uid)
        if pod is not None and pod.kill_at is not None and pod.kill_at <= self.clock.monotonic():
            self._stop_now(uid, pod)

    def _command(self, command: RunPod | StopPod | ForgetPod) -> None:
        if self._machine.fails_over is type(command):
            self._machine.fails_over = None
            raise RuntimeError("crashes over a command")
        uid = command.pod.uid if isinstance(command, RunPod) else command.uid
        pod = self._machine.pods.get(uid) or self._unknown(command)
        if command.mark < pod.mark:
            return
        pod.mark, pod.reply_to = command.mark, command.reply_to
        for observer in self._machine.observers:
            observer.commanded(command)
        match command:
            case RunPod(pod=wanted):
                self._machine.commands.append(f"run {wanted.name}")
                self._machine.objects.append(command.objects)
                self._machine.runs.append(command)
                if not isinstance(pod.command, StopPod | ForgetPod):
                    pod.command = command
                    self._machine.pods[wanted.uid] = pod
                    self._run(wanted, pod)
            case StopPod(grace=grace):
                self._machine.commands.append(f"stop {pod.name} {grace:g}")
                pod.command = command
                self._stop_within(uid, pod, grace)
            case ForgetPod():
                self._machine.commands.append(f"forget {pod.name}")
                self._forget(command, pod)

    def _forget(self, command: ForgetPod, pod: PodOnMachine) -> None:
        self._stop_now(command.uid, pod)
        pod.command, pod.sandbox, pod.containers = command, None, {}
        pod.effect = pod.mark
        self._observe(command.uid, pod)
        if self._machine.pods.pop(command.uid, None) is not None:
            self._machine.diary.append(f"remove {pod.name}")
        if self._machine.is_silent:
            self._machine.untold[command.uid] = pod

    def _unknown(self, command: RunPod | StopPod | ForgetPod) -> PodOnMachine:
        if isinstance(command, RunPod):
            wanted = command.pod
            return PodOnMachine(name=wanted.name, namespace=wanted.namespace, source=wanted.source)
        return PodOnMachine(name="unknown", namespace="", source="")

    def _run(self, wanted: Pod, pod: PodOnMachine) -> None:
        if pod.sandbox is None:
            pod.sandbox = SandboxObserved(
                id=f"sandbox-{wanted.uid}",
                attempt=0,
                state=SandboxState.READY,
                created_at=self.clock.wall(),
                ips=("10.0.0.1",),
            )
        for container in wanted.document["spec"]["containers"]:
            self._run_container(wanted.uid, pod, container)
        pod.effect = pod.mark
        self._observe(wanted.uid, pod)

    def _run_container(self, uid: PodUid, pod: PodOnMachine, wanted: JsonObject) -> None:
        name, image = wanted["name"], wanted.get("image", "")
        history = pod.containers.get(name)
        before = history.current if history is not None else None
        outdated = pod.command.outdated if isinstance(pod.command, RunPod) else frozenset[str]()
        is_outdated = before is not None and before.id in outdated
        if before is not None and before.state is ContainerState.RUNNING:
            if not is_outdated and (not before.image or before.image == image):
                return
            self._end(pod, name, 137)
            before = pod.containers[name].current
        elif before is not None and not (is_outdated or self._restarts(pod, before)):
            return
        attempt = 0 if before is None else before.attempt + 1
        self._machine.serial += 1
        instance = ContainerObserved(
            id=f"plain://{self._machine.serial}",
            name=name,
            attempt=attempt,
            state=ContainerState.RUNNING,
            image=image,
            is_ready=self._machine.starts_ready,
            created_at=self.clock.wall(),
            started_at=self.clock.wall(),
        )
        pod.containers[name] = ContainerHistory(name=name, current=instance, last=before)
        self._machine.diary.append(f"start {pod.name}/{name}#{attempt}")
        for observer in self._machine.observers:
            observer.started(uid, instance)

    def _restarts(self, pod: PodOnMachine, ended: ContainerObserved) -> bool:
        if not isinstance(pod.command, RunPod):
            return False
        policy = pod.command.pod.document["spec"].get("restartPolicy", "Always")
        return policy == "Always" or (policy == "OnFailure" and ended.exit_code != 0)

    def _exit(self, uid: PodUid, name: str, code: int) -> None:
        pod = self._machine.pods.get(uid)
        if pod is None or name not in pod.running:
            return
        self._end(pod, name, code)
        if isinstance(pod.command, RunPod):
            self._run(pod.command.pod, pod)
        elif isinstance(pod.command, StopPod) and not pod.running:
            self._stop_now(uid, pod)
        self._observe(uid, pod)

    def _end(self, pod: PodOnMachine, name: str, code: int) -> None:
        history = pod.containers[name]
        assert history.current is not None
        ended = replace(
            history.current,
            state=ContainerState.EXITED,
            exit_code=code,
            finished_at=self.clock.wall(),
            reason="Completed" if code == 0 else "Error",
        )
        pod.containers[name] = replace(history, current=ended)
        self._machine.diary.append(f"stop {pod.name}/{name}#{ended.attempt}")

    def _stop_within(self, uid: PodUid, pod: PodOnMachine, grace: Seconds) -> None:
        if uid in self._machine.stubborn and pod.running:
            kill_at = Seconds(self.clock.monotonic() + grace)
            pod.kill_at = kill_at if pod.kill_at is None else min(pod.kill_at, kill_at)
            self._kill_later(uid, pod.kill_at)
            self._observe(uid, pod)
        else:
            self._stop_now(uid, pod)

    def _kill_later(self, uid: PodUid, kill_at: Seconds) -> None:
        left = max(0.0, kill_at - self.clock.monotonic())
        self.after(Seconds(left), GraceOver(uid=uid))

    def _stop_now(self, uid: PodUid, pod: PodOnMachine) -> None:
        for name in pod.running:
            self._end(pod, name, 137 if pod.kill_at is not None else 0)
        if pod.sandbox is not None:
            pod.sandbox = replace(pod.sandbox, state=SandboxState.NOT_READY)
        pod.kill_at, pod.effect = None, pod.mark
        self._observe(uid, pod)

    def _observe(self, uid: PodUid, pod: PodOnMachine) -> None:
        if pod.reply_to is None or self._machine.is_away or self._machine.is_silent:
            return
        waiting = ContainerWait(reason="ContainerCreating")
        pod.reply_to.tell(
            PodObserved(
                uid=uid,
                mark=pod.effect,
                sandbox=pod.sandbox,
                containers=dict(pod.containers)
                if pod.containers
                else {"main": ContainerHistory(name="main", wait=waiting)}
                if pod.sandbox
                else {},
                troubles=pod.troubles,
            )
        )

    def _listed(self) -> PodsObserved:
        return PodsObserved(
            life=self.incarnation,
            pods=tuple(
                RuntimePod(
                    uid=uid,
                    namespace=pod.namespace,
                    name=pod.name,
                    source=pod.source,
                    is_running=bool(pod.running),
                    running_containers=len(pod.running),
                    is_foreign=uid in self._machine.foreign,
                )
                for uid, pod in self._machine.pods.items()
            ),
        )
