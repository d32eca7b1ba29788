"""A node: the whole agent on one schedule and one clock, and the world around it.

What runs the pods, the disk and the pods that are wanted outlive a SIGKILL of the agent, and time goes on.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from actors.pod_manager import POD_MANAGER
from actors.pods.status_keeper import STATUS_KEEPER
from agent.edges import Edges
from agent.tree import AgentTree
from kernel import Ended, Steps, SupervisorSpec, isolated
from messages.pods import Pod
from messages.sources import Rescan
from messages.units import Seconds
from server.actor import Listeners
from settings.agent import Settings
from settings.flags.command_line import parse
from settings.load import settings_of
from stores.statuses.rendering import render_status
from tests.environment.machine import Machine
from tests.environment.outside import Outside
from tests.environment.runtimes.containers import InContainers
from tests.environment.runtimes.runtime import Runtime
from tests.support.cri.fake_cri import FakeCri
from tests.support.cri.fake_wire import FAKE_CRI, Errand, FakeCriDesk, FakeWire
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.stage import PATIENT_ROOT, Stage
from tests.support.node.node_stage import MadeUpMachine
from tests.support.probes.loop_stage import SteppedLoop
from tests.support.questions import describe_statuses
from tests.support.sources.memory_source import FAKE_SOURCE, FakeMemory, FakeSource
from tests.support.volumes.plain_writers import NoMounts, PlainWriters
from tests.support.worlds.standalone import with_child


class Node:
    """The agent and its world. ``seed`` decides the order in which actors have their turns."""

    def __init__(
        self, seed: int, folder: Path, runtime: Callable[[Outside], Runtime] = InContainers
    ) -> None:
        self._random = random.Random(seed)  # schedules, not secrets
        self.folder = folder
        self.outside = Outside()
        self.runtime = runtime(self.outside)
        self.listed: dict[str, Pod] = {}
        """The pods that are wanted, and those that were, by UID."""
        self.endings: list[Ended] = []
        """Of actors, in all lives of the agent."""
        self._source = FakeMemory(wanted=())
        self._settings = _settings(folder, self.runtime.flags)
        self._begin()

    @property
    def wall(self) -> float:
        """The seconds of the wall clock."""
        return EPOCH + self.outside.now

    @property
    def containers(self) -> InContainers:
        """What runs pods in containers. Only of a node that has them."""
        assert isinstance(self.runtime, InContainers)
        return self.runtime

    @property
    def machine(self) -> Machine:
        """The machine of the containers. Only of a node that has them."""
        return self.containers.machine

    @property
    def service(self) -> FakeCri:
        """The runtime on that machine."""
        return self.containers.service

    @property
    def wire(self) -> FakeWire:
        """How the agent reaches it."""
        return self.containers.wire

    # --- what happens to the agent ---------------------------------------------------------------------

    def lists(self, pods: Sequence[Pod]) -> None:
        """Have the source list ``pods``, and let everything that follows at once happen."""
        self.tells_listing(pods)
        self.advance(0.0)

    def tells_listing(self, pods: Sequence[Pod]) -> None:
        """The same, without letting anything happen yet."""
        self._source.wanted = tuple(pods)
        self.listed.update({pod.uid: pod for pod in pods})
        self.play.port(FAKE_SOURCE).tell(Rescan())

    def is_killed(self) -> None:
        """Have the agent get a SIGKILL, and start again at once: the tree that was takes no step any more."""
        self._begin()

    def advance(self, seconds: float) -> None:
        """Let time pass, for the agent and outside of it, from one due thing to the next."""
        target = self.outside.now + seconds
        while True:
            self.play.settle()
            timer = self.play.system.control.timers.next_due()
            due = min(self.outside.next_due(), math.inf if timer is None else timer)
            if due > target:
                break
            self._move(due)
            if self.outside.next_due() <= due:
                self.outside.do_next()
        self._move(target)
        self.play.settle()

    def stop(self) -> int:
        """Have the agent stop in order, and return its exit code."""
        self.play.system.stop()
        for _ in range(100):
            self.advance(1.0)
            code = self.play.system.wait(Seconds(0.0))
            if code is not None:
                return code
        return -1

    # --- what is seen of it ----------------------------------------------------------------------------

    def statuses(self) -> dict[str, dict[str, Any]]:
        """Return the status of each pod as the API has it, by UID. Empty while nobody can say."""
        if self.play.state(STATUS_KEEPER) != "running":
            return {}
        statuses = self.play.ask(STATUS_KEEPER, describe_statuses).statuses
        return {
            uid: dict(render_status(self.listed[uid], status))
            for uid, status in statuses.items()
            if uid in self.listed
        }

    def actors(self) -> list[str]:
        """Return the names of the agent's actors, but those that belong to its world."""
        described = self.play.describe().values()
        supervisors = {each.parent for each in described}
        ours = {FAKE_CRI.path, FAKE_SOURCE.path}
        return sorted({each.name for each in described} - supervisors - ours)

    def timers(self) -> int:
        """Return how many timers the agent has."""
        heap = self.play.system.control.timers._heap
        return sum(timer.action is not None for _, _, timer in heap)

    # --- inside ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.steps = Steps(self._random.randrange(1 << 30))
        play = self.play = Stage(self._tree(), self.steps)
        play.system.observe_endings(self.endings.append)
        play.clock.move(Seconds(self.outside.now))
        self.play.start()

    def _in_this_life(self, seconds: float, action: Callable[[], None]) -> None:
        play = self.play

        def act() -> None:
            if play is self.play:
                play.port(FAKE_CRI).tell(Errand(0.0, action))

        if seconds > 0:
            self.outside.later(seconds, act)
        else:
            act()

    def _move(self, to: float) -> None:
        self.outside.now = max(self.outside.now, to)
        self.play.clock.move(Seconds(self.outside.now))

    def _tree(self) -> SupervisorSpec:
        edges = Edges(
            keep_watch=FakeDirectoryWatches(),
            machine=MadeUpMachine(),
            writers=PlainWriters(),
            mounts=NoMounts(),
            probe_loop=lambda memory, tell, _, clock: SteppedLoop(memory, tell, clock),
            **self.runtime.edges(self._in_this_life),
        )
        root = AgentTree(self._settings, Listeners(), lambda: self.play.system, edges).root()
        root = replace(root, intensity=PATIENT_ROOT.intensity, backoff=PATIENT_ROOT.backoff)
        root = with_child(root, isolated(FAKE_SOURCE, self._make_source))
        return replace(root, children=(isolated(FAKE_CRI, FakeCriDesk), *root.children))

    def _make_source(self) -> FakeSource:
        pod_manager = self.play.port(POD_MANAGER)
        return FakeSource(pod_manager, self._source)


def _settings(folder: Path, flags: Sequence[str]) -> Settings:
    line = parse(
        [
            "--manifest-url=http://nowhere",
            *flags,
            f"--root-dir={folder / 'root'}",
            "--cgroups-per-qos=false",
            "--enforce-node-allocatable=",
        ]
    )
    settings = settings_of(line, (), hostname="node1")
    assert settings.runtime is not None
    if settings.runtime.containers is None:
        return settings
    containers = replace(settings.runtime.containers, pod_logs_dir=folder / "logs")
    return replace(settings, runtime=replace(settings.runtime, containers=containers))
