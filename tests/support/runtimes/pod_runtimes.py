"""Runtimes of pods under the contract of ``messages/pod_runtime.py``, each with pods that behave on purpose.

Another runtime joins by a class like ``ContainersUnderTest`` in ``POD_RUNTIMES``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from typing_extensions import override

from actorlet import ContainerReport, PodProvider, PodReport
from kernel import Key, Port, Steps
from kernel.mailbox import Crash
from messages.container_runtime import FollowContainers, RuntimeIsAway
from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from messages.pod_runtime import (
    ContainerState,
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    Mark,
    PodObserved,
    PodRuntimeMessage,
    PodsObserved,
    RunPod,
    RuntimeDescribed,
    RuntimePod,
    StopPod,
)
from messages.pods import Pod, PodPhase, PodUid
from messages.units import Seconds
from runtimes.containers.actor import POD_RUNTIME, ContainersRuntime
from runtimes.containers.record import RuntimeMemory
from runtimes.hollow.actor import HOLLOW_CONTAINERS, HollowContainers, HollowMemory
from runtimes.hollow.behaviours import PREFIX
from runtimes.hollow.core import HollowCore
from runtimes.hollow.rules import HollowRules
from runtimes.provider.actor import PROVIDER_RUNTIME, PodProviderRuntime
from runtimes.provider.memory import ProviderMemory, ProviderRules, RuntimeContext
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.schedule import Schedule
from tests.support.kernel.stage import PATIENT_ROOT, Stage, stage_for
from tests.support.provider.provider_stage import HandMadeCalls, loaded_of
from tests.support.runtimes.container_runtimes import IMAGE, NO_IMAGE, RUNS, STUBBORN
from tests.support.runtimes.hollow_stage import VERSION

T = TypeVar("T")

KINDS: Final = {
    "runs": {},
    "completes": {"run-for": "2s", "exits": "0"},
    "fails": {"run-for": "2s", "exits": "3"},
    "stubborn": {"ignores-sigterm": "true"},
    "impossible": {"pull-error": "there is no such image"},
}
"""Pods by what they do, and how hollow ones are told."""
COMMANDS: Final = {
    "runs": RUNS,
    "completes": ["sleep", "2"],
    "fails": ["sh", "-c", "sleep 2; exit 3"],
    "stubborn": STUBBORN,
    "impossible": RUNS,
}
"""The same for real ones."""
KIND: Final = "kind"


def pod_that(kind: str, name: str = "") -> Pod:
    """Return a pod of a kind, called like it."""
    told = {f"{PREFIX}{what}": value for what, value in KINDS[kind].items()}
    policy = "Never" if kind in {"completes", "fails"} else "Always"
    image = NO_IMAGE if kind == "impossible" else IMAGE
    container = {"name": "main", "image": image, "command": COMMANDS[kind]}
    spec = {"restartPolicy": policy, "containers": [container]}
    return make_pod(name or kind, annotations={KIND: kind, **told}, spec=spec)


class PodRuntimeUnderTest(ABC):
    """A runtime of pods, and the worker who commands it."""

    key: Key[Any]
    """The runtime's address."""
    victims: tuple[Key[Any], ...]
    """The runtime, and what it consists of."""
    why_impossible: str = "there is no such image"
    """What it says of a pod that cannot run, or a part of it."""

    def __init__(self, schedule: Steps) -> None:
        self.worker: Probe[PodObserved] = Probe()
        self.play = self.make_stage(schedule)
        self._marks = Mark(1, 0)
        self._last: dict[PodUid, PodObserved] = {}

    # --- what differs ----------------------------------------------------------------------------------

    @abstractmethod
    def make_stage(self, schedule: Steps) -> Stage:
        """Return the stage with the runtime, not started."""

    @abstractmethod
    def starts(self, pod: Pod) -> int:
        """Return how often something of ``pod`` was really started."""

    @abstractmethod
    def lives(self, pod: Pod) -> bool:
        """Return whether anything of ``pod`` really runs."""

    @abstractmethod
    def forget_everything(self) -> None:
        """Have the next life begin as in a new process: only what runs is still there."""

    @abstractmethod
    def go_blind(self) -> None:
        """Keep the runtime from seeing what runs."""

    @abstractmethod
    def see_again(self) -> None:
        """Let it see."""

    # --- commands --------------------------------------------------------------------------------------

    def next_mark(self) -> Mark:
        self._marks = Mark(self._marks.incarnation, self._marks.number + 1)
        return self._marks

    def begin_new_incarnation(self) -> None:
        """Let marks grow as for a worker that crashed."""
        self._marks = Mark(self._marks.incarnation + 1, 0)

    def tell(self, message: PodRuntimeMessage) -> None:
        self.play.tell(self.key, message)
        self.pass_time(0.1)

    def run(
        self,
        pod: Pod,
        mark: Mark | None = None,
        secret: bytes | None = None,
        version: str = "1",
    ) -> Mark:
        """Have a pod run, with a version of the Secret ``s``, and return the mark of the command."""
        mark = mark or self.next_mark()
        origin = Origin.LOCAL if pod.is_static else Origin.API
        which = ObjectId(kind=ObjectKind.SECRET, namespace="default", name="s", origin=origin)
        value = ObjectValue(uid="u", resource_version=version, data={"k": secret or b""})
        objects = {which: value} if secret is not None else {}
        self.tell(RunPod(pod=pod, mark=mark, reply_to=self.worker, objects=objects))
        return mark

    def stop(self, pod: Pod, grace: float = 30.0, mark: Mark | None = None) -> Mark:
        """Have a pod stopped, and return the mark of the command."""
        mark = mark or self.next_mark()
        grace_ = Seconds(grace)
        self.tell(StopPod(uid=pod.uid, mark=mark, reply_to=self.worker, grace=grace_))
        return mark

    def forget(self, pod: Pod) -> Mark:
        """Have a pod forgotten, and return the mark of the command."""
        mark = self.next_mark()
        self.tell(ForgetPod(uid=pod.uid, mark=mark, reply_to=self.worker))
        return mark

    # --- what is seen ----------------------------------------------------------------------------------

    def told(self, pod: Pod) -> list[PodObserved]:
        """Return what the worker was told of one pod since the last look at any."""
        told = self.all_told()
        self._last |= {each.uid: each for each in told}
        return [each for each in told if each.uid == pod.uid]

    def all_told(self) -> list[PodObserved]:
        """Return what the worker was told of any pod since the last look."""
        return self.worker.drain()

    def last(self, pod: Pod) -> PodObserved:
        """Return the last observation of a pod."""
        self.told(pod)
        return self._last[pod.uid]

    def is_told(self, pod: Pod, mark: Mark) -> bool:
        """Return whether the last observation of a pod, if there is one, is with the mark of a command."""
        self.told(pod)
        return pod.uid in self._last and self._last[pod.uid].mark == mark

    def ask_list(self) -> Probe[PodsObserved]:
        """Ask what pods there are. Return who gets the answer."""
        probe: Probe[PodsObserved] = Probe()
        self.tell(ListRuntimePods(reply_to=probe))
        return probe

    def listed(self) -> list[RuntimePod]:
        """Return what pods there are."""
        *_, answer = self.answers(self.ask_list())  # a life that began meanwhile tells it once more
        return sorted(answer.pods, key=lambda pod: pod.name)

    def answers(self, probe: Probe[T]) -> list[T]:
        """Return what somebody was told, which comes within 2 s."""
        found: list[T] = []

        def are_there() -> bool:
            found.extend(probe.drain())
            return bool(found)

        self.eventually(are_there, within=2.0)
        return found

    def described(self) -> RuntimeDescribed:
        def question(reply_to: Port[RuntimeDescribed]) -> Any:
            return DescribeRuntime(reply_to=reply_to)

        return self.play.ask(self.key, question)

    # --- what happens ----------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Let a time pass in which something must not happen, or nothing is waited for."""
        self.play.advance(seconds)

    def eventually(self, is_so: Callable[[], bool], within: float) -> None:
        """Fail unless it is so after so many seconds. What is real may take longer, and is waited for."""
        self.pass_time(within)
        assert is_so(), f"not so after {within:g} s"

    def crash(self) -> None:
        self.play.system.crash(self.key.path)
        self.pass_time(1.0)

    def restart(self) -> None:
        """Have the agent's process end and start again."""
        self.forget_everything()
        self.crash()

    def put_crash(self, victim: Key[Any]) -> None:
        """Crash one actor before whatever it would do next."""
        self.play.system.addresses.cell(victim).put(Crash())


class ContainersUnderTest(PodRuntimeUnderTest):
    """``runtimes.containers`` over hollow containers."""

    key = Key[Any](POD_RUNTIME.path)
    victims = (key, Key[Any](HOLLOW_CONTAINERS.path))

    @override
    def make_stage(self, schedule: Steps) -> Stage:
        self._hollow = HollowMemory(core=HollowCore(HollowRules()))
        self._memory = RuntimeMemory()

        def runtime(play: Stage) -> ContainersRuntime:
            containers, me = play.port(HOLLOW_CONTAINERS), play.port(POD_RUNTIME)
            return ContainersRuntime(containers, containers, me, self._memory)

        return stage_for(
            (HOLLOW_CONTAINERS, lambda _: HollowContainers(VERSION, self._hollow)),
            (POD_RUNTIME, runtime),
            runtime=schedule,
            root=PATIENT_ROOT,
        )

    @override
    def starts(self, pod: Pod) -> int:
        contents = self._hollow.core.machine.inventory.contents(pod.uid)
        return sum(one.started_at is not None for each in contents for one in each.containers)

    @override
    def lives(self, pod: Pod) -> bool:
        contents = self._hollow.core.machine.inventory.contents(pod.uid)
        running = ContainerState.RUNNING
        return any(one.state is running for each in contents for one in each.containers)

    @override
    def forget_everything(self) -> None:
        self._memory = RuntimeMemory()

    @override
    def go_blind(self) -> None:
        self.play.tell(POD_RUNTIME, RuntimeIsAway(message="its socket is gone"))

    @override
    def see_again(self) -> None:
        runtime: Port[Any] = self.play.port(POD_RUNTIME)
        follow = FollowContainers(subscriber=runtime)
        self.play.tell(HOLLOW_CONTAINERS, follow)
        self.pass_time(0.1)


@dataclass
class _Life:
    """One run of a pod by the provider."""

    pod: Pod
    kind: str
    started: float
    ends_at: float | None = None


class TimedProvider(PodProvider):
    """Runs pods in memory, as their kind says, on the test's clock."""

    def __init__(self) -> None:
        self.now: Callable[[], float] = lambda: 0.0
        self.lives: dict[PodUid, _Life] = {}
        self.starts: Counter[PodUid] = Counter()
        self.is_broken = False

    @override
    def run(self, pod: Pod) -> None:
        kind = pod.annotations[KIND]
        if kind == "impossible":
            raise RuntimeError("there is no such image")
        if pod.uid not in self.lives:
            self.lives[pod.uid] = _Life(pod, kind, self.now())
            self.starts[pod.uid] += 1

    @override
    def stop(self, pod: Pod, grace: float) -> None:
        life = self.lives.get(pod.uid)
        if life is not None:
            ends_at = self.now() + (grace if life.kind == "stubborn" else 0.0)
            life.ends_at = ends_at if life.ends_at is None else min(life.ends_at, ends_at)

    @override
    def observe(self) -> dict[str, PodReport | str]:
        if self.is_broken:
            raise ConnectionError("nobody answers")
        now = self.now()
        for uid, life in list(self.lives.items()):
            if life.ends_at is not None and life.ends_at <= now:
                del self.lives[uid]
        return {uid: _report(life, now) for uid, life in self.lives.items()}


def _report(life: _Life, now: float) -> PodReport:
    codes = {"completes": 0, "fails": 3}
    has_ended = life.kind in codes and now >= life.started + 2.0
    return PodReport(
        phase="" if has_ended else "Running",
        containers={"main": ContainerReport(exit_code=codes[life.kind])} if has_ended else {},
        namespace=life.pod.namespace,
        name=life.pod.name,
        source=life.pod.source,
    )


class ProviderUnderTest(PodRuntimeUnderTest):
    """``runtimes.provider`` over a class whose pods are in memory."""

    key = Key[Any](PROVIDER_RUNTIME.path)
    victims = (key,)

    @override
    def make_stage(self, schedule: Steps) -> Stage:
        self._provider = TimedProvider()
        self._memory = ProviderMemory()
        calls = HandMadeCalls()

        def runtime(play: Stage) -> PodProviderRuntime:
            port, memory = play.port(PROVIDER_RUNTIME), self._memory
            self._provider.now = play.clock.monotonic
            self._provider.attach(RuntimeContext(memory, lambda: port))
            loaded = loaded_of(self._provider)
            return PodProviderRuntime(loaded, calls, port, memory, ProviderRules())

        return stage_for((PROVIDER_RUNTIME, runtime), runtime=schedule, root=PATIENT_ROOT)

    @override
    def starts(self, pod: Pod) -> int:
        return self._provider.starts[pod.uid]

    @override
    def lives(self, pod: Pod) -> bool:
        reports = self._provider.observe()
        report = reports.get(pod.uid)
        return isinstance(report, PodReport) and report.phase == PodPhase.RUNNING

    @override
    def forget_everything(self) -> None:
        self._memory = ProviderMemory()

    @override
    def go_blind(self) -> None:
        self._provider.is_broken = True
        self.pass_time(30.0)

    @override
    def see_again(self) -> None:
        self._provider.is_broken = False
        self.pass_time(60.0)


@contextmanager
def _started(made: PodRuntimeUnderTest) -> Iterator[PodRuntimeUnderTest]:
    made.play.start()
    try:
        yield made
    finally:
        assert made.play.stop() == 0


def containers_under_test(
    schedule: Steps | None = None,
) -> AbstractContextManager[PodRuntimeUnderTest]:
    """Start ``runtimes.containers`` for the ``with`` block."""
    return _started(ContainersUnderTest(schedule or Steps()))


def virtual_under_test(
    schedule: Steps | None = None,
) -> AbstractContextManager[PodRuntimeUnderTest]:
    """Start ``runtimes.provider`` for the ``with`` block."""
    return _started(ProviderUnderTest(schedule or Steps()))


MakePodRuntime = Callable[[Schedule | None], AbstractContextManager[PodRuntimeUnderTest]]

POD_RUNTIMES: Final[dict[str, MakePodRuntime]] = {
    "containers": containers_under_test,
    "virtual": virtual_under_test,
}
"""Every runtime of pods that there is."""
