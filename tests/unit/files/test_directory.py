"""What a look at a manifest path finds, on real files."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from files.looking import directory
from files.looking.directory import (
    SIZE_LIMIT,
    Content,
    Entry,
    Ignored,
    Listed,
    Problem,
    ProblemKind,
    Unlistable,
    look,
)
from files.looking.signature import Signature
from messages.units import Timestamp

LATER = Timestamp(time.time() + 3600)
"""Long after everything that a test writes."""

NOBODY = 65534


def listed(path: Path, previous: Listed | None = None) -> Listed:
    listing = look(path, now=LATER, previous=previous)
    assert isinstance(listing, Listed)
    return listing


def names(listing: Listed) -> list[str]:
    return [entry.name for entry in listing.entries]


def the_entry(listing: Listed) -> Entry:
    (entry,) = listing.entries
    return entry


@contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root for a moment: nothing is unreadable to root."""
    me = os.geteuid()
    os.seteuid(NOBODY if me == 0 else me)
    try:
        yield
    finally:
        os.seteuid(me)


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that another user can enter, which ``tmp_path`` is not."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


def test_files_are_listed_in_the_order_of_the_bytes_of_their_names(tmp_path: Path) -> None:
    strange = os.fsdecode(b"\xff")  # not UTF-8, and a surrogate in Python's eyes
    for name in ("b.yaml", "B.yaml", "a.yaml", "a-b.yaml", strange, "\u00e9", "\U0001f433"):
        (tmp_path / name).touch()

    assert names(listed(tmp_path)) == [
        "B.yaml",
        "a-b.yaml",
        "a.yaml",
        "b.yaml",
        "\u00e9",
        "\U0001f433",
        strange,
    ]


def test_a_file_is_found_with_its_bytes_and_its_path(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_bytes(b"kind: Pod\n")

    entry = the_entry(listed(tmp_path))

    assert entry.path == tmp_path / "web.yaml"
    assert entry.found == Content(data=b"kind: Pod\n")


@pytest.mark.parametrize(
    "name",
    [
        *(".hidden.yaml", "..data", ".web.yaml.swp", "web.yaml~", "web.bak", "web.swp", "web.swo"),
        *("web.orig", "web.old", "web.save", "web.tmp", "web.rej", "#web.yaml#"),
    ],
)
def test_dotfiles_and_leftovers_of_editors_are_ignored(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("kind: Pod")

    entry = the_entry(listed(tmp_path))

    assert isinstance(entry.found, Ignored)
    assert entry.found.reason


@pytest.mark.parametrize("name", ["web", "web.txt", "web.yaml.1", "4913", "#web", "web.bak.yaml"])
def test_every_other_name_counts_whatever_its_extension(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("kind: Pod")

    assert isinstance(the_entry(listed(tmp_path)).found, Content)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.mkdir(), "is a directory, not a file"),
        (os.mkfifo, "is a fifo, not a file"),
        (lambda path: os.mknod(path, stat.S_IFSOCK | 0o600), "is a socket, not a file"),
        (lambda path: path.symlink_to("/dev/null"), "is a device, not a file"),
        (lambda path: path.symlink_to(path.parent), "is a directory, not a file"),
    ],
    ids=["directory", "fifo", "socket", "device", "link to a directory"],
)
def test_what_is_no_file_is_a_problem_and_does_not_hang(
    tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    make(tmp_path / "thing")

    assert the_entry(listed(tmp_path)).found == Problem(kind=ProblemKind.NOT_A_FILE, reason=reason)


def test_a_fifo_that_takes_a_files_place_at_the_last_moment_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "web.yaml")

    found, _ = directory._content(tmp_path / "web.yaml")

    assert found == Problem(kind=ProblemKind.NOT_A_FILE, reason="is a fifo, not a file")


def test_a_dangling_link_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").symlink_to("nowhere")

    entry = the_entry(listed(tmp_path))

    assert entry.found == Problem(
        kind=ProblemKind.UNREADABLE, reason="is a link to something that does not exist"
    )
    # Its age is that of the link, so that one just made is given time to get its target.
    assert entry.signature == Signature.of((tmp_path / "web.yaml").lstat())


def test_a_link_to_itself_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").symlink_to("web.yaml")

    assert the_entry(listed(tmp_path)).found == Problem(
        kind=ProblemKind.UNREADABLE,
        reason="cannot be read: Too many levels of symbolic links",
    )


def test_a_file_that_may_not_be_read_is_a_problem_and_no_other_suffers(
    public_directory: Path,
) -> None:
    (public_directory / "secret.yaml").touch(mode=0o000)
    (public_directory / "web.yaml").write_text("kind: Pod")

    with as_nobody():
        secret, web = listed(public_directory).entries

    assert secret.found == Problem(
        kind=ProblemKind.UNREADABLE, reason="cannot be read: Permission denied"
    )
    assert isinstance(web.found, Content)


def test_a_file_of_10_mib_is_too_large(tmp_path: Path) -> None:
    with (tmp_path / "web.yaml").open("wb") as file:
        file.truncate(SIZE_LIMIT)

    assert the_entry(listed(tmp_path)).found == Problem(
        kind=ProblemKind.TOO_LARGE, reason="has 10 MiB or more"
    )


def test_a_file_one_byte_smaller_is_read(tmp_path: Path) -> None:
    with (tmp_path / "web.yaml").open("wb") as file:
        file.truncate(SIZE_LIMIT - 1)

    assert the_entry(listed(tmp_path)).found == Content(data=bytes(SIZE_LIMIT - 1))


def test_never_more_than_10_mib_are_read() -> None:
    with Path("/dev/zero").open("rb") as endless:
        data = directory._bytes_of(endless.fileno())

    assert len(data) == SIZE_LIMIT
    assert isinstance(directory._found_between(*three(data)), Problem)


def three(data: bytes) -> tuple[Signature, bytes, Signature]:
    signature = Signature(1, 1, 0, 0, 0)
    return signature, data, signature


def test_a_file_written_to_while_it_is_read_is_known_as_torn() -> None:
    before = Signature(1, 1, 3, 10, 10)
    after = before._replace(size=6)

    assert directory._found_between(before, b"kin", after) == Content(data=b"kin", torn=True)


def test_a_file_that_vanishes_between_the_listing_and_the_reading_is_not_there(
    tmp_path: Path,
) -> None:
    assert directory._read("web.yaml", tmp_path / "web.yaml", LATER, None) is None


def test_no_repr_shows_what_is_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("password: hunter2")

    assert "hunter2" not in repr(listed(tmp_path))


def test_a_mounted_config_map_is_read_through_its_links(tmp_path: Path) -> None:
    mount = ConfigMapMount(tmp_path)
    mount.swap("..2030_01", "first")

    before = listed(tmp_path)
    mount.swap("..2030_02", "second")
    after = listed(tmp_path, before)

    assert contents(before) == [b"first"]
    assert contents(after) == [b"second"]


class ConfigMapMount:
    """A volume as a kubelet writes it: dated directories, ``..data``, and links for the user."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "web.yaml").symlink_to("..data/web.yaml")

    def swap(self, directory: str, text: str) -> None:
        (self.path / directory).mkdir()
        (self.path / directory / "web.yaml").write_text(text)
        (self.path / "..data_tmp").symlink_to(directory)
        (self.path / "..data_tmp").rename(self.path / "..data")


def contents(listing: Listed) -> list[bytes]:
    return [entry.found.data for entry in listing.entries if isinstance(entry.found, Content)]


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
