"""The file source on a stage, over a real directory, telling a PodManager that only listens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pykka

from actors.kernel import ChildSpec, OnExhausted, Port, Runtime, SupervisorSpec
from actors.messages.pods import FILE, Pod
from actors.messages.sources import (
    DescribeSource,
    ListPods,
    ManifestVerdict,
    Rescan,
    SourceDescribed,
    SourceListed,
    Verdict,
)
from actors.messages.units import Seconds
from sources.directory_watch import KeepWatch
from sources.file import FILE_SOURCE, FileMemory, FileSource, FileSourceMessage, FileSourceRules
from sources.manifest import ManifestRules
from tests.support.clock import EPOCH
from tests.support.probe import Probe
from tests.support.stage import Stage, stage
from tests.support.watchtower import Watchtower

SCAN = Seconds(2.0)


def pod_text(name: str = "web", *, image: str = "registry.example/web:1", uid: str = "") -> str:
    """Return a manifest."""
    fixed = f", uid: '{uid}'" if uid else ""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{fixed}}}\n"
        f"spec: {{containers: [{{name: main, image: '{image}'}}]}}\n"
    )


BROKEN = "kind: Pod\nmetadata: ["


class FileSourceStage:
    """What a user does to the directory, and what comes of it."""

    def __init__(
        self, play: Stage, path: Path, told: Probe[SourceListed], tower: Watchtower
    ) -> None:
        self.play = play
        self.path = path
        self.told = told
        self.tower = tower

    def write(self, name: str, text: str | bytes, *, age: float = 60.0) -> Path:
        """Write a file as if ``age`` seconds ago, without any notification."""
        file = self.path / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        self.touch(file, age=age)
        return file

    def touch(self, file: Path, *, age: float = 60.0) -> None:
        """Set the time of modification to ``age`` seconds before the stage's clock."""
        moment = EPOCH + self.play.clock.monotonic() - age
        os.utime(file, (moment, moment))

    def notices(self) -> None:
        """Have the source notice that something changed, and give it time to believe it."""
        self.tower.notice()
        self.play.advance(0.3)

    def scans(self) -> None:
        """Let time pass until the next scans, without a notification."""
        self.play.advance(2 * SCAN)

    def rescans(self) -> None:
        """Ask for a look at once, and give it time to believe what it saw."""
        self.play.tell(FILE_SOURCE, Rescan())
        self.play.advance(0.3)

    def asks_for_listing(self) -> None:
        """Ask for the present listing, as PodManager does."""
        self.play.tell(FILE_SOURCE, ListPods())

    def tell(self, message: FileSourceMessage) -> None:
        """Tell the source anything."""
        self.play.tell(FILE_SOURCE, message)

    def crashes(self) -> None:
        """Crash the source, and let time pass until its next life has looked."""
        self.goes_down()
        self.recovers()

    def goes_down(self) -> None:
        """Crash the source; its next life begins when time passes."""
        self.play.system.crash(FILE_SOURCE.path, pykka.ThreadingFuture())
        self.play.settle()

    def recovers(self) -> None:
        """Let the backoff pass."""
        self.play.advance(1.0)

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

    def described(self) -> SourceDescribed:
        """Return how the source says it is."""
        return self.play.ask(FILE_SOURCE, _describe)

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict for each file."""
        return {Path(each.path).name: each.verdict for each in self.described().manifests}

    def verdict(self, name: str) -> ManifestVerdict:
        """Return the verdict for one file, with its reason."""
        (verdict,) = [each for each in self.described().manifests if Path(each.path).name == name]
        return verdict


@contextmanager
def file_source_stage(
    path: Path,
    runtime: Runtime | None = None,
    *,
    keep_watch: KeepWatch | None = None,
    clear_on_missing: bool = False,
) -> Iterator[FileSourceStage]:
    """Start the source over ``path``."""
    rules = FileSourceRules(
        path=path,
        check_frequency=SCAN,
        clear_on_missing=clear_on_missing,
        manifests=ManifestRules(node_name="node1", source=FILE),
    )
    told: Probe[SourceListed] = Probe()
    tower = Watchtower()
    memory = FileMemory()
    child = ChildSpec(
        key=FILE_SOURCE,
        factory=lambda: FileSource(rules, told, memory, keep_watch or tower),
        on_exhausted=OnExhausted.ISOLATE,
    )
    spec = SupervisorSpec(name="root", children=(child,))
    with stage(spec, runtime) as play:
        yield FileSourceStage(play, path, told, tower)


def _describe(reply_to: Port[SourceDescribed]) -> DescribeSource:
    return DescribeSource(reply_to=reply_to)
