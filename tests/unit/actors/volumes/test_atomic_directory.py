"""A volume's directory: what readers see, and what is left of earlier writes."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Final

import pytest

from actors.volumes.atomic_directory import (
    AtomicDirectory,
    ContentNotWrittenError,
    write_generation,
)
from actors.volumes.content.files import Payload, VolumeFile
from actors.volumes.opened import opened, read_file, remove_all
from messages.units import Timestamp
from tests.support.volumes.reading import data_of, mode_of, payload_of, seen_in, strays_in

NOON: Final = Timestamp(1_900_000_000.0)
ONE: Final = payload_of({"a": b"one", "etc/app/b": b"one", "etc/c": b""})
TWO: Final = payload_of({"a": b"two", "d": b"two"})


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    return tmp_path / "pods" / "uid" / "volumes" / "kubernetes.io~configmap" / "settings"


def entries(volume: Path) -> dict[str, str]:
    return {each.name: str(each.readlink()) for each in volume.iterdir() if each.is_symlink()}


def test_a_volume_is_laid_out_as_kubelets_do_it(volume: Path) -> None:
    written = AtomicDirectory(volume).write(ONE, NOON)
    assert (written.is_changed, written.leaving, written.notes) == (True, (), ())
    links = entries(volume)
    assert links.pop("..data").startswith("..2030_03_17_17_46_40.")
    assert links == {"a": "..data/a", "etc": "..data/etc"}
    assert seen_in(volume) == data_of(ONE)
    assert strays_in(volume) == set()
    assert mode_of(volume) == 0o777
    assert [mode_of(volume / each) for each in ("..data", "etc", "etc/app", "a")] == [
        *(0o755, 0o755, 0o755, 0o644)
    ]


def test_the_parents_of_a_volume_are_not_for_everybody(volume: Path) -> None:
    AtomicDirectory(volume).write(ONE, NOON)
    assert mode_of(volume.parent) & 0o007 == mode_of(volume.parent) & 0o020 == 0
    assert [each.name for each in volume.parent.iterdir()] == ["settings"]


def test_an_update_is_seen_at_once_and_the_old_content_stays_until_it_is_removed(
    volume: Path,
) -> None:
    directory = AtomicDirectory(volume)
    directory.write(ONE, NOON)
    old = volume.joinpath("..data").readlink().name
    reader = os.open(volume / "..data", os.O_PATH | os.O_DIRECTORY)
    written = directory.write(TWO, NOON)
    assert (written.is_changed, written.leaving) == (True, (old,))
    assert seen_in(volume) == data_of(TWO)
    assert entries(volume).keys() == {"..data", "a", "d"}
    file = read_file("a", reader)
    assert file is not None
    assert file[1] == b"one"
    os.close(reader)
    assert directory.remove(old) == directory.remove(old) == ""
    assert strays_in(volume) == set()


def test_equal_content_writes_nothing(volume: Path) -> None:
    first = AtomicDirectory(volume)
    first.write(ONE, NOON)
    before = entries(volume)
    for directory in (first, AtomicDirectory(volume), first):
        again = payload_of({path: bytes(data) for path, data in data_of(ONE).items()})
        written = directory.write(again, NOON)
        assert (written.is_changed, written.leaving, written.notes) == (False, (), ())
        assert entries(volume) == before


@pytest.mark.parametrize(
    "other",
    [
        payload_of({**data_of(ONE), "a": b"tow"}),
        payload_of({**data_of(ONE), "new": b""}),
        payload_of({"a": b"one"}),
        payload_of(data_of(ONE), mode=0o600),
        payload_of({"a": b"one", "etc": b"one"}),
    ],
)
def test_whatever_differs_is_written_in_this_life_and_in_the_next(
    volume: Path, other: Payload
) -> None:
    directory = AtomicDirectory(volume)
    directory.write(ONE, NOON)
    assert directory.write(other, NOON).is_changed
    assert AtomicDirectory(volume).write(ONE, NOON).is_changed
    assert seen_in(volume) == data_of(ONE)
    assert AtomicDirectory(volume).write(other, NOON).is_changed
    assert seen_in(volume) == data_of(other)


def test_content_that_somebody_changed_is_made_whole_by_the_next_life(volume: Path) -> None:
    AtomicDirectory(volume).write(ONE, NOON)
    volume.joinpath("a").write_bytes(b"cut")
    assert AtomicDirectory(volume).write(ONE, NOON).is_changed
    file = volume / "..data" / "a"
    file.unlink()
    file.symlink_to("/etc/hostname")
    assert AtomicDirectory(volume).write(ONE, NOON).is_changed
    assert seen_in(volume) == data_of(ONE)


def test_modes_do_not_depend_on_the_mask_of_the_process(volume: Path) -> None:
    mask = os.umask(0o077)
    try:
        AtomicDirectory(volume).write(payload_of({"d/a": b""}, mode=0o777), NOON)
    finally:
        os.umask(mask)
    paths = (volume, volume / "..data", volume / "d", volume / "d/a")
    assert [mode_of(each) for each in paths] == [0o777, 0o755, 0o755, 0o777]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_files_and_directories_belong_to_the_group_of_the_pod(volume: Path) -> None:
    files = {"d/a": VolumeFile(b"x", 0o440), "t": VolumeFile(b"jwt", 0o640, 1000)}
    payload = Payload(files=files, group=4321)
    assert AtomicDirectory(volume).write(payload, NOON).is_changed
    assert not AtomicDirectory(volume).write(payload, NOON).is_changed
    paths = (volume, volume / "..data", volume / "d", volume / "d/a", volume / "t")
    assert [mode_of(each) for each in paths] == [0o2777, 0o2755, 0o2755, 0o440, 0o640]
    assert {each.stat().st_gid for each in paths} == {4321}
    assert [each.stat().st_uid for each in paths] == [0, 0, 0, 0, 1000]
    assert AtomicDirectory(volume).write(Payload(files=files, group=4322), NOON).is_changed
    for other in (1001, None):
        changed = files | {"t": VolumeFile(b"jwt", 0o640, other)}
        assert AtomicDirectory(volume).write(Payload(files=changed, group=4322), NOON).is_changed
    assert mode_of(volume) == 0o2777


def test_a_volume_that_somebody_removed_is_made_again_and_that_is_said(volume: Path) -> None:
    directory = AtomicDirectory(volume)
    directory.write(ONE, NOON)
    directory.write(TWO, NOON)
    remove_all_of(volume)
    written = directory.write(TWO, NOON)
    assert written.is_changed
    assert written.notes == (f"{volume} was gone, and is made again",)
    assert seen_in(volume) == data_of(TWO)
    remove_all_of(volume)
    assert directory.remove(*written.leaving) == ""


def remove_all_of(volume: Path) -> None:
    with opened(str(volume.parent)) as parent:
        remove_all(volume.name, parent)


@pytest.mark.parametrize("in_its_place", ["directory", "file", "foreign link", "dangling link"])
def test_something_else_in_the_place_of_the_content_is_replaced_and_that_is_said(
    volume: Path, in_its_place: str
) -> None:
    directory = AtomicDirectory(volume)
    directory.write(ONE, NOON)
    data = volume / "..data"
    data.unlink()
    match in_its_place:
        case "directory":
            data.joinpath("a").mkdir(parents=True)
        case "file":
            data.touch()
        case "foreign link":
            data.symlink_to("/etc")
        case _:
            data.symlink_to("..2030_01_01_00_00_00.1")
    written = directory.write(ONE, NOON)
    assert written.is_changed
    assert written.notes == (f"..data in {volume} led to no content, and is made again",)
    assert seen_in(volume) == data_of(ONE)
    assert directory.write(TWO, NOON).notes == ()
    assert seen_in(volume) == data_of(TWO)
    assert Path("/etc/hostname").exists()


def test_what_an_earlier_life_left_is_removed_first(volume: Path) -> None:
    AtomicDirectory(volume).write(ONE, NOON)
    for name in ("..2030_01_01_00_00_00.123/deep/a", "..2030_01_01_00_00_01.x"):
        volume.joinpath(name).mkdir(parents=True)
    volume.joinpath("..data_tmp").symlink_to("..2030_01_01_00_00_01.x")
    volume.joinpath("gone").symlink_to("..data/gone")
    volume.joinpath("a").unlink()
    written = AtomicDirectory(volume).write(ONE, NOON)
    assert (written.is_changed, written.notes) == (False, ())
    assert strays_in(volume) == set()
    assert entries(volume).keys() == {"..data", "a", "etc"}


def test_what_is_not_the_writers_stays(volume: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    AtomicDirectory(volume).write(ONE, NOON)
    volume.joinpath("own").mkdir()
    volume.joinpath("..own").mkdir()
    volume.joinpath("link").symlink_to(outside)
    volume.joinpath("..2030_01_01_00_00_00.1").symlink_to(outside)
    AtomicDirectory(volume).write(TWO, NOON)
    names = {each.name for each in volume.iterdir()}
    assert {"own", "..own", "link"} <= names
    assert "..2030_01_01_00_00_00.1" not in names
    assert outside.is_dir()


def test_something_else_in_the_place_of_a_link_is_replaced_and_that_is_said(volume: Path) -> None:
    directory = AtomicDirectory(volume)
    directory.write(ONE, NOON)
    volume.joinpath("a").unlink()
    volume.joinpath("a").mkdir()
    volume.joinpath("d").symlink_to("/etc/hostname")
    written = directory.write(TWO, NOON)
    assert written.notes == (
        "a was something else, and is a link to the content again",
        "d was something else, and is a link to the content again",
    )
    assert seen_in(volume) == data_of(TWO)


def test_a_volume_that_is_a_link_or_a_file_is_not_written(volume: Path, tmp_path: Path) -> None:
    volume.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for is_link in (True, False):
        if is_link:
            volume.symlink_to(elsewhere)
        else:
            volume.touch()
        with pytest.raises(ContentNotWrittenError, match=re.escape(str(volume))):
            AtomicDirectory(volume).write(ONE, NOON)
        volume.unlink()
    assert list(elsewhere.iterdir()) == []


def test_an_empty_payload_is_an_empty_volume(volume: Path) -> None:
    directory = AtomicDirectory(volume)
    assert directory.write(Payload(), NOON).is_changed
    directory.write(ONE, NOON)
    directory.write(Payload(), NOON)
    assert entries(volume).keys() == {"..data"}
    assert not AtomicDirectory(volume).write(Payload(), NOON).is_changed


def test_a_durable_write_is_the_same_for_readers(volume: Path) -> None:
    directory = AtomicDirectory(volume, is_durable=True)
    directory.write(ONE, NOON)
    directory.write(TWO, NOON)
    assert seen_in(volume) == data_of(TWO)


def test_what_a_link_leads_to_is_never_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.joinpath("kept").touch()
    inside = tmp_path / "inside"
    inside.mkdir()
    inside.joinpath("link").symlink_to(outside)
    with opened(str(tmp_path)) as parent:
        remove_all("inside", parent)
        assert not inside.exists()
        assert outside.joinpath("kept").exists()
        inside.symlink_to(outside)
        remove_all("inside", parent)
        remove_all("inside", parent)
        assert outside.joinpath("kept").exists()


def test_directories_that_nobody_can_have_made_for_a_payload_stay(tmp_path: Path) -> None:
    place = tmp_path
    for _ in range(140):
        place /= "d"
        place.mkdir()
    with opened(str(tmp_path)) as parent, pytest.raises(OSError, match="Too many") as failed:
        remove_all("d", parent)
    assert failed.value.errno == errno.ELOOP


def test_a_path_that_is_a_file_and_a_directory_is_not_written(tmp_path: Path) -> None:
    payload = payload_of({"a": b"", "a/b": b""})
    with opened(str(tmp_path)) as parent, pytest.raises(NotADirectoryError):
        write_generation(parent, "..x", payload, is_durable=False)
