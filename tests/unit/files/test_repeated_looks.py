"""What a look finds again, on real files: identical entries, and signatures that prove it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from files.looking.directory import NAMES_IN_A_STEP, UNCHANGED_IN_A_STEP, look, looking
from files.looking.found import Content, Listed, Signature
from files.looking.steps import result_of
from messages.units import Timestamp
from tests.support.files.looks import LATER, listed, names, the_entry

STEPS_OF_A_LISTING = 4
"""Of one with few names, until all of them are known and in order."""


def test_a_look_at_what_did_not_change_gives_the_identical_listing(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("kind: Pod")
    (tmp_path / ".hidden").touch()
    (tmp_path / "directory").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")

    first = listed(tmp_path)

    assert listed(tmp_path, first) is first


def test_a_change_leaves_the_entries_of_the_other_files_identical(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod")
    (tmp_path / "b.yaml").write_text("kind: Pod")
    first = listed(tmp_path)

    (tmp_path / "b.yaml").write_text("kind: Pod # edited")
    second = listed(tmp_path, first)

    assert second.entries[0] is first.entries[0]
    assert second.entries[1].found == Content(data=b"kind: Pod # edited")


def test_a_known_file_that_the_system_leaves_out_of_its_listing_is_no_removal(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod")
    (tmp_path / "b.yaml").write_text("kind: Pod")
    before = listed(tmp_path)

    (tmp_path / "a.yaml").unlink()
    steps = looking(tmp_path, now=LATER, previous=before)
    for _ in range(STEPS_OF_A_LISTING):
        next(steps)  # the names are listed, and none was looked at
    (tmp_path / "a.yaml").write_text("kind: Pod")
    listing = result_of(steps)

    assert isinstance(listing, Listed)
    assert names(listing) == ["a.yaml", "b.yaml"]


def test_an_ignored_name_that_is_gone_is_gone(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    before = listed(tmp_path)

    (tmp_path / ".hidden").unlink()

    assert names(listed(tmp_path, before)) == []


def test_many_names_are_listed_in_steps_before_any_is_looked_at(tmp_path: Path) -> None:
    many = 2 * NAMES_IN_A_STEP + UNCHANGED_IN_A_STEP
    for number in range(many):
        (tmp_path / f"{number}.yaml").touch()
    before = listed(tmp_path)

    steps = sum(1 for _ in looking(tmp_path, now=LATER, previous=before))

    named, looked_at = many // NAMES_IN_A_STEP, many // UNCHANGED_IN_A_STEP
    assert steps == STEPS_OF_A_LISTING + named + looked_at + 1


def test_a_touched_file_keeps_the_identical_content(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("kind: Pod")
    first = listed(tmp_path)

    os.utime(tmp_path / "web.yaml", (1, 1))
    second = listed(tmp_path, first)

    assert the_entry(second) != the_entry(first)
    assert the_entry(second).found is the_entry(first).found


def test_an_old_signature_is_proof_that_nothing_was_written(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("new")
    remembered = replace(the_entry(listed(tmp_path)), found=Content(data=b"old"))

    again = listed(tmp_path, Listed(entries=(remembered,)))

    assert the_entry(again) is remembered


def test_a_signature_that_was_young_when_it_was_seen_proves_nothing(tmp_path: Path) -> None:
    # Two writes so close together that they leave the same time, and a look between them.
    manifest = tmp_path / "web.yaml"
    manifest.write_text("new")
    one_second_later = Timestamp(manifest.stat().st_ctime + 1.0)
    between = look(tmp_path, now=one_second_later)
    assert isinstance(between, Listed)
    remembered = replace(the_entry(between), found=Content(data=b"old"))

    again = listed(tmp_path, Listed(entries=(remembered,)))

    assert the_entry(again).found == Content(data=b"new")


@pytest.mark.parametrize(
    ("modified", "changed", "final"),
    [(97.9, 97.9, True), (98.5, 97.9, False), (97.9, 98.5, False), (110.0, 97.9, False)],
    ids=["both old", "written lately", "given an old time lately", "from the future"],
)
def test_a_signature_is_final_when_no_later_write_can_leave_the_same(
    modified: float, changed: float, *, final: bool
) -> None:
    signature = Signature(1, 1, 0, int(modified * 1e9), int(changed * 1e9))

    assert signature.is_final(Timestamp(100.0)) is final


def test_a_file_whose_time_lies_in_the_future_is_read_again_at_each_look(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("new")
    os.utime(tmp_path / "web.yaml", (LATER + 99, LATER + 99))
    remembered = replace(the_entry(listed(tmp_path)), found=Content(data=b"old"))

    again = listed(tmp_path, Listed(entries=(remembered,)))

    assert the_entry(again).found == Content(data=b"new")
