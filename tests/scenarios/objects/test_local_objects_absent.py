"""Local objects that are not held: there is none, or its file cannot be used; what managers are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from messages.holders import HolderIs, LocalObjectsListed
from messages.objects import ObjectKind
from tests.support.objects.local_objects_stage import (
    LocalObjectsStage,
    config_map_text,
    local_objects_stage,
    secret_text,
    write_just_now,
)

NOTHING_REFUSED = LocalObjectsListed(refused={})
BAD_BASE64 = "data: {a: '?'}\n"


@pytest.fixture
def files(files: LocalObjectsStage) -> LocalObjectsStage:
    """Return the holder after its first look."""
    files.play.settle()
    return files


def refusals(files: LocalObjectsStage, kind: ObjectKind = ObjectKind.SECRET) -> dict[str, str]:
    """Return which objects have a file that is refused, and why, as a manager was told last."""
    return dict(files.listings(kind)[-1].refused)


@pytest.mark.parametrize("kind", list(ObjectKind))
def test_once_it_has_listed_it_says_so_and_no_more(
    files: LocalObjectsStage, kind: ObjectKind
) -> None:
    assert files.listings(kind) == [NOTHING_REFUSED]
    files.put("db.yaml", secret_text("db"))
    files.scans()
    assert files.listings(kind) == []


def test_each_life_and_each_manager_that_asks_is_told_anew(files: LocalObjectsStage) -> None:
    files.listings()
    files.lists()
    assert files.listings() == [NOTHING_REFUSED]
    files.crashes()
    assert files.listings() == [NOTHING_REFUSED]


def test_it_says_so_after_it_has_told_what_there_is(tmp_path: Path) -> None:
    write_just_now(tmp_path / "app.yaml", config_map_text("app"))
    with local_objects_stage(tmp_path) as files:
        files.lists()
        manager = files.managers[ObjectKind.CONFIG_MAP]
        assert manager.drain() == []
        files.play.advance(0.3)
        news, listed = manager.drain()
        assert isinstance(news, HolderIs)
        assert listed == NOTHING_REFUSED


def test_a_refused_file_is_told_to_the_manager_of_its_kind_until_it_is_mended_or_goes(
    files: LocalObjectsStage,
) -> None:
    files.listings(ObjectKind.CONFIG_MAP)
    files.put("db.yaml", secret_text("db"), mode=0o644)
    reason = "db.yaml: the file of this Secret is open to others"
    assert reason in refusals(files)["default/db"]
    (files.path / "db.yaml").chmod(0o640)
    files.notices()
    assert refusals(files) == {}
    files.put("tls.yaml", secret_text("tls"), mode=0o644)
    assert list(refusals(files)) == ["default/tls"]
    (files.path / "tls.yaml").unlink()
    files.notices()
    assert refusals(files) == {}
    assert files.listings(ObjectKind.CONFIG_MAP) == []


def test_a_refused_file_in_the_place_of_one_that_went_is_told(files: LocalObjectsStage) -> None:
    files.put("gone.yaml", secret_text("gone"))
    (files.path / "gone.yaml").unlink()
    files.notices()
    assert refusals(files) == {}
    files.put("gone.yaml", secret_text("gone"), mode=0o644)
    assert list(refusals(files)) == ["default/gone"]


def test_of_two_refused_files_with_one_object_the_first_says_why(
    files: LocalObjectsStage,
) -> None:
    files.keep("a.yaml", secret_text("db"), mode=0o644)
    files.put("b.yaml", secret_text("db") + BAD_BASE64)
    assert "a.yaml: the file of this Secret is open" in refusals(files)["default/db"]


def test_while_the_directory_cannot_be_listed_it_says_since_when(files: LocalObjectsStage) -> None:
    files.listings()
    files.path.rename(files.path.with_name("elsewhere"))
    files.scans()
    (listed,) = files.listings()
    assert listed.current_until is not None
    assert listed.error == f"{files.path} does not exist"
    files.path.with_name("elsewhere").rename(files.path)
    files.scans()
    assert files.listings() == [NOTHING_REFUSED]


def test_a_directory_that_never_was_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "later"
    with local_objects_stage(path) as files:
        files.play.advance(0.3)
        (listed,) = files.listings()
        assert (listed.current_until, listed.refused) == (None, {})
        assert listed.error == f"{path} does not exist, taken as empty"
