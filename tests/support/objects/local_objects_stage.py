"""The holder of local objects on a stage, over a real directory, with managers that only listen."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from actors.objects.local_files import (
    LOCAL_OBJECTS,
    LocalMemory,
    LocalObjects,
    LocalObjectsMessage,
    LocalObjectsRules,
)
from files.watching.inotify import KeepWatch
from kernel import Level, OnExhausted, Runtime
from messages.holders import (
    HolderIs,
    ListLocalObjects,
    LocalHolderFact,
    LocalObjectsListed,
    LocalReferencesAre,
    Mark,
    ReadObject,
)
from messages.objects import (
    ChangeMissed,
    HeldObject,
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectRead,
    Origin,
)
from messages.pods import PodUid
from messages.units import Seconds
from tests.support import canary
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.files.files_stage import SCAN, FilesStage
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_of

CANARY = canary.CANARY
"""A value that nobody may see but a reader."""


def secret_id(name: str = "db", namespace: str = "default") -> ObjectId:
    """Return which local Secret."""
    return ObjectId(kind=ObjectKind.SECRET, namespace=namespace, name=name, origin=Origin.LOCAL)


def config_map_id(name: str = "app", namespace: str = "default") -> ObjectId:
    """Return which local ConfigMap."""
    return ObjectId(kind=ObjectKind.CONFIG_MAP, namespace=namespace, name=name, origin=Origin.LOCAL)


def secret_text(
    name: str = "db", *, password: str = CANARY, uid: str = "", immutable: bool = False
) -> str:
    """Return the manifest of a Secret with one password."""
    fixed = f", uid: '{uid}'" if uid else ""
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}{fixed}}}\n"
        f"immutable: {str(immutable).lower()}\nstringData: {{password: '{password}'}}\n"
    )


def config_map_text(name: str = "app", *, level: str = "info") -> str:
    """Return the manifest of a ConfigMap with one setting."""
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{level: {level}}}\n"
    )


def write_just_now(file: Path, text: str) -> None:
    """Write a file when the stage's clock begins: it is not quiet yet, and the first look not complete."""
    file.write_text(text)
    os.utime(file, (EPOCH, EPOCH))


class Managers(dict[ObjectKind, Probe[LocalHolderFact | ChangeMissed]]):
    """The managers of both kinds, who only listen."""

    def __init__(self) -> None:
        super().__init__({kind: Probe() for kind in ObjectKind})


class LocalObjectsStage(FilesStage[LocalObjectsMessage]):
    """What a user does to the directory, what managers and readers ask, and what they are told."""

    key = LOCAL_OBJECTS

    def __init__(
        self,
        play: Stage,
        path: Path,
        watches: FakeDirectoryWatches,
        managers: Managers,
        levels: Mapping[ObjectKind, Level[ObjectId, HeldObject]],
    ) -> None:
        super().__init__(play, path, watches)
        self.managers = managers
        self.levels = levels
        self.answers: Probe[ObjectRead] = Probe()

    def keep(self, name: str, text: str | bytes, *, mode: int = 0o640) -> Path:
        """Write a file that others cannot read, as if a minute ago, without any notification."""
        file = self.write(name, text)
        file.chmod(mode)
        return file

    def put(self, name: str, text: str | bytes, *, mode: int = 0o640) -> None:
        """As ``keep``, and have it noticed."""
        self.keep(name, text, mode=mode)
        self.notices()

    def read(
        self, object_id: ObjectId, *, within: float = 1.0, ref: object = None, mark: int = 1
    ) -> ReadObject:
        """Return the read of an object for some pod, whose answer comes to ``answers``."""
        return ReadObject(
            object=object_id,
            mark=Mark(mark),
            pod=PodUid("pod"),
            reply_to=self.answers,
            ref=ref,
            within=Seconds(within),
        )

    def asks(self, object_id: ObjectId, *, within: float = 1.0, ref: object = None) -> None:
        """Read an object for some pod; the answer comes to ``answers``."""
        self.tell(self.read(object_id, within=within, ref=ref))

    def reads(self, object_id: ObjectId, *, mark: int = 1) -> ObjectRead:
        """Read an object for the pod of ``mark``; return the answer, which has to come at once."""
        self.tell(self.read(object_id, mark=mark))
        (answer,) = self.answers.drain()
        return answer

    def has_references(
        self, *, up_to: int, object_id: ObjectId | None = None, wanted: int = 0
    ) -> None:
        """Have the newest reference to an object be that of a mark, as its manager tells it."""
        told = LocalReferencesAre(
            object=object_id or secret_id(), references=1, newest=Mark(up_to), wanted=wanted
        )
        self.tell(told)

    def lists(self) -> None:
        """Ask for everything, as a manager does."""
        self.tell(ListLocalObjects())

    def facts(self, kind: ObjectKind = ObjectKind.SECRET) -> list[HolderIs]:
        """Return what the manager of ``kind`` was told since the last call."""
        return [fact for fact in self.managers[kind].drain() if isinstance(fact, HolderIs)]

    def listings(self, kind: ObjectKind = ObjectKind.SECRET) -> list[LocalObjectsListed]:
        """Return what the manager of ``kind`` was told of objects that are not held, since the last call."""
        facts = self.managers[kind].drain()
        return [fact for fact in facts if isinstance(fact, LocalObjectsListed)]

    def changes(self, kind: ObjectKind = ObjectKind.SECRET) -> list[ObjectChanged]:
        """Return what changed of objects of ``kind``, by what was told since the last call."""
        return [fact.changed for fact in self.facts(kind) if fact.changed is not None]

    def concerned(self, kind: ObjectKind = ObjectKind.SECRET) -> list[Mark]:
        """Return up to which marks changes concern, by what was told since the last call."""
        return [fact.concerns for fact in self.facts(kind) if fact.changed is not None]

    def descriptions(self, kind: ObjectKind = ObjectKind.SECRET) -> list[ObjectDescribed]:
        """Return how objects of ``kind`` are held, by what was told since the last call."""
        return [fact.described for fact in self.facts(kind)]


@contextmanager
def local_objects_stage(
    path: Path,
    runtime: Runtime | None = None,
    *,
    keep_watch: KeepWatch | None = None,
    strict: bool = False,
) -> Iterator[LocalObjectsStage]:
    """Start the holder over ``path``."""
    rules = LocalObjectsRules(path=path, check_frequency=SCAN, strict=strict)
    memory, managers, watches = LocalMemory(), Managers(), FakeDirectoryWatches()
    levels: dict[ObjectKind, Level[ObjectId, HeldObject]] = {kind: Level() for kind in ObjectKind}
    holder = (
        LOCAL_OBJECTS,
        lambda _play: LocalObjects(rules, managers, levels, memory, keep_watch or watches),
    )
    with stage_of(holder, runtime=runtime, on_exhausted=OnExhausted.ISOLATE) as play:
        yield LocalObjectsStage(play, path, watches, managers, levels)
