"""Who carries hooks out, on a stage: hollow containers by themselves, or HookRunner for real ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from typing_extensions import override

from kernel import Key, Port
from messages.units import Seconds
from runtimes.container_runtime import (
    CallRuntime,
    ContainerAnswered,
    RunSandbox,
    RuntimeAnswered,
    StartContainer,
)
from runtimes.hollow.actor import HOLLOW_CONTAINERS, HollowContainers, HollowMemory
from runtimes.hollow.core import HollowCore
from runtimes.hollow.rules import HollowRules
from runtimes.hooks.actions import HookAction
from runtimes.hooks.actor import (
    HOOK_RUNNER,
    HookMemory,
    HookRunner,
    HookRunnerMessage,
    HookRunnerPorts,
)
from runtimes.hooks.messages import (
    ForgetHook,
    HookEnded,
    HookKind,
    HookRef,
    HooksMessage,
    RunHook,
    ShortenHook,
)
from runtimes.hooks.sockets import HookSockets, SocketCall, SocketHookEnded, SocketOutcome
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, stage_for
from tests.support.runtimes.hollow_stage import VERSION, creation, hollow_pod

HOOK_RUNNERS: Final[dict[str, Key[Any]]] = {
    "hollow": HOLLOW_CONTAINERS,
    "real": HOOK_RUNNER,
}
"""Everybody who carries hooks out."""
POD: Final = hollow_pod()


class HandMadeSockets(HookSockets):
    """Carries nothing out: a test says how each call ends."""

    def __init__(self) -> None:
        self.calls: list[tuple[SocketCall, Port[SocketHookEnded]]] = []
        self.given_up: list[HookRef] = []

    @override
    def start(self, call: SocketCall, reply_to: Port[SocketHookEnded]) -> None:
        self.calls.append((call, reply_to))

    @override
    def give_up(self, call: SocketCall) -> None:
        self.given_up.append(call.ref)

    def end(self, failure: str = "", remark: str = "") -> None:
        """Let the oldest call end."""
        call, reply_to = self.calls.pop(0)
        call.outcome = SocketOutcome(failure, remark)
        reply_to.tell(SocketHookEnded(ref=call.ref))


class BuggyRunner(HookRunner):
    """Fails over each message of the type that a test says, in the midst of it."""

    fails_over: type | None = None

    @override
    def _set_timer(self, ref: HookRef) -> None:
        self._fail_over(RunHook)
        super()._set_timer(ref)

    @override
    def _take_end(self, message: ContainerAnswered | SocketHookEnded) -> None:
        self._fail_over(type(message))
        super()._take_end(message)

    def _fail_over(self, kind: type) -> None:
        if BuggyRunner.fails_over is kind:
            BuggyRunner.fails_over = None
            raise RuntimeError("a bug")


class HooksStage:
    """Has hooks of one container carried out, by whoever has the address ``key``."""

    def __init__(self, key: Key[Any]) -> None:
        self.key: Key[HookRunnerMessage] = key
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
        ports = HookRunnerPorts(containers=containers, me=play.port(HOOK_RUNNER))
        return BuggyRunner(ports, self.sockets, self.hooks)

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
