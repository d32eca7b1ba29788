"""Which cgroups there are is read from what is mounted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from files.cgroups.mounts import CgroupMounts, mounts_in

V1 = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
"""
V2_LINE = "41 31 0:38 / {} {},relatime - cgroup2 cgroup2 rw,nsdelegate\n"


def test_hierarchies_of_v1_are_found_by_their_controllers() -> None:
    mounts = mounts_in(V1)
    assert mounts.folder_of("cpu") == mounts.folder_of("cpuacct") == "/sys/fs/cgroup/cpu,cpuacct"
    assert mounts.folder_of("pids") == ""
    assert [each.folder.rpartition("/")[2] for each in mounts.v1] == [
        "cpu,cpuacct",
        "memory",
        "systemd",
    ]
    assert (mounts.v2, mounts.is_unified, mounts.trouble) == ("", False, "")


def test_a_machine_with_both_is_used_as_v1() -> None:
    mounts = mounts_in(V1 + V2_LINE.format("/sys/fs/cgroup/unified", "rw"))
    assert mounts.v2 == "/sys/fs/cgroup/unified"
    assert not mounts.is_unified


def test_v2_alone_is_used_as_v2() -> None:
    mounts = mounts_in(V2_LINE.format("/sys/fs/cgroup", "rw"))
    assert mounts.is_unified
    assert (mounts.v2, mounts.trouble) == ("/sys/fs/cgroup", "")


def test_a_hierarchy_that_is_mounted_twice_counts_once() -> None:
    again = V1.replace("/sys/fs/cgroup/", "/mnt/other/")
    assert len(mounts_in(V1 + again).v1) == 4
    assert mounts_in(V1 + again).folder_of("memory") == "/sys/fs/cgroup/memory"


def test_blanks_in_paths_are_read() -> None:
    assert mounts_in(V2_LINE.format(r"/mnt/a\040b", "rw")).v2 == "/mnt/a b"


def test_why_no_cgroup_can_be_made_is_said() -> None:
    assert mounts_in("").trouble == "no cgroup file system is mounted"
    assert mounts_in(V1.replace("memory", "pids")).trouble == (
        "the controllers memory of cgroup v1 are not mounted"
    )
    assert mounts_in(V2_LINE.format("/cg", "ro")).trouble == "/cg is mounted read-only"
    part = V2_LINE.format("/cg", "rw").replace("0:38 / ", "0:38 /docker/1 ")
    assert mounts_in(part).trouble == "/cg shows only a part of the cgroups"


@given(st.text(), st.text())
def test_whatever_the_text_is_it_is_read(before: str, after: str) -> None:
    assert mounts_in(f"{before}\n{V1}\n{after}").folder_of("memory")
    assert isinstance(mounts_in(before + after), CgroupMounts)
