"""Who carries hooks out, on a stage: hollow containers by themselves, or HookRunner for real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from kernel import InFlight, Key
from manifests.handlers import HttpGetAction, TcpSocketAction
from messages.container_runtime import (
    CallRuntime,
    RunSandbox,
    RuntimeAnswered,
    StartContainer,
)
from messages.units import Seconds
from runtimes.hollow.actor import HOLLOW_CONTAINERS, HollowContainers, HollowMemory
from runtimes.hollow.core import HollowCore
from runtimes.hollow.rules import HollowRules
from runtimes.lifecycle_hooks.actor import HOOK_RUNNER, HookMemory, HookRunner, HookWork
from runtimes.lifecycle_hooks.messages import (
    ForgetHook,
    HookAction,
    HookEnded,
    HookKind,
    HookOutcome,
    HookRef,
    HooksMessage,
    HookSockets,
    RunHook,
    ShortenHook,
)
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, stage_for
from tests.support.runtimes.hollow_stage import VERSION, creation, hollow_pod

HOOK_RUNNERS: Final[dict[str, Key[Any]]] = {
    "hollow": HOLLOW_CONTAINERS,
    "real": HOOK_RUNNER,
}
"""Everybody who carries hooks out."""
POD: Final = hollow_pod()


@dataclass(slots=True)
class HandMadeConnection(InFlight):
    """One hook in progress."""

    action: HttpGetAction | TcpSocketAction
    done: Callable[[HookOutcome], None]
    is_abandoned: bool = False

    @property
    @override
    def has_begun(self) -> bool:
        return True

    @override
    def abandon(self) -> None:
        self.is_abandoned = True


class HandMadeSockets(HookSockets):
    """Carries nothing out: a test says how each connection ends."""

    def __init__(self) -> None:
        self.begun: list[HandMadeConnection] = []

    @override
    def start(
        self, action: HttpGetAction | TcpSocketAction, done: Callable[[HookOutcome], None], /
    ) -> InFlight:
        self.begun.append(HandMadeConnection(action, done))
        return self.begun[-1]

    def end(self, failure: str = "", remark: str = "") -> None:
        """Let the oldest one end."""
        self.begun.pop(0).done(HookOutcome(failure, remark))


class BuggyRunner(HookRunner):
    """Fails once where a test says: before a hook is begun, after that, or over its end."""

    fails: str = ""

    @override
    def _begin(self, request: RunHook) -> None:
        self._fail("before")
        super()._begin(request)
        self._fail("after")

    @override
    def _finish(self, work: HookWork, result: Any) -> None:
        self._fail("at its end")
        super()._finish(work, result)
        self._fail("after its end")

    def _fail(self, where: str) -> None:
        if BuggyRunner.fails == where:
            BuggyRunner.fails = ""
            raise RuntimeError("a bug")


class HooksStage:
    """Has hooks of one container carried out, by whoever has the address ``key``."""

    def __init__(self, key: Key[Any]) -> None:
        self.key: Key[HooksMessage] = key
        self.sockets = HandMadeSockets()
        self.told: Probe[HookEnded] = Probe()
        self.hollow = HollowMemory(core=HollowCore(HollowRules()))
        self.hooks = HookMemory()
        self.play = stage_for(
            (HOLLOW_CONTAINERS, lambda _: HollowContainers(VERSION, self.hollow)),
            (HOOK_RUNNER, self._runner),
            root=PATIENT_ROOT,
        )

    def _runner(self, play: Stage) -> HookRunner:
        containers = play.port(HOLLOW_CONTAINERS)
        return BuggyRunner(containers, self.sockets, self.hooks)

    def start_container(self) -> None:
        """Have a container that hooks are called of."""
        answers: Probe[RuntimeAnswered] = Probe()

        def call(request: Any) -> Any:
            made = CallRuntime(request=request, reply_to=answers, ref=0)
            self.play.tell(HOLLOW_CONTAINERS, made)
            return answers.next().outcome

        sandbox = call(RunSandbox(pod=POD, attempt=0))
        self.container_id: str = call(creation(POD, sandbox)).id
        call(StartContainer(id=self.container_id))

    def ref(self, kind: HookKind = HookKind.PRE_STOP) -> HookRef:
        return HookRef(POD.uid, self.container_id, kind)

    def run(self, action: HookAction, within: float = 30.0) -> None:
        """Have the hook before the stop carried out."""
        self.tell(
            RunHook(ref=self.ref(), action=action, within=Seconds(within), reply_to=self.told)
        )

    def shorten(self, within: float) -> None:
        self.tell(ShortenHook(ref=self.ref(), within=Seconds(within)))

    def forget(self) -> None:
        self.tell(ForgetHook(ref=self.ref()))

    def tell(self, message: HooksMessage) -> None:
        self.play.tell(self.key, message)

    def failures(self) -> list[str]:
        """Return how hooks ended since the last look: why each failed, or nothing."""
        ended = self.told.drain()
        assert all(each.ref == self.ref() for each in ended)
        return [each.failure for each in ended]

    def crash(self) -> None:
        self.play.system.crash(self.key.path)
        self.play.advance(0.5)


@contextmanager
def hooks_stage(key: Key[Any]) -> Iterator[HooksStage]:
    """Start such a stage for the ``with`` block."""
    stage = HooksStage(key)
    stage.play.start()
    stage.start_container()
    try:
        yield stage
    finally:
        assert stage.play.stop() == 0
