"""The holder of local objects on a stage, over a real directory, with managers that only listen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from actors.objects.local_files import (
    LOCAL_OBJECTS,
    LocalMemory,
    LocalObjects,
    LocalObjectsMessage,
    LocalObjectsRules,
)
from files.watching.inotify import KeepWatch
from kernel import Key, Level, OnExhausted, Runtime
from messages.holders import (
    HolderIs,
    ListLocalObjects,
    LocalHolderFact,
    LocalObjectsListed,
    LocalReferencesAre,
    Mark,
)
from messages.objects import (
    ChangeMissed,
    HeldObject,
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    Origin,
)
from messages.units import Seconds
from tests.support import canary
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.files.files_stage import SCAN, FilesStage
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, StagedActor, stage_of
from tests.support.objects.reader import READER, Answer, LevelOwner, Read, Reader, ReadMemory

OWNERS: Final[dict[ObjectKind, Key[Any]]] = {kind: Key(f"owner/{kind}") for kind in ObjectKind}
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


class LocalReaders:
    """Who reads, and the owners of the levels in the managers' place."""

    def __init__(self) -> None:
        self.levels: dict[ObjectKind, Level[ObjectId, HeldObject]] = {
            kind: Level() for kind in ObjectKind
        }
        self.reads = ReadMemory()
        self.newest = Mark(1)
        """Of the references to any object."""

    def actors(self) -> tuple[StagedActor, ...]:
        """Return them for a stage."""
        owners = tuple((OWNERS[kind], partial(self._owner, kind)) for kind in ObjectKind)
        return (*owners, (READER, lambda play: Reader(self.levels, play.port(READER), self.reads)))

    def _owner(self, kind: ObjectKind, play: Stage) -> LevelOwner:
        def wants(wanted: ObjectId, look: int) -> None:
            told = LocalReferencesAre(object=wanted, references=1, newest=self.newest, wanted=look)
            play.port(LOCAL_OBJECTS).tell(told)

        return LevelOwner(self.levels[kind], play.port(OWNERS[kind]), wants)


class LocalObjectsStage(FilesStage[LocalObjectsMessage]):
    """What a user does to the directory, what managers and readers ask, and what they are told."""

    key = LOCAL_OBJECTS

    def __init__(
        self,
        play: Stage,
        path: Path,
        watches: FakeDirectoryWatches,
        managers: Managers,
        readers: LocalReaders,
    ) -> None:
        super().__init__(play, path, watches)
        self.managers = managers
        self._readers = readers

    def keep(self, name: str, text: str | bytes, *, mode: int = 0o640) -> Path:
        """Write a file that others cannot read, as if a minute ago, without any notification."""
        file = self.write(name, text)
        file.chmod(mode)
        return file

    def put(self, name: str, text: str | bytes, *, mode: int = 0o640) -> None:
        """As ``keep``, and have it noticed."""
        self.keep(name, text, mode=mode)
        self.notices()

    def asks(self, object_id: ObjectId, *, within: float = 1.0) -> None:
        """Read an object for some pod; the answer comes to ``answers``."""
        self.play.tell(READER, Read(object_id, Seconds(within), stays=True))

    def answers(self) -> list[Answer]:
        """Return the answers since the last look."""
        self.play.settle()
        return self._readers.reads.take_answers()

    def reads(self, object_id: ObjectId, *, mark: int = 1) -> Answer:
        """Read an object for the pod of ``mark``; return the answer, which has to come at once."""
        self._readers.newest = max(self._readers.newest, Mark(mark))
        self.asks(object_id)
        (answer,) = self.answers()
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
    readers = LocalReaders()
    holder = (
        LOCAL_OBJECTS,
        lambda _play: LocalObjects(rules, managers, readers.levels, memory, keep_watch or watches),
    )
    actors = (holder, *readers.actors())
    with stage_of(*actors, runtime=runtime, on_exhausted=OnExhausted.ISOLATE) as play:
        yield LocalObjectsStage(play, path, watches, managers, readers)
