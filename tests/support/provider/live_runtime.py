"""PodProviderRuntime on real threads, with a class that is called for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kernel import ChildSpec, Port, SupervisorSpec
from messages.pod_runtime import ForgetPod, Mark, PodObserved, RunPod, StopPod
from messages.pods import Pod
from messages.units import Seconds
from runtimes.provider.actor import PROVIDER_RUNTIME, PodProviderRuntime, ProviderRuntimeMessage
from runtimes.provider.calls import ThreadedCalls
from runtimes.provider.loading import LoadedProvider, attached
from runtimes.provider.memory import ProviderMemory, ProviderRules, RuntimeContext
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, live_stage

OFTEN = ProviderRules(poll=Seconds(0.05))
"""Tests do not wait for a whole second."""


class LiveRuntime:
    """The runtime, and whoever gives it commands."""

    def __init__(self, play: Stage) -> None:
        self.worker: Probe[PodObserved] = Probe()
        self._runtime = play.port(PROVIDER_RUNTIME)
        self._number = 0

    def runs(self, pod: Pod) -> Mark:
        """Have ``pod`` run; return the mark of the command."""
        mark = self._mark()
        self._runtime.tell(RunPod(pod=pod, mark=mark, reply_to=self.worker))
        return mark

    def stops(self, pod: Pod, grace: float) -> Mark:
        """Have it stopped; return the mark of the command."""
        mark = self._mark()
        self._runtime.tell(
            StopPod(uid=pod.uid, mark=mark, reply_to=self.worker, grace=Seconds(grace))
        )
        return mark

    def forgets(self, pod: Pod) -> Mark:
        """Have it forgotten; return the mark of the command."""
        mark = self._mark()
        self._runtime.tell(ForgetPod(uid=pod.uid, mark=mark, reply_to=self.worker))
        return mark

    def hears(self, wanted: Callable[[PodObserved], bool]) -> PodObserved:
        """Return the first observation that is as wanted."""
        while not wanted(told := self.worker.next()):
            pass
        return told

    def _mark(self) -> Mark:
        self._number += 1
        return Mark(1, self._number)


@contextmanager
def live_runtime(loaded: LoadedProvider) -> Iterator[LiveRuntime]:
    """Start the runtime of a provider; stop it, and its event loop, whatever happens."""
    memory, calls = ProviderMemory(), ThreadedCalls()

    def port() -> Port[ProviderRuntimeMessage]:
        return play.port(PROVIDER_RUNTIME)

    def make() -> PodProviderRuntime:
        return PodProviderRuntime(loaded, calls, port(), memory, OFTEN)

    root = SupervisorSpec(name="root", children=(ChildSpec(key=PROVIDER_RUNTIME, factory=make),))
    attached(loaded, RuntimeContext(memory, port))
    with live_stage(root) as play:
        try:
            yield LiveRuntime(play)
        finally:
            calls.close()
