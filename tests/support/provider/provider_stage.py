"""PodProviderRuntime on a stage: its threads work when the test says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override

from kernel import Port, Runtime
from messages.events import PostEvent
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pod_runtime import (
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    Mark,
    PodObserved,
    PodsObserved,
    RunPod,
    RuntimeDescribed,
    StopPod,
)
from messages.pods import Pod, PodUid
from messages.units import Seconds
from runtimes.provider.actor import PROVIDER_RUNTIME, PodProviderRuntime
from runtimes.provider.calls import (
    ProviderCall,
    ProviderCallEnded,
    ProviderCalls,
    Returned,
    failure_of,
)
from runtimes.provider.loading import LoadedProvider, abilities_of
from runtimes.provider.memory import ProviderMemory, ProviderRules, RuntimeContext
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_of
from tests.support.provider.providers import ObedientProvider


class HandMadeCalls(ProviderCalls):
    """Makes calls at once, but those that are held until the test has them made."""

    def __init__(self) -> None:
        self.held_methods: set[str] = set()
        self.held: deque[tuple[ProviderCall, Port[ProviderCallEnded]]] = deque()
        self.given_up: list[str] = []

    @override
    def start(self, call: ProviderCall, reply_to: Port[ProviderCallEnded]) -> None:
        if call.method in self.held_methods:
            self.held.append((call, reply_to))
        else:
            _make(call, reply_to)

    @override
    def give_up(self, call: ProviderCall) -> None:
        self.given_up.append(call.method.value)

    def hold(self, *methods: str) -> None:
        """Let calls of these methods not return."""
        self.held_methods |= set(methods)

    def let_one_go(self, method: str) -> None:
        """Have the oldest call of this method made that is held."""
        oldest = next(each for each in self.held if each[0].method == method)
        self.held.remove(oldest)
        _make(*oldest)

    def let_go(self) -> None:
        """Have all calls made that are held, and no more held."""
        self.held_methods.clear()
        while self.held:
            _make(*self.held.popleft())


class ProviderStage:
    """The stage, and everything around the actor."""

    def __init__(
        self, play: Stage, provider: ObedientProvider, calls: HandMadeCalls, memory: ProviderMemory
    ) -> None:
        self.play = play
        self.provider = provider
        self.calls = calls
        self.memory = memory
        self.worker: Probe[PodObserved] = Probe()
        self.events: Probe[PostEvent] = Probe()
        self._lists: Probe[PodsObserved] = Probe()
        self._heard: list[PodObserved] = []
        self._number = 0

    def mark(self) -> Mark:
        """Return the next mark."""
        self._number += 1
        return Mark(1, self._number)

    def runs(
        self,
        pod: Pod,
        secrets: dict[str, dict[str, bytes]] | None = None,
        version: str = "1",
        *,
        is_running: bool = False,
    ) -> Mark:
        """Have ``pod`` run with this version of its Secrets; return the mark of the command."""
        mark = self.mark()
        objects = {
            ObjectId(kind=ObjectKind.SECRET, namespace=pod.namespace, name=name): ObjectValue(
                uid=name, resource_version=version, data=data
            )
            for name, data in (secrets or {}).items()
        }
        run = RunPod(
            pod=pod, mark=mark, reply_to=self.worker, objects=objects, is_running=is_running
        )
        self.tell(run)
        return mark

    def stops(self, uid: PodUid, grace: float = 30.0, pod: Pod | None = None) -> Mark:
        """Have a pod stopped; return the mark of the command."""
        mark = self.mark()
        seconds = Seconds(grace)
        self.tell(StopPod(uid=uid, mark=mark, reply_to=self.worker, grace=seconds, pod=pod))
        return mark

    def forgets(self, uid: PodUid) -> Mark:
        """Have a pod forgotten; return the mark of the command."""
        mark = self.mark()
        self.tell(ForgetPod(uid=uid, mark=mark, reply_to=self.worker))
        return mark

    def tell(self, command: RunPod | StopPod | ForgetPod) -> None:
        """Tell the runtime, and let everything happen that needs no time."""
        self.play.tell(PROVIDER_RUNTIME, command)
        self.play.advance(0.05)

    def reports(self, pod: Pod, report: object) -> None:
        """Have the provider report this of ``pod``, and be observed."""
        self.provider.reports[pod.uid] = report
        self.provider.changed()
        self.play.advance(0.05)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.play.advance(seconds)

    def last(self) -> PodObserved:
        """Return the newest observation."""
        return self.heard()[-1]

    def heard(self) -> list[PodObserved]:
        """Return all observations so far."""
        self._heard += self.worker.drain()
        return self._heard

    def lists(self) -> PodsObserved | None:
        """Return all pods; None while there is no answer."""
        self.play.tell(PROVIDER_RUNTIME, ListRuntimePods(reply_to=self._lists))
        answers = self._lists.drain()
        return answers[-1] if answers else None

    def described(self) -> RuntimeDescribed:
        """Return how the runtime is."""
        return self.play.ask(PROVIDER_RUNTIME, describe_runtime)

    def warnings(self) -> list[str]:
        """Return what events said since the last call: ``FailedSync: ...``."""
        return [f"{event.reason}: {event.message}" for event in self.events.drain()]


def describe_runtime(reply_to: Port[RuntimeDescribed]) -> DescribeRuntime:
    """Return the question for how a runtime is."""
    return DescribeRuntime(reply_to=reply_to)


@contextmanager
def provider_stage(
    provider: ObedientProvider | None = None,
    runtime: Runtime | None = None,
    rules: ProviderRules | None = None,
) -> Iterator[ProviderStage]:
    """Start the runtime of ``provider``; stop it whatever happens."""
    provider, calls, memory = provider or ObedientProvider(), HandMadeCalls(), ProviderMemory()
    events: Probe[PostEvent] = Probe()

    def make(play: Stage) -> PodProviderRuntime:
        port = play.port(PROVIDER_RUNTIME)
        provider.attach(RuntimeContext(memory, lambda: port))
        return PodProviderRuntime(
            loaded_of(provider), calls, port, memory, rules or ProviderRules(), events
        )

    with stage_of((PROVIDER_RUNTIME, make), runtime=runtime) as play:
        stage = ProviderStage(play, provider, calls, memory)
        stage.events = events
        yield stage


def loaded_of(provider: object) -> LoadedProvider:
    """Return ``provider`` as if it had been loaded."""
    can = abilities_of(type(provider))
    return LoadedProvider(name="my_node:MyNode", version="1", provider=provider, can=can)


def _make(call: ProviderCall, reply_to: Port[ProviderCallEnded]) -> None:
    try:
        call.outcome = Returned(call.digest(call.target()))
    except BaseException as error:  # noqa: BLE001  # as the real ones do
        call.outcome = failure_of(error)
    reply_to.tell(ProviderCallEnded(ref=call.ref))
