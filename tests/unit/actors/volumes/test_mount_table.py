"""What is mounted, read from what the kernel says."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from actors.volumes.mounts.mount_table import (
    MountPoint,
    mount_at,
    mount_over,
    mounts_below,
    mounts_of,
)

TEXT = rb"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:24 / /sys rw,nosuid shared:2 master:7 - sysfs sysfs rw
41 22 0:31 / /var/lib/actorlet/pods/u1/volumes/a\040b rw,relatime - tmpfs tmpfs rw,size=4k,nr_inodes=9
42 22 254:0 /data /var/lib/actorlet/pods/u10 ro,relatime master:3 - ext4 /dev/vda rw
43 41 0:32 / /var/lib/actorlet/pods/u1/volumes/a\040b rw - tmpfs tmpfs rw,size=1048576
"""
FOUND = mounts_of(TEXT)


def test_each_line_is_a_mount_and_blanks_in_names_are_written_as_escapes() -> None:
    assert [each.number for each in FOUND] == [22, 30, 41, 42, 43]
    assert FOUND[2].path == "/var/lib/actorlet/pods/u1/volumes/a b"
    assert (FOUND[2].kind, FOUND[2].size, FOUND[4].size) == ("tmpfs", 4096, 1 << 20)
    assert (FOUND[0].size, FOUND[3].root) == (None, "/data")
    assert "ro" in FOUND[3].options


def test_a_mount_says_whether_it_is_shared_or_follows_one() -> None:
    assert [each.is_shared for each in FOUND] == [True, True, False, False, False]
    assert [each.is_follower for each in FOUND] == [False, True, False, True, False]


def test_what_is_below_a_directory_is_told_by_whole_names() -> None:
    below = mounts_below(FOUND, "/var/lib/actorlet/pods/u1")
    assert [each.number for each in below] == [41, 43]
    assert mounts_below(FOUND, "/") == FOUND


def test_of_two_mounts_at_one_place_the_later_one_hides_the_other() -> None:
    place = "/var/lib/actorlet/pods/u1/volumes/a b"
    assert mount_at(FOUND, place) == FOUND[4]
    assert mount_over(FOUND, f"{place}/deep") == FOUND[4]
    assert mount_over(FOUND, "/var/lib") == FOUND[0]
    assert mount_at(FOUND, "/var") is None
    assert mount_over((), "/var") is None


def test_a_line_that_cannot_be_read_counts_as_absent() -> None:
    lines = [
        b"",
        b"x",
        b"a b c d e f - g h i",
        b"1 2 0:3 / /x rw - tmpfs",
        b"1 2 0:3 / /x rw tmpfs t rw",
    ]
    assert mounts_of(b"\n".join(lines)) == ()


def test_a_size_that_is_no_number_is_none() -> None:
    assert mounts_of(b"1 2 0:3 / /x rw - tmpfs t rw,size=50%")[0].size is None


def test_this_machine_has_something_mounted_at_its_root() -> None:
    found = mounts_of(Path("/proc/self/mountinfo").read_bytes())
    assert mount_at(found, "/") is not None
    assert mount_over(found, "/proc/self") == mount_at(found, "/proc")


def escaped(name: str) -> bytes:
    return b"".join(
        b"\\%03o" % byte if byte in b" \t\n\\#" else bytes([byte]) for byte in name.encode()
    )


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)))
def test_every_name_is_read_as_it_was(names: list[str]) -> None:
    lines = [
        b"%d 1 0:9 / /%s rw shared:4 - tmpfs tmpfs rw" % (number, escaped(name))
        for number, name in enumerate(names, 1)
    ]
    found = mounts_of(b"\n".join(lines))
    assert [each.path for each in found] == [f"/{name}" for name in names]


@given(st.binary())
def test_no_text_at_all_is_too_strange(text: bytes) -> None:
    assert all(isinstance(each, MountPoint) for each in mounts_of(text))
