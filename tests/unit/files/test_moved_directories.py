"""Looks at directories that are moved away, replaced, or put back while they are looked at."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from files.looking.directory import UNCHANGED_IN_A_STEP, look, looking
from files.looking.found import Listed, Listing, Unlistable
from files.looking.steps import Steps, result_of
from tests.support.files.looks import LATER, listed, names

FILES = [f"{number:03}.yaml" for number in range(4 * UNCHANGED_IN_A_STEP)]


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    return directory_of(tmp_path / "manifests", "old")


def directory_of(path: Path, content: str, files: Sequence[str] = FILES) -> Path:
    path.mkdir()
    for name in files:
        (path / name).write_text(content)
    return path


def look_with(
    path: Path, happens: Callable[[], None], *, after: int, previous: Listed | None = None
) -> Listing:
    """Return what is found at ``path`` when something ``happens`` after so many steps of the look."""
    steps = looking(path, now=LATER, previous=previous)
    for _ in range(after):
        next(steps)
    happens()
    return result_of(steps)


@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_directory_that_is_away_for_a_moment_has_all_its_files(
    manifests: Path, after: int
) -> None:
    before = listed(manifests)
    away = manifests.with_name("away")
    steps = looking(manifests, now=LATER, previous=before)
    for _ in range(after):
        next(steps)
    manifests.rename(away)
    next(steps)
    away.rename(manifests)

    assert result_of(steps) is before


@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_directory_that_goes_while_it_is_read_loses_no_file(manifests: Path, after: int) -> None:
    before = listed(manifests)
    away = manifests.with_name("away")

    listing = look_with(
        manifests, lambda: void(manifests.rename(away)), after=after, previous=before
    )

    assert listing == Unlistable(reason="does not exist", missing=True)


def test_a_directory_that_is_replaced_is_read_anew_as_a_whole(manifests: Path) -> None:
    new = directory_of(manifests.with_name("new"), "new")
    (new / FILES[0]).unlink()

    def replaced() -> None:
        manifests.rename(manifests.with_name("old"))
        new.rename(manifests)

    listing = look_with(manifests, replaced, after=3)

    assert isinstance(listing, Listed)
    assert names(listing) == FILES[1:]
    assert {repr(entry.found) for entry in listing.entries} == {"Content(torn=False)"}
    assert listing == listed(manifests)


def test_files_that_vanish_with_their_directory_are_not_known_to_be_gone(manifests: Path) -> None:
    # Who moves it away and deletes it then: rm -r takes one file after the other.
    before = listed(manifests)
    away = manifests.with_name("away")

    def is_moved_and_deleted() -> None:
        manifests.rename(away)
        shutil.rmtree(away)

    listing = look_with(manifests, is_moved_and_deleted, after=2, previous=before)

    assert listing == Unlistable(reason="does not exist", missing=True)


def test_a_file_that_vanishes_from_a_directory_that_stays_is_gone(manifests: Path) -> None:
    before = listed(manifests)

    listing = look_with(manifests, (manifests / FILES[-1]).unlink, after=2, previous=before)

    assert isinstance(listing, Listed)
    assert names(listing) == FILES[:-1]


def test_a_directory_that_is_replaced_during_every_look_cannot_be_listed(tmp_path: Path) -> None:
    manifests = directory_of(tmp_path / "manifests", "old", FILES[:3])
    olds = (manifests.with_name(f"old-{number}") for number in count())

    def replaced_at_every_step() -> Steps[Listing]:
        steps = looking(manifests, now=LATER)
        while True:
            try:
                yield next(steps)
            except StopIteration as end:
                listing: Listing = end.value
                return listing
            manifests.rename(next(olds))
            directory_of(manifests, "new", FILES[:3])

    assert result_of(replaced_at_every_step()) == Unlistable(
        reason="was moved or replaced while it was being read", missing=False
    )


def test_a_look_that_is_given_up_leaves_no_open_directory(manifests: Path) -> None:
    descriptors = Path("/proc/self/fd")
    before = len([*descriptors.iterdir()])
    steps = looking(manifests, now=LATER)
    next(steps)
    assert len([*descriptors.iterdir()]) == before + 1

    steps.close()

    assert len([*descriptors.iterdir()]) == before


def test_a_single_file_whose_directory_is_away_is_not_known_to_be_gone(manifests: Path) -> None:
    file = manifests / FILES[0]
    before = listed(file)
    with swapped_again_and_again(manifests):
        for _ in range(300):
            listing = look(file, now=LATER, previous=before)
            assert listing is before or isinstance(listing, Unlistable)


def test_no_file_is_missing_however_often_its_directory_is_moved_away(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    for number in range(300):
        (manifests / f"{number:03}.yaml").write_text("kind: Pod")
    before = listed(manifests)
    with swapped_again_and_again(manifests):
        for _ in range(100):
            listing = look(manifests, now=LATER, previous=before)
            assert listing is before or isinstance(listing, Unlistable)


@contextmanager
def swapped_again_and_again(directory: Path) -> Iterator[None]:
    """Move ``directory`` away and back all the time, on another thread."""
    away, done = directory.with_name("away"), threading.Event()

    def swap() -> None:
        while not done.is_set():
            directory.rename(away)
            away.rename(directory)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def void(_result: object) -> None:
    """Drop what a call returns."""
