"""The world of the crash matrix in which pods are run: PodManager, their keeper and workers, a plain runtime.

Every start and every stop of a container counts as a loss: a crash is no reason for more of them.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from typing_extensions import override

from actors.pods.keeper_parts import PODS
from manifests.change_hooks import ON_OBJECT_CHANGE
from messages.pod_lives import KillPod
from messages.pod_manager import Subscribe
from messages.pod_runtime import ForgetPod, RunPod, StopPod
from messages.pods import Pod, SourceName
from messages.sources import SourceListed
from tests.support.crash_matrix import Outcome, StoryRun, World
from tests.support.pod_lives.kept_in_memory import KeptInMemory
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld
from tests.support.pod_lives.plain_runtime import ContainerExits
from tests.support.services.plain_watches import PlainWatches


class PodLivesWorld(World):
    """A part of the agent that runs pods. Its status keeper and its objects are plain, and never crash."""

    pause: ClassVar[float] = 1.0
    in_the_end: ClassVar[float] = 100.0  # longer than any grace, and than a listing of the runtime
    taken_at_once: ClassVar[tuple[type, ...]] = (
        *(Subscribe, RunPod, StopPod, ForgetPod),
        *(SourceListed, ContainerExits, KillPod),  # the test's own hand
    )

    def __init__(self, run: StoryRun) -> None:
        self.lives = LivesStage(LivesWorld(watches=PlainWatches(), records=KeptInMemory()))
        super().__init__(run, self.lives.tree())
        self.lives.play = self.play
        self.lives.workers_port = lambda: self._port_of_victims(PODS)

    def lists(self, source: SourceName, *pods: Pod) -> None:
        """Have ``source`` list ``pods``."""
        self.lives.lists(source, *pods)

    @override
    def _outcome(self) -> Outcome:
        lives = self.lives
        machine, statuses = lives.machine, lives.statuses
        return Outcome(
            observed={
                "running": machine.running(),
                "restarts": {
                    run.pod.name: history.current.attempt
                    for run in machine.runs
                    if ON_OBJECT_CHANGE in run.pod.annotations
                    for history in machine.pods[run.pod.uid].containers.values()
                    if history.current is not None
                },
                "on the machine": sorted(pod.name for pod in machine.pods.values()),
                "lives": lives.lives(),
                "workers": lives.workers(),
                "statuses": {
                    uid: (status.phase, status.reason) for uid, status in statuses.newest.items()
                },
                "finished": sorted(statuses.finished),
                "registered": sorted(lives.world.objects.registered),
                "services": {
                    run.pod.name: [each.name for each in run.services]
                    for run in machine.runs
                    if f"{run.pod.name}/main" in machine.running()
                },
                "errors": self.other_errors,
            },
            losses=Counter(machine.diary),
        )
