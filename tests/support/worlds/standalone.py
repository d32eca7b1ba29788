"""The world of the crash matrix in which the agent belongs to no cluster: files, one more source,
subscribers. What is told as removed is a loss.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from typing_extensions import override

from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from kernel import Backoff, Key, PooledActor, Port, SupervisorSpec, isolated
from manifests.pod_manifest import ManifestRules
from messages.pod_manager import (
    DescribePods,
    PodFact,
    PodManagerMessage,
    PodsDescribed,
    Subscribe,
)
from messages.pods import CONFIG_SEEN, FILE, HTTP, Pod, PodUid
from messages.sources import DescribeSource, Rescan, SourceDescribed
from messages.units import Seconds
from sources.file.source import FILE_SOURCE, FileMemory, FileSource, FileSourceRules
from tests.support.crash_matrix import End, Sights, Telling, World
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.probe import Probe
from tests.support.pods.pod_picture import PodPicture
from tests.support.sources.file_source_stage import FileSourceStage
from tests.support.sources.memory_source import FAKE_SOURCE, FakeMemory, FakeSource

SUBSCRIBER = Key[PodFact]("subscriber")


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
    """A PodManager, two sources and a subscriber."""

    pause = 0.5  # longer than a file has to be quiet, and than the first backoff
    in_the_end = 3.0  # longer than a backoff and the time between two scans
    taken_at_once = (Subscribe,)

    def __init__(self, telling: Telling) -> None:
        self.picture = PodPicture()
        self.removed: set[PodUid] = set()
        self.late: list[Probe[PodFact]] = []
        self.fake = FakeMemory(wanted=())
        watches = FakeDirectoryWatches()
        super().__init__(telling, self._tree(telling, watches))
        self.files = FileSourceStage(self.play, telling.folder, Probe(), watches)

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

    def _tree(self, telling: Telling, watches: FakeDirectoryWatches) -> SupervisorSpec:
        pod_memory, file_memory = PodMemory(), FileMemory()
        rules = FileSourceRules(
            path=telling.folder,
            check_frequency=Seconds(2.0),
            clear_on_missing=False,
            manifests=ManifestRules(node_name="node1", source=FILE),
        )

        def pod_manager() -> PodManager:
            file, fake = self.play.port(FILE_SOURCE), self.play.port(FAKE_SOURCE)
            return PodManager({FILE: file, HTTP: fake}, pod_memory)

        def file_source() -> FileSource:
            pod_manager = self.play.port(POD_MANAGER)
            return FileSource(rules, pod_manager, file_memory, watches)

        def fake_source() -> FakeSource:
            pod_manager = self.play.port(POD_MANAGER)
            return FakeSource(pod_manager, self.fake)

        return SupervisorSpec(
            name="root",
            backoff=Backoff(initial=Seconds(0.1), cap=Seconds(1.0)),
            children=(
                isolated(POD_MANAGER, pod_manager),
                isolated(FILE_SOURCE, file_source),
                isolated(FAKE_SOURCE, fake_source),
                isolated(SUBSCRIBER, lambda: Subscriber(self.play.port(POD_MANAGER), self)),
            ),
        )

    @override
    def _end(self) -> End:
        described = self.play.ask(POD_MANAGER, _describe_pods)
        sights: Sights = {
            "what the subscriber knows": _meaning(self.picture.pods.values()),
            "what those know who subscribed in the course of the story": [
                _meaning(_picture_of(probe).pods.values()) for probe in self.late
            ],
            "what the sources say": [
                _source(self.play.ask(FILE_SOURCE, _describe_source)),
                _source(self.play.ask(FAKE_SOURCE, _describe_source)),
            ],
            "what PodManager knows": (
                _meaning(described.pods),
                _meaning(described.mirrors),
                described.shadowed,
                described.listed,
                described.mirror_to_static,
            ),
            "what the subscriber could make no sense of": [
                error for error in self.accidents if "AssertionError" in error
            ],
        }
        return End(sights, Counter(f"{uid} was removed" for uid in self.removed))


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


def _describe_pods(reply_to: Port[PodsDescribed]) -> DescribePods:
    return DescribePods(reply_to=reply_to)


def _describe_source(reply_to: Port[SourceDescribed]) -> DescribeSource:
    return DescribeSource(reply_to=reply_to)
