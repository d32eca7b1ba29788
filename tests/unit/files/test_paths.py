"""Looks at paths that cannot be listed, and at single files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from files.looking.directory import look
from files.looking.found import Listed, Unlistable
from tests.support.files.looks import LATER, as_nobody, contents, listed, the_entry


def test_a_missing_path_cannot_be_listed_and_is_known_as_missing(tmp_path: Path) -> None:
    assert look(tmp_path / "manifests", now=LATER) == Unlistable(
        reason="does not exist", missing=True
    )


def test_a_directory_that_goes_is_missing_although_its_parent_is_there(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    there = listed(manifests)

    manifests.rmdir()

    assert look(manifests, now=LATER, previous=there) == Unlistable(
        reason="does not exist", missing=True
    )


def test_an_empty_directory_on_another_file_system_is_an_unmounted_one(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("web")
    mounted = replace(listed(tmp_path), device=-1)
    (tmp_path / "web.yaml").unlink()
    listing = look(tmp_path, now=LATER, previous=mounted)
    assert isinstance(listing, Unlistable)
    assert listing.missing


def test_files_on_another_file_system_are_listed(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("web")
    mounted = replace(listed(tmp_path), device=-1)
    (tmp_path / "other.yaml").write_text("other")
    names = [entry.name for entry in listed(tmp_path, mounted).entries]
    assert names == ["other.yaml", "web.yaml"]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "is a fifo, neither a directory nor a file"),
        (
            lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
            "is a socket, neither a directory nor a file",
        ),
        (
            lambda path: path.symlink_to("/dev/null"),
            "is a device, neither a directory nor a file",
        ),
        (
            lambda path: path.symlink_to(path.name),
            "cannot be read: Too many levels of symbolic links",
        ),
    ],
    ids=["fifo", "socket", "device", "loop"],
)
def test_a_path_that_holds_no_manifests_cannot_be_listed_but_is_not_missing(
    tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    make(tmp_path / "manifests")

    assert look(tmp_path / "manifests", now=LATER) == Unlistable(reason=reason, missing=False)


def test_a_path_below_a_file_cannot_be_listed_but_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert look(tmp_path / "file" / "manifests", now=LATER) == Unlistable(
        reason="cannot be read: Not a directory", missing=False
    )


def test_a_directory_that_may_not_be_read_cannot_be_listed(public_directory: Path) -> None:
    manifests = public_directory / "manifests"
    manifests.mkdir(mode=0o700)
    manifests.chmod(0o100)

    with as_nobody():
        listing = look(manifests, now=LATER)

    assert listing == Unlistable(reason="cannot be read: Permission denied", missing=False)


@pytest.mark.parametrize("name", ["web.yaml", ".hidden", "web.yaml.bak"])
def test_a_single_file_is_read_whatever_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("kind: Pod")

    listing = listed(tmp_path / name)

    assert listing.single
    assert the_entry(listing) == replace(the_entry(listing), name=name, path=tmp_path / name)
    assert contents(listing) == [b"kind: Pod"]
    assert listed(tmp_path / name, listing) is listing


def test_a_single_file_that_is_taken_out_of_its_directory_was_removed(tmp_path: Path) -> None:
    manifest = tmp_path / "web.yaml"
    manifest.write_text("kind: Pod")
    there = listed(manifest)

    manifest.unlink()
    gone = listed(manifest, there)

    assert gone == Listed(entries=(), single=True)
    assert listed(manifest, gone) is gone


def test_a_single_file_whose_directory_is_gone_is_missing(tmp_path: Path) -> None:
    manifest = tmp_path / "mount" / "web.yaml"
    manifest.parent.mkdir()
    manifest.write_text("kind: Pod")
    there = listed(manifest)

    manifest.parent.rename(tmp_path / "elsewhere")

    assert look(manifest, now=LATER, previous=there) == Unlistable(
        reason="does not exist", missing=True
    )


def test_a_directory_in_the_place_of_a_single_file_is_listed_anew(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    path.write_text("single")
    single = listed(path)

    path.unlink()
    path.mkdir()
    (path / "web.yaml").write_text("inside")

    assert contents(listed(path, single)) == [b"inside"]
