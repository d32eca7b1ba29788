"""The world of the crash matrix in which the agent belongs to no cluster: files, one more source,
subscribers. What is told as removed is a loss.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from typing_extensions import override

from actors.pod_manager import POD_MANAGER
from agent.edges import Edges
from agent.tree import AgentTree
from kernel import AnySpec, ChildSpec, Key, PooledActor, Port, SupervisorSpec, isolated
from messages.pod_manager import (
    PodFact,
    PodManagerMessage,
    Subscribe,
)
from messages.pods import CONFIG_SEEN, Pod, PodUid
from messages.sources import Rescan, SourceDescribed
from server.actor import Listeners
from settings.command_line import parse
from settings.load import settings_of
from sources.file.source import FILE_SOURCE
from tests.support.crash_matrix import Observations, Outcome, StoryRun, World
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.probe import Probe
from tests.support.pods.pod_picture import PodPicture
from tests.support.questions import describe_pods, describe_source
from tests.support.sources.file_source_stage import FileSourceStage
from tests.support.sources.memory_source import FAKE_SOURCE, FakeMemory, FakeSource

SUBSCRIBER = Key[PodFact]("subscriber")


SETTINGS = settings_of(
    parse(["--runtime=hollow", "--manifest-url=http://nowhere", "--file-check-frequency=2s"]),
    (),
    hostname="node1",
)
"""With a URL: the fake source is in the place of the one that would ask it."""


class Subscriber(PooledActor[PodFact]):
    """Keeps a picture of the pods, which dies with it. What it saw go outlives it."""

    def __init__(self, pod_manager: Port[PodManagerMessage], world: StandaloneWorld) -> None:
        self._pod_manager = pod_manager
        self._world = world
        self._me = world.play.port(SUBSCRIBER)

    @override
    def started(self) -> None:
        self._world.picture = PodPicture()
        self._pod_manager.tell(Subscribe(subscriber=self._me))

    @override
    def receive(self, message: PodFact, /) -> None:
        picture = self._world.picture
        picture.apply(message)
        self._world.removed |= {pod.uid for pod in picture.removed}


class StandaloneWorld(World):
    """An agent that serves nobody, with a second source that is a fake, and a subscriber."""

    pause = 0.5  # longer than a file has to be quiet, and than the first backoff
    in_the_end = 3.0  # longer than a backoff and the time between two scans
    taken_at_once = (Subscribe,)

    def __init__(self, run: StoryRun) -> None:
        self.picture = PodPicture()
        self.removed: set[PodUid] = set()
        self.late: list[Probe[PodFact]] = []
        self.fake = FakeMemory(wanted=())
        watches = FakeDirectoryWatches()
        super().__init__(run, self._tree(run, watches))
        self.files = FileSourceStage(self.play, run.folder, Probe(), watches)

    def notice(self) -> None:
        """Tell the file source that something changed."""
        self.files.watches.notice()

    def other_source_wants(self, *pods: Pod) -> None:
        """Have the second source list ``pods``."""
        self.fake.wanted = pods
        self.play.port(FAKE_SOURCE).tell(Rescan())

    def somebody_subscribes(self) -> None:
        """Have somebody subscribe who was not there before."""
        self.late.append(Probe())
        self.play.port(POD_MANAGER).tell(Subscribe(subscriber=self.late[-1]))

    def _tree(self, run: StoryRun, watches: FakeDirectoryWatches) -> SupervisorSpec:
        nowhere = run.folder.parent / "no-root"
        settings = replace(SETTINGS, static_pod_path=run.folder, root_dir=nowhere, runtime=None)
        edges = Edges(keep_watch=watches)
        tree = AgentTree(settings, Listeners(), lambda: self.play.system, edges)
        root = with_child(tree.root(), isolated(FAKE_SOURCE, self._make_fake_source))
        subscriber = isolated(SUBSCRIBER, lambda: Subscriber(self.play.port(POD_MANAGER), self))
        return replace(root, children=(*root.children, subscriber))

    def _make_fake_source(self) -> FakeSource:
        pod_manager = self.play.port(POD_MANAGER)
        return FakeSource(pod_manager, self.fake)

    @override
    def _outcome(self) -> Outcome:
        described = self.play.ask(POD_MANAGER, describe_pods)
        observed: Observations = {
            "what the subscriber knows": _meaning(self.picture.pods.values()),
            "what those know who subscribed in the course of the story": [
                _meaning(_picture_of(probe).pods.values()) for probe in self.late
            ],
            "what the sources say": [
                _source(self.play.ask(FILE_SOURCE, describe_source)),
                _source(self.play.ask(FAKE_SOURCE, describe_source)),
            ],
            "what PodManager knows": (
                _meaning(described.pods),
                _meaning(described.mirrors),
                described.shadowed,
                described.listed,
                described.mirror_to_static,
            ),
            "what the subscriber could make no sense of": [
                error for error in self.other_errors if "AssertionError" in error
            ],
        }
        return Outcome(observed, Counter(f"{uid} was removed" for uid in self.removed))


def with_child(spec: SupervisorSpec, child: ChildSpec[Any]) -> SupervisorSpec:
    """Return ``spec`` with ``child`` in the place of the one that has its path, however deep."""

    def replaced(each: AnySpec) -> AnySpec:
        if isinstance(each, SupervisorSpec):
            return with_child(each, child)
        return child if each.key.path == child.key.path else each

    return replace(spec, children=tuple(map(replaced, spec.children)))


def _picture_of(probe: Probe[PodFact]) -> PodPicture:
    picture = PodPicture()
    for fact in probe.drain():
        picture.apply(fact)
    return picture


def _meaning(pods: Any) -> dict[PodUid, object]:
    """Return the pods without when they were first seen: a crash takes time."""
    meaning: dict[PodUid, object] = {}
    for pod in pods:
        annotations = {k: v for k, v in pod.annotations.items() if k != CONFIG_SEEN}
        metadata = {**pod.document["metadata"], "annotations": annotations}
        meaning[pod.uid] = {**pod.document, "metadata": metadata}
    return meaning


def _source(described: SourceDescribed) -> object:
    return described.ready, described.error, described.manifests
