"""What a look finds for each file, on real files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from files.looking import reading
from files.looking.found import Content, Ignored, Problem, ProblemKind, Signature
from files.looking.reading import SIZE_LIMIT, OpenDirectory
from tests.support.files.looks import LATER, as_nobody, contents, listed, names, the_entry


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

    with OpenDirectory(tmp_path) as directory:
        found, _ = reading._content("web.yaml", directory)

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
        data = reading._bytes_of(endless.fileno())

    assert len(data) == SIZE_LIMIT
    assert isinstance(reading._found_between(*three(data)), Problem)


def three(data: bytes) -> tuple[Signature, bytes, Signature]:
    signature = Signature(1, 1, 0, 0, 0)
    return signature, data, signature


def test_a_file_written_to_while_it_is_read_is_known_as_torn() -> None:
    before = Signature(1, 1, 3, 10, 10)
    after = before._replace(size=6)

    assert reading._found_between(before, b"kin", after) == Content(data=b"kin", torn=True)


def test_a_file_that_vanishes_between_the_listing_and_the_reading_is_not_there(
    tmp_path: Path,
) -> None:
    with OpenDirectory(tmp_path) as directory:
        assert reading.read("web.yaml", directory, LATER) is None


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
