"""A node: the whole agent on one schedule and one clock, and the world around it.

What runs the pods, the disk and the pods that are wanted outlive a SIGKILL of the agent, and time goes on.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from actors.pods.status_keeper import STATUS_KEEPER
from actors.volumes.making.jobs import SIZES
from agent.edges import Bounds, Edges
from agent.tree import AgentTree
from kernel import Ended, Key, Port, Steps, SupervisorSpec, isolated
from kernel.incarnation import Incarnation
from kernel.mailbox import title_of
from kube.calls.actor import CallRules
from messages.pods import Pod
from messages.sources import DescribeSource, Rescan, SourceDescribed
from messages.units import Seconds
from server.actor import Listeners
from settings.agent import Settings
from settings.cluster import ChangeDetection
from settings.command_line import parse
from settings.load import settings_of
from sources.apiserver import API_SOURCE
from sources.file import FILE_SOURCE
from sources.http.source import HTTP_SOURCE
from stores.statuses.rendering import render_status
from tests.environment.cluster import NODE, Cluster
from tests.environment.files import Directory, Url
from tests.environment.lanes import SteppedLanes
from tests.environment.machine import Machine, Witness
from tests.environment.objects import LocalObjects
from tests.environment.origins import FromCluster, FromDirectory, FromUrl, Origin
from tests.environment.outside import Outside
from tests.environment.runtimes.containers import InContainers
from tests.environment.runtimes.runtime import Runtime
from tests.support.cri.fake_cri import FakeCri
from tests.support.cri.fake_wire import FAKE_CRI, Errand, FakeCriDesk, FakeWire
from tests.support.files.power import Power
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.stage import PATIENT_ROOT, Stage
from tests.support.node.node_stage import MadeUpMachine
from tests.support.questions import describe_source, describe_statuses


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the pods of a node come from."""

    url: bool = True
    directory: bool = False
    cluster: bool = False
    objects: bool = False
    """Whether static pods have Secrets and ConfigMaps, from files."""
    detection: ChangeDetection = ChangeDetection.WATCH
    """How changes of the objects of a cluster are noticed."""


ONLY_URL: Final = Sources()


OF_PEOPLE: Final = Bounds()
CALLS_OF_PEOPLE: Final = CallRules()


@dataclass(frozen=True, slots=True)
class NodeBounds:
    """The bounds of an agent: those that a configuration has, and those that only tests change."""

    agent: Bounds = OF_PEOPLE
    longest_pause: float = 300.0
    """Seconds between two starts of a container that ends again and again."""
    looks: float = 20.0
    """Seconds between two looks at the files and at the URL, as of a kubelet. Changes of files are noticed at
    once, but for those that are lost."""
    calls: CallRules = CALLS_OF_PEOPLE
    """How fast the API server is asked, and for how much at once."""


USUAL: Final = NodeBounds()


class Node:
    """The agent and its world. ``seed`` decides the order in which actors have their turns."""

    def __init__(
        self,
        seed: int,
        folder: Path,
        runtime: Callable[[Outside], Runtime] = InContainers,
        sources: Sources = ONLY_URL,
        bounds: NodeBounds = USUAL,
    ) -> None:
        self._random = random.Random(seed)  # schedules, not secrets
        random.seed(seed)  # the agent's own, by which it spreads what begins anew
        self.folder = folder
        (folder / "root").mkdir(exist_ok=True)  # as the process does before it has actors
        self.outside = Outside()
        self.runtime = runtime(self.outside)
        self.listed: dict[str, Pod] = {}
        """The pods that are wanted, and those that were, by UID."""
        self.endings: list[Ended] = []
        """Of actors, in all lives of the agent."""
        self.sources = sources
        self.bounds = bounds
        self.directory = Directory(folder / "manifests", self.outside)
        watches = self.directory.watches
        self.objects = LocalObjects(Directory(folder / "objects", self.outside, watches))
        self.url = Url(self.outside)
        self.cluster = Cluster(self.outside, random.Random(seed)) if sources.cluster else None
        looks = f"{bounds.looks:g}s"
        flags = [f"--file-check-frequency={looks}", f"--http-check-frequency={looks}"]
        settings = _settings(folder, [*self.runtime.flags, *flags], sources)
        self._settings = replace(settings, longest_restart_pause=Seconds(bounds.longest_pause))
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

    def lists(self, manifests: Sequence[Pod]) -> None:
        """Have these pods at the URL, and no others, and let everything that follows at once happen."""
        self.url.pods.clear()
        for each in manifests:
            pod = FromUrl(self.url).bring(each)
            self.listed[pod.uid] = pod
        self.looks_again()

    def looks_again(self) -> None:
        """Have the sources look for what is new, as a SIGHUP does, and let what follows at once happen."""
        self.is_told_to_look()
        self.advance(0.0)

    def is_told_to_look(self) -> None:
        """The same, without letting anything happen yet."""
        for source in self._source_ports().values():
            source.tell(Rescan())

    def is_killed(self) -> None:
        """Have the agent get a SIGKILL, and start again at once: the tree that was takes no step any more."""
        self.runtime.loses_agent()
        self._begin()

    def is_dead_for(self, seconds: float) -> None:
        """Have the agent get a SIGKILL, and start again after so many seconds. What is outside goes on."""
        self.runtime.loses_agent()
        until = self.outside.now + seconds
        while self.outside.next_due() <= until:
            self.outside.now = max(self.outside.now, self.outside.next_due())
            self.outside.do_next()
        self.outside.now = until
        self._begin()

    def loses_power(self, power: Power) -> None:
        """Have the machine lose its power, with what was not synced, and start again at once."""
        self.runtime.loses_power()
        for each in ("root", "logs"):
            power.goes(self.folder / each)
        if (lost := self.runtime.lost_with_power) is not None:
            power.empties(self.folder / "root" / lost)
        self.is_killed()

    def advance(self, seconds: float) -> None:
        """Let time pass, for the agent and outside of it, from one due thing to the next."""
        target = self.outside.now + seconds
        while True:
            self.steps.work_off()
            timer = self.play.system.control.timers.next_due()
            due = min(self.outside.next_due(), math.inf if timer is None else timer)
            if due > target:
                break
            self._move(due)
            if self.outside.next_due() <= due:
                self.outside.do_next()
        self._move(target)
        self.steps.work_off()

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

    def described(self) -> dict[str, SourceDescribed]:
        """Return how each source says that it is; without those that cannot say it."""
        return {
            key.path: self.play.ask(key, describe_source)
            for key in self._source_ports()
            if self.play.state(key) == "running"
        }

    def origins(self) -> list[Origin]:
        """Return where pods may come from."""
        cluster, sources = self.cluster, self.sources
        return [
            *([FromUrl(self.url)] if sources.url else []),
            *([FromDirectory(self.directory)] if sources.directory else []),
            *([FromCluster(cluster)] if cluster is not None else []),
        ]

    def is_seen_by(self, witness: Witness) -> None:
        """Have ``witness`` told of everything that happens outside of the agent."""
        self.runtime.is_seen_by(witness)
        if self.cluster is not None:
            self.cluster.witness = witness

    def actors(self) -> list[str]:
        """Return the names of the agent's actors, but those that belong to its world."""
        described = self.play.describe().values()
        supervisors = {each.parent for each in described}
        return sorted({each.name for each in described} - supervisors - {FAKE_CRI.path})

    @property
    def asked(self) -> Counter[str]:
        """How many requests the agents have sent to the API server and to the URL, by what they ask for."""
        of_cluster = self.cluster.asked if self.cluster is not None else Counter[str]()
        return of_cluster + Counter({"URL": self.url.asked})

    def errors(self) -> dict[str, tuple[int, str]]:
        """Return how often each actor was started again, and what it failed with last, as people see it."""
        described = self.play.describe().values()
        return {each.name: (each.restarts, each.last_error) for each in described}

    def handled(self) -> Counter[str]:
        """Return how many messages each actor of the agent has handled in all of its lives."""
        described = self.play.describe().values()
        return Counter(
            {each.name: each.handled for each in described if each.name != FAKE_CRI.path}
        )

    def timers(self) -> Counter[str]:
        """Return how many timers the agent has, by actor and by what is due then."""
        heap = self.play.system.control.timers._heap
        return Counter(_due(timer.action) for _, _, timer in heap if timer.action is not None)

    # --- inside ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.steps = Steps(self._random.randrange(1 << 30))
        play = self.play = Stage(self._tree(), self.steps)
        self._outside_desk = play.port(FAKE_CRI)
        self.directory.watches.kept.clear()
        play.system.observe_endings(self.endings.append)
        play.clock.move(Seconds(self.outside.now))
        play.system.start()
        self.steps.work_off()

    def _in_this_life(
        self,
        seconds: float,
        action: Callable[[], None],
        is_over: Callable[[], bool] = lambda: False,
        /,
    ) -> None:
        play = self.play

        def act() -> None:
            if play is self.play:
                self._outside_desk.tell(Errand(0.0, action))

        if seconds > 0:
            self.outside.later(seconds, act, lambda: play is not self.play or is_over())
        else:
            act()

    def _move(self, to: float) -> None:
        self.outside.now = max(self.outside.now, to)
        self.play.clock.move(Seconds(self.outside.now))

    def _tree(self) -> SupervisorSpec:
        edges = Edges(
            bounds=self.bounds.agent,
            keep_watch=self.directory.watches,
            url=self.url.edges(),
            cluster=self.cluster.edges(self.bounds.calls) if self.cluster is not None else None,
            machine=MadeUpMachine(),
            volume_lanes=SteppedLanes(SIZES, self._in_this_life),
            mounts=self.runtime.mounts,
            **self.runtime.edges(self._in_this_life),
        )
        root = AgentTree(self._settings, Listeners(), lambda: self.play.system, edges).root()
        root = replace(root, intensity=PATIENT_ROOT.intensity, backoff=PATIENT_ROOT.backoff)
        return replace(root, children=(isolated(FAKE_CRI, FakeCriDesk), *root.children))

    def _source_ports(self) -> dict[Key[Any], Port[Rescan | DescribeSource]]:
        keys: list[Key[Any]] = [
            *([HTTP_SOURCE] if self.sources.url else []),
            *([FILE_SOURCE] if self.sources.directory else []),
            *([API_SOURCE] if self.sources.cluster else []),
        ]
        return {key: self.play.port(key) for key in keys}


def _due(action: Callable[[], None]) -> str:
    """Return whose timer this is, and of what: ``pod-keeper ListDue``."""
    owner = getattr(getattr(action, "func", None), "__self__", None)
    if not isinstance(action, partial) or not isinstance(owner, Incarnation):
        return "kernel"
    return f"{owner.cell.key.path} {title_of(*action.args)}"


def _settings(folder: Path, flags: Sequence[str], sources: Sources) -> Settings:
    line = parse(
        [
            *(["--manifest-url=http://nowhere"] if sources.url else []),
            *([f"--pod-manifest-path={folder / 'manifests'}"] if sources.directory else []),
            *(["--kubeconfig=none", "--port=0"] if sources.cluster else []),
            *([f"--local-objects-dir={folder / 'objects'}"] if sources.objects else []),
            *flags,
            f"--root-dir={folder / 'root'}",
            "--cgroups-per-qos=false",
            "--enforce-node-allocatable=",
        ]
    )
    settings = settings_of(line, (), hostname=NODE)
    runtime, cluster = settings.runtime, settings.cluster
    if cluster is not None:
        settings = replace(settings, cluster=replace(cluster, change_detection=sources.detection))
    if runtime.containers is None:
        return settings
    containers = replace(runtime.containers, pod_logs_dir=folder / "logs")
    return replace(settings, runtime=replace(runtime, containers=containers))
