"""The file source on a stage, over a real directory, telling a PodManager that only listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from files.kept_contents import KeptContents
from files.verdicts.judged_files import PORTION, Portion
from files.watching.inotify import KeepWatch
from kernel import OnExhausted, Port, Runtime
from manifests.pod_manifest import ManifestRules
from messages.pod_runtime import ListRuntimePods
from messages.pods import FILE, Pod
from messages.sources import ListPods, SourceListed
from sources.file import (
    FILE_SOURCE,
    FileMemory,
    FileSource,
    FileSourceMessage,
    FileSourceRules,
)
from sources.kept_uids import StaticUids
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.files.files_stage import SCAN, FilesStage
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_of


def pod_text(name: str = "web", *, image: str = "registry.example/web:1", uid: str = "") -> str:
    """Return a manifest."""
    fixed = f", uid: '{uid}'" if uid else ""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{fixed}}}\n"
        f"spec: {{containers: [{{name: main, image: '{image}'}}]}}\n"
    )


BROKEN = "kind: Pod\nmetadata: ["


class FileSourceStage(FilesStage[FileSourceMessage]):
    """What a user does to the directory, and what comes of it."""

    key = FILE_SOURCE

    def __init__(
        self, play: Stage, path: Path, told: Probe[SourceListed], watches: FakeDirectoryWatches
    ) -> None:
        super().__init__(play, path, watches)
        self.told = told

    def asks_for_listing(self) -> None:
        """Ask for the present listing, as PodManager does."""
        self.tell(ListPods())

    def listed(self) -> list[str] | None:
        """Return the names of the newest listing since the last call; None if there was none."""
        pods = self.pods()
        return None if pods is None else [pod.name.removesuffix("-node1") for pod in pods]

    def listings(self) -> list[list[str]]:
        """Return the names of every listing since the last call."""
        return [
            [pod.name.removesuffix("-node1") for pod in listing.pods]
            for listing in self.told.drain()
        ]

    def pods(self) -> tuple[Pod, ...] | None:
        """Return the pods of the newest listing since the last call; None if there was none."""
        listings = self.told.drain()
        return listings[-1].pods if listings else None


@contextmanager
def file_source_stage(
    path: Path,
    runtime: Runtime | None = None,
    *,
    keep_watch: KeepWatch | None = None,
    clear_on_missing: bool = False,
    portion: Portion = PORTION,
    kept: Path | None = None,
) -> Iterator[FileSourceStage]:
    """Start the source over ``path``. It keeps last good contents in the directory ``kept``."""
    rules = FileSourceRules(
        path=path,
        check_frequency=SCAN,
        clear_on_missing=clear_on_missing,
        manifests=ManifestRules(node_name="node1", source=FILE),
        portion=portion,
    )
    told: Probe[SourceListed] = Probe()
    watches = FakeDirectoryWatches()
    memory = FileMemory(kept=KeptContents(kept, path) if kept is not None else None)
    source = (
        FILE_SOURCE,
        lambda _play: FileSource(rules, told, memory, keep_watch or watches),
    )
    with stage_of(source, runtime=runtime, on_exhausted=OnExhausted.ISOLATE) as play:
        yield FileSourceStage(play, path, told, watches)


@contextmanager
def adopting_file_source(
    path: Path, uids: StaticUids, pods: Port[ListRuntimePods] | None = None
) -> Iterator[FileSourceStage]:
    """Start a source whose pods may keep ``uids``; it asks ``pods`` what runs."""
    rules = FileSourceRules(
        path=path,
        check_frequency=SCAN,
        clear_on_missing=False,
        manifests=ManifestRules(node_name="node1", source=FILE, uids=uids),
        uids=uids,
    )
    told: Probe[SourceListed] = Probe()
    watches, memory = FakeDirectoryWatches(), FileMemory()
    source = (FILE_SOURCE, lambda _play: FileSource(rules, told, memory, watches, pods))
    with stage_of(source, on_exhausted=OnExhausted.ISOLATE) as play:
        yield FileSourceStage(play, path, told, watches)
