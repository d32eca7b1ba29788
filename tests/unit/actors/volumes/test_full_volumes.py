"""Volumes on a full file system: the old content stays, and what was begun is removed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from actors.volumes.atomic_directory import AtomicDirectory, ContentNotWrittenError
from actors.volumes.opened import opened, remove_all
from messages.units import Timestamp
from tests.support.volumes.reading import data_of, payload_of, seen_in, strays_in
from tests.support.volumes.small_disks import needs_root, shown_again, small_disk

NOON: Final = Timestamp(1_900_000_000.0)
SMALL: Final = payload_of({"a": b"old", "etc/b": b"old"})


@needs_root
@pytest.mark.parametrize("size", [200_000, 70_000])
def test_content_that_does_not_fit_leaves_the_old_one(tmp_path: Path, size: int) -> None:
    with small_disk(tmp_path / "volume", "size=64k") as volume:
        directory = AtomicDirectory(volume)
        directory.write(SMALL, NOON)
        for writer in (directory, AtomicDirectory(volume), directory):
            with pytest.raises(ContentNotWrittenError) as failed:
                writer.write(payload_of({"a": bytes(size), "new": b""}), NOON)
            assert str(failed.value) == f"{volume}: No space left on device"
            assert seen_in(volume) == data_of(SMALL)
            assert strays_in(volume) == set()
        assert not directory.write(SMALL, NOON).is_changed
        assert directory.write(payload_of({"a": bytes(40_000)}), NOON).is_changed


@needs_root
def test_content_of_more_files_than_there_can_be_leaves_the_old_one(tmp_path: Path) -> None:
    with small_disk(tmp_path / "volume", "size=1m,nr_inodes=30") as volume:
        directory = AtomicDirectory(volume)
        directory.write(SMALL, NOON)
        many = payload_of({f"key-{number}": b"" for number in range(40)})
        with pytest.raises(ContentNotWrittenError) as failed:
            directory.write(many, NOON)
        assert "No space left on device" in str(failed.value)
        assert seen_in(volume) == data_of(SMALL)
        assert strays_in(volume) == set()


@needs_root
def test_a_volume_without_inodes_is_said_to_be_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=1m,nr_inodes=12") as disk:
        directory = AtomicDirectory(disk / "volume")
        directory.write(SMALL, NOON)
        with suppress(OSError):
            for number in range(100):
                disk.joinpath(f"other-{number}").touch()
        with pytest.raises(ContentNotWrittenError) as failed:
            directory.write(payload_of({"a": b"new"}), NOON)
        assert str(failed.value) == f"{disk}/volume: No space left on device (no inodes)"
        assert seen_in(disk / "volume") == data_of(SMALL)


@needs_root
def test_links_that_found_no_room_are_made_by_the_next_write(tmp_path: Path) -> None:
    new = payload_of({f"key-{number}": b"" for number in range(5)})
    with small_disk(tmp_path / "volume", "size=1m,nr_inodes=14") as volume:
        directory = AtomicDirectory(volume)
        directory.write(payload_of({"a": b"old"}), NOON)
        # One generation of five files fits beside the old one, and its links only after that went.
        assert directory.write(new, NOON).leaving == ()
        assert seen_in(volume) == data_of(new)
        assert strays_in(volume) == set()


@needs_root
def test_old_generations_leave_early_where_they_take_the_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "volume", "size=128k") as volume:
        directory = AtomicDirectory(volume)
        for number in range(20):
            content = payload_of({"a": bytes([number]) * 40_000})
            assert directory.write(content, NOON).is_changed
            assert seen_in(volume) == data_of(content)
        assert len(strays_in(volume)) <= 2


@needs_root
def test_what_is_mounted_in_an_old_generation_stays(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    directory = AtomicDirectory(volume)
    directory.write(SMALL, NOON)
    (old,) = directory.write(payload_of({"a": b"new"}), NOON).leaving
    with small_disk(volume / old / "etc" / "mounted", "size=64k") as mounted:
        mounted.joinpath("kept").touch()
        assert "Something is mounted there" in directory.remove(old)
        notes = AtomicDirectory(volume).write(payload_of({"a": b"new"}), NOON).notes
        assert notes == (f"{old} in {volume} stays: Something is mounted there",)
        assert mounted.joinpath("kept").exists()
    assert directory.remove(old) == ""
    assert strays_in(volume) == set()


@needs_root
def test_nothing_is_removed_in_another_mount_of_one_file_system(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=64k") as disk:
        disk.joinpath("kept").mkdir()
        disk.joinpath("kept/file").touch()
        disk.joinpath("tree").mkdir()
        with shown_again(disk / "kept", disk / "tree" / "here"):
            with opened(str(disk)) as parent, pytest.raises(OSError, match="mounted"):
                remove_all("tree", parent)
            assert disk.joinpath("kept/file").exists()
