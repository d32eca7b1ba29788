"""The holder of local objects crashes, and notifications come and go: nothing is lost by that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from actors.objects.local_files import LOCAL_OBJECTS, LocalMemory, LocalObjects, LocalObjectsRules
from files.watching.inotify import InotifyWatch
from kernel import Backoff, BaseActor, SupervisorSpec, Threads, isolated
from messages.holders import HolderIs, LocalReferencesAre
from messages.objects import Change, ObjectKind, ReadVerdict
from messages.sources import Verdict
from messages.units import Seconds
from tests.support.crash_matrix import Matrix, Observations, Outcome, StoryRun, World
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.stage import Stage
from tests.support.objects.local_objects_stage import (
    OWNERS,
    LocalObjectsStage,
    LocalReaders,
    Managers,
    config_map_id,
    config_map_text,
    local_objects_stage,
    secret_id,
    secret_text,
    write_just_now,
)
from tests.support.objects.reader import READER

BROKEN = "kind: Secret\nstringData: ["


def test_a_new_life_tells_all_that_there_is(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    (described,) = files.descriptions()
    files.crashes()
    assert files.facts() == [HolderIs(described=described)]


def test_a_broken_file_keeps_its_object_over_a_crash(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    files.put("db.yaml", BROKEN)
    files.crashes()
    assert files.reads(secret_id("db")).verdict is ReadVerdict.STALE
    assert files.verdicts() == {"db.yaml": Verdict.KEPT}


def test_an_immutable_object_is_so_after_a_crash_too(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db", password="one", immutable=True))
    files.goes_down()
    files.keep("db.yaml", secret_text("db", password="two", immutable=True))
    files.recovers()
    assert files.verdicts() == {"db.yaml": Verdict.KEPT}


def test_what_changed_while_it_was_down_is_told(files: LocalObjectsStage) -> None:
    files.keep("db.yaml", secret_text("db", password="one"))
    files.put("old.yaml", secret_text("old"))
    files.facts()
    files.goes_down()
    (files.path / "old.yaml").unlink()
    files.keep("db.yaml", secret_text("db", password="two"))
    files.keep("new.yaml", secret_text("new"))
    files.recovers()
    assert [(each.change, each.object.name) for each in files.changes()] == [
        (Change.MODIFIED, "db"),
        (Change.ADDED, "new"),
        (Change.DELETED, "old"),
    ]


def test_who_waits_for_an_answer_gets_it_from_the_next_life(path: Path) -> None:
    write_just_now(path / "app.yaml", config_map_text("app"))
    with local_objects_stage(path) as files:
        files.asks(config_map_id("app"), within=5.0)
        files.goes_down()
        assert files.answers() == []
        files.recovers()
        (answer,) = files.answers()
        assert answer.verdict is ReadVerdict.FOUND


def test_who_waits_for_an_answer_waits_no_longer_for_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "circle"
    path.symlink_to(path)
    with local_objects_stage(path) as files:
        files.asks(secret_id("db"), within=1.0)
        files.crashes()
        files.play.advance(0.5)
        (answer,) = files.answers()
        assert answer.verdict is ReadVerdict.NOT_SYNCED


# --- by real notifications: time stands still, so no scan can find anything -----------------------------


@pytest.fixture
def watched(path: Path) -> Iterator[LocalObjectsStage]:
    with local_objects_stage(path, Threads(), keep_watch=InotifyWatch) as files:
        files.play.settle()
        yield files


def told_next(files: LocalObjectsStage) -> tuple[Change, str]:
    told = iter(files.managers[ObjectKind.SECRET].next, None)
    fact = next(each for each in told if isinstance(each, HolderIs))
    assert fact.changed is not None
    return fact.changed.change, fact.changed.object.name


def test_a_written_and_an_edited_secret_are_noticed(watched: LocalObjectsStage) -> None:
    watched.keep("db.yaml.tmp", secret_text("db")).rename(watched.path / "db.yaml")
    assert told_next(watched) == (Change.ADDED, "db")
    edited = secret_text("db", password="other")
    watched.keep("db.yaml.tmp", edited).rename(watched.path / "db.yaml")
    assert told_next(watched) == (Change.MODIFIED, "db")


def test_a_change_of_the_mode_is_noticed(watched: LocalObjectsStage) -> None:
    watched.keep("db.yaml.tmp", secret_text("db"), mode=0o644).rename(watched.path / "db.yaml")
    watched.keep("a.yaml.tmp", secret_text("a")).rename(watched.path / "a.yaml")
    assert told_next(watched) == (Change.ADDED, "a")
    (watched.path / "db.yaml").chmod(0o640)
    assert told_next(watched) == (Change.ADDED, "db")


# --- crashes at every moment ----------------------------------------------------------------------------


class LocalWorld(World):
    """The holder alone, with its directory; a deletion or an answer that fails is a loss."""

    pause = 0.5
    in_the_end = 3.0
    taken_at_once = (LocalReferencesAre,)
    players = (READER, *OWNERS.values())

    def __init__(self, run: StoryRun) -> None:
        watches, managers, memory = FakeDirectoryWatches(), Managers(), LocalMemory()
        readers = LocalReaders()
        rules = LocalObjectsRules(path=run.folder, check_frequency=Seconds(2.0))

        def holder() -> LocalObjects:
            return LocalObjects(rules, managers, readers.levels, memory, watches)

        tree = SupervisorSpec(
            name="root",
            backoff=Backoff(initial=Seconds(0.1), cap=Seconds(1.0)),
            children=(
                isolated(LOCAL_OBJECTS, holder),
                *(isolated(key, partial(self._make, make)) for key, make in readers.actors()),
            ),
        )
        super().__init__(run, tree)
        self.files = LocalObjectsStage(self.play, run.folder, watches, managers, readers)

    def _make(self, make: Callable[[Stage], BaseActor[Any]]) -> BaseActor[Any]:
        return make(self.play)

    @override
    def _outcome(self) -> Outcome:
        facts = [fact for kind in ObjectKind for fact in self.files.facts(kind)]
        changes = [fact.changed for fact in facts if fact.changed is not None]
        reads = self.files.answers()
        observed: Observations = {
            "how the objects are": {
                (each.object, each.uid, each.is_known, bool(each.error))
                for each in {fact.described.object: fact.described for fact in facts}.values()
            },
            "what changed": {(each.object, each.change, each.keys) for each in changes},
            "who was answered": {(read.object, read.verdict) for read in reads},
            "the verdicts": self.files.described().manifests,
        }
        return Outcome(observed)


def write(name: str, text: str, world: LocalWorld) -> None:
    world.files.keep(name, text)
    world.files.watches.notice()


def remove(name: str, world: LocalWorld) -> None:
    (world.files.path / name).unlink()
    world.files.watches.notice()


def ask(name: str, world: LocalWorld) -> None:
    world.files.asks(secret_id(name))


def list_all(world: LocalWorld) -> None:
    world.files.lists()


def test_no_crash_loses_a_change_an_object_or_an_answer(tmp_path: Path) -> None:
    story = (
        partial(ask, "early"),
        partial(write, "db.yaml", secret_text("db", password="one")),
        partial(write, "app.yaml", config_map_text("app")),
        partial(ask, "db"),
        partial(write, "db.yaml", secret_text("db", password="two")),
        list_all,
        partial(write, "db.yaml", BROKEN),
        partial(ask, "db"),
        partial(remove, "app.yaml"),
    )
    matrix = Matrix(LocalWorld, tmp_path, story)
    matrix.run(range(3), every=2)
    assert matrix.reached > 50
    assert matrix.differences == []
