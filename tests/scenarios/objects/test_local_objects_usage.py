"""Whom a change of a local object concerns: pods that were there before it, as far as anybody can tell."""

from __future__ import annotations

import pytest

from actors.objects.local_files import LOCAL_OBJECTS
from messages.holders import NO_MARK, LocalReferencesAre, Mark
from messages.objects import ObjectKind, ReadVerdict
from tests.support.objects.local_objects_stage import (
    LocalObjectsStage,
    config_map_id,
    config_map_text,
    secret_id,
    secret_text,
)

CONFIG_MAP = ObjectKind.CONFIG_MAP


@pytest.fixture
def files(files: LocalObjectsStage) -> LocalObjectsStage:
    """Return a directory with one Secret, which everybody knows."""
    files.put("db.yaml", secret_text("db", password="old"))
    files.facts()
    return files


def edits(files: LocalObjectsStage, password: str = "new", *, age: float = 60.0) -> None:
    """Have the Secret be another since so many seconds, which nobody notices."""
    files.touch(files.keep("db.yaml", secret_text("db", password=password)), age=age)


def password(files: LocalObjectsStage, *, mark: int) -> bytes:
    value = files.reads(secret_id("db"), mark=mark).value
    assert value is not None
    return value.data["password"]


# --- who was there before ------------------------------------------------------------------------------


def test_a_change_concerns_those_who_came_before_it_whether_they_read_or_not(
    files: LocalObjectsStage,
) -> None:
    files.has_references(up_to=4)
    edits(files)
    files.notices()
    assert files.concerned() == [4]


def test_what_the_look_for_a_new_pod_finds_does_not_concern_it(files: LocalObjectsStage) -> None:
    files.has_references(up_to=4)
    edits(files)
    files.has_references(up_to=6)
    assert files.concerned() == [4]
    assert password(files, mark=6) == b"new"
    # From there on it has something to lose.
    edits(files, "newer")
    files.notices()
    assert files.concerned() == [6]


def test_what_the_first_read_of_a_pod_finds_concerns_those_who_came_before(
    files: LocalObjectsStage,
) -> None:
    """The read may overtake what its manager says of the reference."""
    files.put("app.yaml", config_map_text("app", level="info"))
    files.has_references(up_to=3)
    files.reads(secret_id("db"), mark=4)
    files.facts(CONFIG_MAP)
    edits(files)
    files.keep("app.yaml", config_map_text("app", level="debug"))
    assert password(files, mark=6) == b"new"
    assert files.concerned() == [4]
    # Marks of one kind say nothing about those of the other.
    assert files.concerned(CONFIG_MAP) == [NO_MARK]


def test_what_is_told_again_of_old_references_takes_none_back(files: LocalObjectsStage) -> None:
    files.has_references(up_to=4)
    files.has_references(up_to=2)
    edits(files)
    files.notices()
    edits(files, "newer")
    files.notices()
    assert files.concerned() == [4, 4]


def test_what_both_managers_say_while_it_is_busy_is_heard(files: LocalObjectsStage) -> None:
    files.put("app.yaml", config_map_text("app", level="info"))
    files.facts(CONFIG_MAP)
    files.play.tell_all(
        LOCAL_OBJECTS,
        LocalReferencesAre(object=secret_id(), references=1, newest=Mark(2), wanted=0),
        LocalReferencesAre(object=config_map_id(), references=1, newest=Mark(7), wanted=0),
        LocalReferencesAre(object=secret_id(), references=1, newest=Mark(4), wanted=0),
    )
    files.keep("app.yaml", config_map_text("app", level="debug"))
    edits(files)
    files.notices()
    assert files.concerned() == [4]
    assert files.concerned(CONFIG_MAP) == [7]


# --- while something moves -----------------------------------------------------------------------------


def test_what_was_being_written_when_a_pod_came_does_not_concern_it(
    files: LocalObjectsStage,
) -> None:
    files.has_references(up_to=4)
    edits(files, age=0.03)
    files.has_references(up_to=6)
    assert files.concerned() == []
    files.play.advance(0.3)
    assert files.concerned() == [4]


def test_what_was_being_written_when_a_pod_read_the_old_version_concerns_it(
    files: LocalObjectsStage,
) -> None:
    files.has_references(up_to=4)
    edits(files, age=0.03)
    assert password(files, mark=6) == b"old"
    files.play.advance(0.3)
    assert files.concerned() == [6]


def test_what_was_being_written_when_a_pod_read_another_object_does_not_concern_it(
    files: LocalObjectsStage,
) -> None:
    files.put("tls.yaml", secret_text("tls"))
    files.facts()
    files.has_references(up_to=4)
    edits(files, age=0.03)
    assert files.reads(secret_id("tls"), mark=6).verdict is ReadVerdict.FOUND
    files.play.advance(0.3)
    assert files.concerned() == [4]


def test_what_had_gone_for_a_moment_when_a_pod_came_does_not_concern_it(
    files: LocalObjectsStage,
) -> None:
    """As when a file is moved away and made anew."""
    files.has_references(up_to=4)
    (files.path / "db.yaml").unlink()
    files.has_references(up_to=6)
    edits(files)
    files.notices()
    assert files.concerned() == [4]


def test_what_changed_while_the_directory_was_away_does_not_concern_who_came_then(
    files: LocalObjectsStage,
) -> None:
    files.has_references(up_to=4)
    elsewhere = files.path.with_name("elsewhere")
    files.path.rename(elsewhere)
    files.has_references(up_to=6)
    elsewhere.rename(files.path)
    edits(files)
    files.notices()
    assert files.concerned() == [4]


def test_what_changed_while_the_directory_was_away_concerns_who_was_answered_then(
    files: LocalObjectsStage,
) -> None:
    files.has_references(up_to=4)
    elsewhere = files.path.with_name("elsewhere")
    files.path.rename(elsewhere)
    assert files.reads(secret_id("db"), mark=6).verdict is ReadVerdict.STALE
    elsewhere.rename(files.path)
    edits(files)
    files.notices()
    assert files.concerned() == [6]


# --- crashes -------------------------------------------------------------------------------------------


def test_who_came_before_is_known_after_a_crash_too(files: LocalObjectsStage) -> None:
    files.has_references(up_to=4)
    files.crashes()
    files.facts()
    edits(files)
    assert password(files, mark=6) == b"new"
    assert files.concerned() == [4]


def test_who_comes_while_the_holder_is_down_begins_with_what_it_finds(
    files: LocalObjectsStage,
) -> None:
    files.has_references(up_to=4)
    edits(files)
    files.goes_down()
    files.has_references(up_to=6)
    files.recovers()
    assert files.concerned() == [4]
    edits(files, "newer")
    files.notices()
    assert files.concerned() == [6]


# --- what comes back -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "mark"), [("old", NO_MARK), ("another", 4)])
def test_what_comes_back_as_it_was_concerns_nobody(
    files: LocalObjectsStage, text: str, mark: int
) -> None:
    files.has_references(up_to=4)
    (files.path / "db.yaml").unlink()
    files.notices()
    files.facts()
    files.put("db.yaml", secret_text("db", password=text))
    assert files.concerned() == [mark]


def test_what_comes_back_as_it_was_concerns_those_who_missed_it(files: LocalObjectsStage) -> None:
    (files.path / "db.yaml").unlink()
    files.notices()
    assert files.reads(secret_id("db"), mark=4).verdict is ReadVerdict.NOT_FOUND
    files.facts()
    files.put("db.yaml", secret_text("db", password="old"))
    assert files.concerned() == [4]
