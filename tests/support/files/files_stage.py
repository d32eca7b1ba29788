"""An actor that lives by a directory of files, on a stage: what users do there, and what it says of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Generic, TypeVar

from kernel import Key
from messages.sources import (
    ManifestVerdict,
    Rescan,
    SourceDescribed,
    Verdict,
)
from messages.units import Seconds
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.stage import Stage
from tests.support.sources.questions import described

SCAN = Seconds(2.0)

M = TypeVar("M")


class FilesStage(Generic[M]):
    """What a user does to the directory of the actor at ``key``."""

    key: Key[M]

    def __init__(self, play: Stage, path: Path, watches: FakeDirectoryWatches) -> None:
        self.play = play
        self.path = path
        self.watches = watches

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
        """Have the actor notice that something changed, and give it time to believe it."""
        self.watches.notice()
        self.play.advance(0.3)

    def scans(self) -> None:
        """Let time pass until the next scans, without a notification."""
        self.play.advance(2 * SCAN)

    def rescans(self) -> None:
        """Ask for a look at once, and give it time to believe what it saw."""
        self.play.tell(Key[Rescan](self.key.path), Rescan())
        self.play.advance(0.3)

    def tell(self, message: M) -> None:
        """Tell the actor anything."""
        self.play.tell(self.key, message)

    def crashes(self) -> None:
        """Crash the actor, and let time pass until its next life has looked."""
        self.goes_down()
        self.recovers()

    def goes_down(self) -> None:
        """Crash the actor; its next life begins when time passes."""
        self.play.system.crash(self.key.path)
        self.play.settle()

    def recovers(self) -> None:
        """Let the backoff pass."""
        self.play.advance(1.0)

    def described(self) -> SourceDescribed:
        """Return how the actor says it is."""
        return described(self.play, self.key)

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict for each file."""
        return {Path(each.path).name: each.verdict for each in self.described().manifests}

    def verdict(self, name: str) -> ManifestVerdict:
        """Return the verdict for one file, with its reason."""
        (verdict,) = [each for each in self.described().manifests if Path(each.path).name == name]
        return verdict
