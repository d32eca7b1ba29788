"""The world of the crash matrix in which a whole agent, a node of a cluster, runs hollow pods.

What outlives the agent is outside of it: the API server, the files, and a watch over all containers. Every
start and every end of a container that somebody asked for counts as a loss: a crash is no reason for more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from typing_extensions import override

from actors.objects.manager import OBJECT_HOLDERS
from actors.pods.keeper import POD_KEEPER, PODS
from actors.pods.status_keeper import STATUS_KEEPER
from actors.probes.orders import PROBERS
from actors.probes.watching import FollowProbes
from agent.edges import ClusterEdges, Edges
from agent.tree import AgentTree
from files.record_keeper import KeepRecords
from kernel import Key, Port, SupervisorSpec
from kube.calls.actor import API_CALLS, ApiCalls, CallRules
from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from messages.api import CallApi
from messages.container_runtime import FollowContainers
from messages.holders import HolderIs
from messages.node import FollowNode
from messages.objects import FollowObjects, RegisterPod, UnfollowObjects, UnregisterPod
from messages.pod_lives import DescribePodLives, PodLivesDescribed
from messages.pod_manager import Subscribe
from messages.pod_runtime import ForgetPod, RunPod, StopPod
from messages.pods import CONFIG_HASH, CONFIG_MIRROR, FILE, Pod, PodUid
from messages.sources import MirrorsJudged
from messages.statuses import FollowStatuses, ForgetPodStatus
from messages.units import Timestamp
from messages.watches import Unwatch, Watch
from runtimes.hollow.records import SandboxRecord
from server.actor import Listeners
from settings.agent import Settings
from settings.flags.command_line import parse
from settings.load import settings_of
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.apiserver.store_edges import StoreSender, StoreWatches
from tests.support.crash_matrix import Observations, Outcome, StoryRun, World
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.hand_lanes import HandLanes
from tests.support.kernel.probe import Probe
from tests.support.kube.calls_stage import HandWorked
from tests.support.node.node_stage import MadeUpMachine
from tests.support.pods.status_watch import StatusWatch, in_short
from tests.support.questions import describe_calls, describe_statuses
from tests.support.runtimes.watched_core import ContainerWatch
from tests.support.sources.file_source_stage import FileSourceStage
from tests.support.volumes.no_mounts import NoMounts

M = TypeVar("M")

NODE = "node1"
MANIFESTS = ManifestRules(node_name=NODE, source=FILE)
TIMES = "time-to-create=100ms,time-to-create-sandbox=200ms,time-to-start=100ms,time-to-stop=500ms"
"""Calls are under way for a while, so that crashes find some."""


class RunningWorld(World):
    """A whole agent that serves nobody, the cluster that it belongs to, and the containers of its pods."""

    pause: ClassVar[float] = 4.0
    in_the_end: ClassVar[float] = (
        60.0  # longer than back-offs, a grace, and a listing of the runtime
    )
    taken_at_once: ClassVar[tuple[type, ...]] = (
        # All of them go into a memory before anything else is done with them.
        *(Subscribe, FollowNode, Watch, Unwatch, CallApi, MirrorsJudged, HolderIs, FollowStatuses),
        *(RegisterPod, UnregisterPod, FollowObjects, UnfollowObjects),
        *(RunPod, StopPod, ForgetPod, FollowContainers, KeepRecords, ForgetPodStatus),
        FollowProbes,
    )
    flags: ClassVar[tuple[str, ...]] = ()

    def __init__(self, run: StoryRun) -> None:
        self.watch = ContainerWatch()
        self.settings = settings_of(
            parse(
                [
                    "--kubeconfig=none",
                    "--file-check-frequency=10s",
                    "--runtime=hollow",
                    f"--hollow-times={TIMES}",
                    *self.flags,
                ]
            ),
            (),
            hostname=NODE,
        )
        self._directory = FakeDirectoryWatches()
        self._folder = run.folder
        self.sender: StoreSender
        super().__init__(run, self._tree())
        manifests = run.folder / "pods"
        manifests.mkdir()
        self.files = FileSourceStage(self.play, manifests, Probe(), self._directory)
        self.store = ApiStore(now=self._wall)
        self.api = FakeApi(self.store, as_node=NODE)
        self.sender = StoreSender(self.store, NODE, self._is_right)
        self.statuses = StatusWatch(self.store)

    # What happens to the agent.

    def api_goes_away(self) -> None:
        """Have the API server be unreachable. Administrators still reach it."""
        self.sender.is_away = True
        self.api.watches.break_off()

    def api_comes_back(self) -> None:
        """Have it answer again."""
        self.sender.is_away = False
        self.api.watches.mend()

    def agent_is_killed(self) -> None:
        """Have the agent end with no chance to do anything, and start again."""
        self.api = FakeApi(self.store, as_node=NODE)
        if "--hollow-records" not in self.flags:
            self.watch.all_is_lost()
        else:
            self.watch.agent_ends()
        self._begin_anew(self._tree())
        self.files = FileSourceStage(self.play, self.files.path, Probe(), self._directory)
        self.play.start()

    def _wall(self) -> Timestamp:
        return self.play.clock.wall()  # of whichever process runs

    # What it is made of.

    def _tree(self) -> SupervisorSpec:
        cluster = ClusterEdges(
            calls=lambda memory: ApiCalls(self.sender, HandWorked, memory, CallRules()),
            watches=lambda memory: StoreWatches(self.api.watches, memory),
            machine=MadeUpMachine(),
        )
        settings = replace(
            self.settings,
            static_pod_path=self._folder / "pods",
            root_dir=self._folder / "root",
        )
        edges = Edges(
            keep_watch=self._directory,
            cluster=cluster,
            volume_lanes=HandLanes(),
            mounts=NoMounts(),
            hollow=self.watch.make_core,
        )
        return _TreeOfVictims(self, settings, edges).root()

    def port_of(self, key: Key[Any], port: Port[M]) -> Port[Any]:
        """Return the address by which actors of the tree know ``key``."""
        return self._port_of_victims(key) if key in {PODS, PROBERS, OBJECT_HOLDERS} else port

    @override
    def _handle(self, key: Key[M], receive: Callable[[M], None], message: M) -> None:
        super()._handle(key, receive, message)
        if isinstance(message, StopPod):
            self.watch.is_to_stop(message.uid)
        elif isinstance(message, ForgetPod):
            self.watch.is_to_forget(message.uid)

    def _is_right(self, pod: Pod) -> bool:
        """Return whether the agent may not delete this pod: it is a right mirror, or not stopped yet."""
        if not pod.is_mirror:
            return self.watch.has(pod.uid)
        hashes = {each.annotations.get(CONFIG_HASH) for each in self._statics()}
        return not pod.is_deleting and pod.annotations.get(CONFIG_MIRROR) in hashes

    def _statics(self) -> Iterator[Pod]:
        for file in self.files.path.iterdir():
            decoded = decode_manifest(file.read_bytes(), MANIFESTS)
            assert isinstance(decoded, Decoded)
            yield decoded.pod

    # What is compared.

    @override
    def _outcome(self) -> Outcome:
        broken = (*self.sender.violations, *self.watch.violations, *self.statuses.violations)
        assert not broken, broken
        lives = self.play.ask(POD_KEEPER, _describe_lives)
        statuses = self.play.ask(STATUS_KEEPER, describe_statuses)
        calls = self.play.ask(API_CALLS, describe_calls)
        names = {pod.uid: pod.display_name for pod in self._pods()}
        observed: Observations = {
            "other errors": self.other_errors,
            "lives": sorted((names.get(uid, uid), life) for uid, life in lives.lives.items()),
            "workers": sorted(
                names.get(PodUid(name.removeprefix("pods/")), name)
                for name in self.play.describe()
                if name.startswith("pods/")
            ),
            "probers": sum(name.startswith("probers/") for name in self.play.describe()),
            "statuses": sorted(
                (names.get(uid, uid), status.phase) for uid, status in statuses.statuses.items()
            ),
            "statuses that wait": (statuses.waiting, statuses.troubles),
            "calls": (calls.troubles, calls.waiting, calls.in_flight),
            "in hollow": sorted(map(_sandbox, self.watch.sandboxes())),
        }
        observed |= {
            f"pod {pod.display_name}": (pod.is_deleting, in_short(pod.document.get("status") or {}))
            for pod in map(Pod.of, self.store.pods())
        }
        started = Counter({f"{name} started": n for name, n in self.watch.starts.items()})
        killed = Counter(f"{name} killed" for name in self.watch.kills.values())
        return Outcome(observed, self.sender.changes + started + killed)

    def _pods(self) -> Iterator[Pod]:
        yield from map(Pod.of, self.store.pods())
        yield from self._statics()


class RecordedWorld(RunningWorld):
    """The same, and containers outlive the agent."""

    flags = ("--hollow-records",)


class _TreeOfVictims(AgentTree):
    """A tree in which the children of dynamic supervisors are victims, too."""

    def __init__(self, world: RunningWorld, settings: Settings, edges: Edges) -> None:
        self._world = world
        super().__init__(settings, Listeners(), lambda: world.play.system, edges)

    @override
    def _address(self, key: Key[M], /) -> Port[M]:
        return self._world.port_of(key, super()._address(key))


def _describe_lives(reply_to: Port[PodLivesDescribed]) -> DescribePodLives:
    return DescribePodLives(reply_to=reply_to)


def _sandbox(record: SandboxRecord) -> tuple[object, ...]:
    containers = (
        (each.observed.name, each.observed.attempt, each.observed.state, each.observed.exit_code)
        for each in record.containers
    )
    pod = record.pod
    return (
        f"{pod.namespace}/{pod.name}",
        record.observed.attempt,
        record.observed.state,
        sorted(containers),
    )
