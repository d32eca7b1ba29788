"""A node: the whole agent with ``--runtime cri`` on one schedule and one clock, and the world around it.

The machine, the disk and the pods that are wanted outlive a SIGKILL of the agent, and time goes on.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from actors.pod_manager import POD_MANAGER
from actors.pods.status_keeper import STATUS_KEEPER
from agent.edges import ContainerEdges, Edges
from agent.tree import AgentTree
from kernel import Ended, Steps, SupervisorSpec, isolated
from messages.pods import Pod
from messages.sources import Rescan
from messages.units import Seconds
from runtimes.cri.operations.flow import DiskJob
from server.actor import Listeners
from settings.agent import Settings
from settings.flags.command_line import parse
from settings.load import settings_of
from stores.statuses.rendering import render_status
from tests.environment.machine import Machine
from tests.environment.outside import Outside
from tests.support.cri.cri_stage import DiskAtOnce
from tests.support.cri.fake_cri import FakeCri
from tests.support.cri.fake_wire import FAKE_CRI, Errand, FakeCriDesk, FakeWire
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.stage import PATIENT_ROOT, Stage
from tests.support.node.node_stage import MadeUpMachine
from tests.support.probes.loop_stage import SteppedLoop
from tests.support.questions import describe_statuses
from tests.support.runtimes.hooks_stage import HandMadeSockets
from tests.support.sources.memory_source import FAKE_SOURCE, FakeMemory, FakeSource
from tests.support.volumes.plain_writers import NoMounts, PlainWriters
from tests.support.worlds.standalone import with_child

IMAGES: Final = ("docker.io/library/busybox:1.36", "docker.io/library/busybox:1.37")
"""The images that the machine has."""


class CountedDisk(DiskAtOnce):
    """Does jobs where they are begun, and counts them."""

    def __init__(self) -> None:
        self.jobs = 0

    @override
    def start(self, job: DiskJob[object], done: Callable[[object], None]) -> None:
        self.jobs += 1
        super().start(job, done)


class Node:
    """The agent and its world. ``seed`` decides the order in which actors have their turns."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = random.Random(seed)  # schedules, not secrets
        self.folder = folder
        self.outside = Outside()
        self.machine = Machine(self._nanoseconds, self.outside.later)
        for number, image in enumerate(IMAGES):
            self.machine.images[image] = f"sha256:{number + 7:0>64x}"
        self.service = FakeCri(self.machine, self.outside.later)
        self.disk = CountedDisk()
        self.listed: dict[str, Pod] = {}
        """The pods that are wanted, and those that were, by UID."""
        self.endings: list[Ended] = []
        """Of actors, in all lives of the agent."""
        self._source = FakeMemory(wanted=())
        self._settings = _settings(folder)
        self._begin()

    @property
    def wall(self) -> float:
        """The seconds of the wall clock."""
        return EPOCH + self.outside.now

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
        was_there = self.wire.is_there
        self.service.streams.clear()
        self._begin(was_there)

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

    def _begin(self, is_there: bool = True) -> None:  # noqa: FBT001, FBT002  # ours alone
        self.steps = Steps(self._random.randrange(1 << 30))
        self.wire = FakeWire(self.service, self._in_this_life)
        self.wire.is_there = is_there
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

    def _nanoseconds(self) -> int:
        return int(self.wall * 1_000_000_000)

    def _tree(self) -> SupervisorSpec:
        edges = Edges(
            keep_watch=FakeDirectoryWatches(),
            machine=MadeUpMachine(),
            writers=PlainWriters(),
            mounts=NoMounts(),
            containers=ContainerEdges(
                wire=lambda _: self.wire, disk=self.disk, hook_sockets=HandMadeSockets()
            ),
            probe_loop=lambda memory, tell, _, clock: SteppedLoop(memory, tell, clock),
        )
        root = AgentTree(self._settings, Listeners(), lambda: self.play.system, edges).root()
        root = replace(root, intensity=PATIENT_ROOT.intensity, backoff=PATIENT_ROOT.backoff)
        root = with_child(root, isolated(FAKE_SOURCE, self._make_source))
        return replace(root, children=(isolated(FAKE_CRI, FakeCriDesk), *root.children))

    def _make_source(self) -> FakeSource:
        pod_manager = self.play.port(POD_MANAGER)
        return FakeSource(pod_manager, self._source)


def _settings(folder: Path) -> Settings:
    line = parse(
        [
            "--manifest-url=http://nowhere",
            "--runtime=cri",
            "--container-runtime-endpoint=unix:///nowhere.sock",
            f"--root-dir={folder / 'root'}",
            "--cgroups-per-qos=false",
            "--enforce-node-allocatable=",
        ]
    )
    settings = settings_of(line, (), hostname="node1")
    assert settings.runtime is not None
    assert settings.runtime.containers is not None
    containers = replace(settings.runtime.containers, pod_logs_dir=folder / "logs")
    return replace(settings, runtime=replace(settings.runtime, containers=containers))
