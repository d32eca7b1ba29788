"""The world of the crash matrix around the runtime of pods, which drives hollow containers."""

from __future__ import annotations

from typing_extensions import override

from kernel import Backoff, SupervisorSpec, isolated
from messages.container_runtime import FollowContainers
from messages.pod_runtime import ForgetPod, Mark, PodObserved, RunPod, StopPod
from messages.pods import Pod, PodUid
from messages.units import Seconds
from runtimes.containers.actor import POD_RUNTIME, ContainersRuntime
from runtimes.containers.record import RuntimeMemory
from runtimes.hollow.actor import HOLLOW_CONTAINERS, HollowContainers, HollowMemory
from runtimes.hollow.core import HollowCore
from runtimes.hollow.rules import HollowRules
from tests.support.crash_matrix import Outcome, StoryRun, World
from tests.support.kernel.probe import Probe
from tests.support.runtimes.hollow_stage import VERSION


class ContainersWorld(World):
    """Both runtimes, of which either is the victim."""

    pause = 2.0
    in_the_end = (
        900.0  # longer than a call is waited for that a crash lost, and the longest back-off
    )
    taken_at_once = (RunPod, StopPod, ForgetPod, FollowContainers)

    def __init__(self, run: StoryRun) -> None:
        self.hollow_memory = HollowMemory(core=HollowCore(HollowRules()))
        self.memory = RuntimeMemory()
        self.observations: Probe[PodObserved] = Probe()
        self._number = 0
        self._pods: set[PodUid] = set()
        backoff = Backoff(initial=Seconds(0.1), cap=Seconds(1.0))
        hollow = isolated(HOLLOW_CONTAINERS, lambda: HollowContainers(VERSION, self.hollow_memory))
        runtime = isolated(POD_RUNTIME, self._make)
        super().__init__(
            run, SupervisorSpec(name="root", backoff=backoff, children=(hollow, runtime))
        )

    def run(self, pod: Pod) -> None:
        self._pods.add(pod.uid)
        command = RunPod(pod=pod, mark=self._mark(), reply_to=self.observations)
        self.play.port(POD_RUNTIME).tell(command)

    def stop(self, pod: Pod) -> None:
        command = StopPod(
            uid=pod.uid, mark=self._mark(), reply_to=self.observations, grace=Seconds(5.0)
        )
        self.play.port(POD_RUNTIME).tell(command)

    def forget(self, pod: Pod) -> None:
        command = ForgetPod(uid=pod.uid, mark=self._mark(), reply_to=self.observations)
        self.play.port(POD_RUNTIME).tell(command)

    def _mark(self) -> Mark:
        self._number += 1
        return Mark(0, self._number)

    def _make(self) -> ContainersRuntime:
        containers = self.play.port(HOLLOW_CONTAINERS)
        me = self.play.port(POD_RUNTIME)
        return ContainersRuntime(containers, containers, me, self.memory)

    @override
    def _outcome(self) -> Outcome:
        told = {each.uid: each for each in self.observations.drain()}
        observed: dict[str, object] = {"other errors": self.other_errors}
        for uid in sorted(self._pods):
            if self.memory.records.get(uid) is None or not self.memory.records[uid].is_stopping:
                observed[f"what is told of {uid}"] = _in_words(told[uid])
                observed[f"what there is of {uid}"] = self._there_is(uid)
            else:
                # What there was of it when it was stopped depends on the crash.
                observed[f"the end of {uid}"] = (told[uid].mark, told[uid].is_running)
        observed["calls in flight"] = len(self.memory.calls)
        return Outcome(observed)

    def _there_is(self, uid: PodUid) -> object:
        return [
            (
                each.sandbox.state,
                each.sandbox.attempt,
                sorted((one.name, one.attempt, one.state) for one in each.containers),
            )
            for each in self.hollow_memory.core.machine.inventory.contents(uid)
        ]


def _in_words(told: PodObserved) -> object:
    containers = {
        name: (
            history.current and (history.current.state, history.current.exit_code),
            history.wait and history.wait.reason,
        )
        for name, history in told.containers.items()
    }
    return told.mark, told.sandbox and told.sandbox.state, containers, told.troubles
