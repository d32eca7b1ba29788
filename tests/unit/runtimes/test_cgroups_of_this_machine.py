"""On the kernel of this machine a pod's cgroup is made, its limits are in force, and it is removed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from files.cgroups.files import KernelFiles
from files.cgroups.kernel_trees import V2Tree
from files.cgroups.mounts import CgroupMounts, mounts_in
from files.cgroups.names import CgroupDriver, CgroupOptions
from messages.pods import Pod
from runtimes.cri.cgroups.opening import open_cgroups, page_sizes_of
from runtimes.cri.cgroups.pod_cgroups import CgroupPlace, PodCgroups
from tests.support.builders import make_pod

MIB = 2**20


@pytest.fixture
def mounts() -> CgroupMounts:
    found = mounts_in(Path("/proc/self/mountinfo").read_text())
    if os.geteuid() != 0:
        pytest.skip("only root may make cgroups")
    if found.trouble or found.is_unified:
        pytest.skip(
            f"needs cgroups of v1 that can be written: {found.trouble or 'there is only v2'}"
        )
    return found


@pytest.fixture
def root(mounts: CgroupMounts) -> Iterator[str]:
    name = f"/actorlet-test-{os.getpid()}"
    folders = [Path(each.folder + name) for each in mounts.v1]
    for each in folders:
        each.mkdir()
    yield name
    for each in folders:
        remove(each)


def remove(folder: Path) -> None:
    for each in folder.iterdir():
        if each.is_dir():
            remove(each)
    folder.rmdir()


@pytest.fixture
def cgroups(root: str) -> PodCgroups:
    capacity = {"cpu": 4000, "memory": 2**31, "pid": 500}
    return open_cgroups(CgroupOptions(root=root, capacity=capacity, pods_pids=20))


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as started:
        yield started
        started.kill()


def pod(cpu: str = "500m", memory: str = "64Mi") -> Pod:
    resources = {"limits": {"cpu": cpu, "memory": memory}, "requests": {"cpu": "100m"}}
    return make_pod(spec={"containers": [{"resources": resources}]})


def test_a_pods_cgroup_has_its_limits_in_each_hierarchy(
    mounts: CgroupMounts, cgroups: PodCgroups
) -> None:
    assert cgroups.sync_qos([pod()]) == ""
    place = cgroups.ensure(pod())
    assert place.trouble == ""

    def says(controller: str, file: str) -> str:
        return Path(mounts.folder_of(controller) + place.parent, file).read_text().strip()

    assert says("cpu", "cpu.shares") == says("cpu", "../cpu.shares") == "102"
    assert says("cpu", "../../cpu.shares") == "4096"
    assert (says("cpu", "cpu.cfs_quota_us"), says("cpu", "cpu.cfs_period_us")) == (
        "50000",
        "100000",
    )
    assert says("memory", "memory.limit_in_bytes") == str(64 * MIB)
    assert says("memory", "../../memory.limit_in_bytes") == str(2**31)
    if mounts.folder_of("pids"):
        assert (says("pids", "pids.max"), says("pids", "../../pids.max")) == ("20", "500")
    if mounts.folder_of("cpuset"):
        assert says("cpuset", "cpuset.cpus")
        assert says("cpuset", "cpuset.mems")


def test_limits_are_raised_lowered_and_taken_away(
    mounts: CgroupMounts, cgroups: PodCgroups
) -> None:
    place = cgroups.ensure(pod())
    folder = Path(mounts.folder_of("cpu") + place.parent)
    for cpu, quota in (("2", "200000"), ("10m", "1000"), ("", "-1"), ("1", "100000")):
        resized = (
            pod(cpu=cpu)
            if cpu
            else make_pod(spec={"containers": [{"resources": {"requests": {"cpu": "100m"}}}]})
        )
        assert cgroups.widen(resized) == cgroups.update(resized) == ""
        assert (folder / "cpu.cfs_quota_us").read_text().strip() == quota


def test_a_limit_of_memory_and_swap_together_is_no_obstacle(
    mounts: CgroupMounts, cgroups: PodCgroups
) -> None:
    place = cgroups.ensure(pod(memory="64Mi"))
    folder = Path(mounts.folder_of("memory") + place.parent)
    if not (folder / "memory.memsw.limit_in_bytes").exists():
        pytest.skip("this kernel does not limit swap")
    (folder / "memory.memsw.limit_in_bytes").write_text(str(64 * MIB))
    assert cgroups.update(pod(memory="256Mi")) == ""
    assert (folder / "memory.limit_in_bytes").read_text().strip() == str(256 * MIB)


def test_what_is_left_in_a_pods_cgroup_is_killed_and_the_cgroup_removed(
    mounts: CgroupMounts, cgroups: PodCgroups, process: subprocess.Popen[bytes]
) -> None:
    place = cgroups.ensure(pod())
    folders = [Path(each.folder + place.parent, "container") for each in mounts.v1]
    for each in folders:
        each.mkdir()
        with suppress(OSError):  # A cpuset of its own has no cpus yet.
            (each / "cgroup.procs").write_text(str(process.pid))
    assert cgroups.orphans([]).uids == {pod().uid}
    assert cgroups.orphans([pod().uid]).uids == frozenset()
    assert cgroups.remove(pod().uid)
    assert process.wait() == -9
    assert not [each for each in folders if each.parent.exists()]
    assert cgroups.remove(pod().uid)
    assert cgroups.orphans([]).uids == frozenset()


def test_what_is_frozen_is_killed_too(
    mounts: CgroupMounts, cgroups: PodCgroups, process: subprocess.Popen[bytes]
) -> None:
    if not mounts.folder_of("freezer"):
        pytest.skip("no controller that freezes")
    folder = Path(mounts.folder_of("freezer") + cgroups.ensure(pod()).parent)
    (folder / "cgroup.procs").write_text(str(process.pid))
    (folder / "freezer.state").write_text("FROZEN")
    try:
        assert cgroups.remove(pod().uid)
        assert process.wait() == -9
    finally:
        if folder.exists():
            (folder / "freezer.state").write_text("THAWED")


def test_several_threads_may_make_and_remove_cgroups_at_a_time(
    mounts: CgroupMounts, cgroups: PodCgroups
) -> None:
    pods = [make_pod(f"web-{number}") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(cgroups.ensure, pods))
        assert {place.trouble for place in places} == {""}
        for each in mounts.v1:
            assert [
                place for place in places if not Path(each.folder + place.parent).is_dir()
            ] == []
        assert all(pool.map(cgroups.remove, [each.uid for each in pods]))
    assert cgroups.orphans([]).uids == frozenset()


def test_no_more_processes_than_allowed_can_be_started(
    mounts: CgroupMounts, cgroups: PodCgroups
) -> None:
    if not mounts.folder_of("pids"):
        pytest.skip("no controller of process IDs")
    place = cgroups.ensure(pod())
    file = mounts.folder_of("pids") + place.parent + "/cgroup.procs"
    many = "for i in $(seq 40); do sleep 20 2>/dev/null >&2 & done"
    ended = subprocess.run(
        ["sh", "-c", f"echo $$ > {file}; {many}"],
        capture_output=True,
        check=False,
    )
    assert b"ork" in ended.stderr
    assert cgroups.remove(pod().uid)


def test_two_openings_agree_on_a_pods_cgroup(root: str, cgroups: PodCgroups) -> None:
    place = cgroups.ensure(pod())
    again = open_cgroups(CgroupOptions(root=root))
    assert again.ensure(pod()) == place
    assert again.remove(pod().uid)


def test_with_systemd_as_driver_and_no_systemd_nothing_is_written(tmp_path: Path) -> None:
    options = CgroupOptions(driver=CgroupDriver.SYSTEMD)
    assert open_cgroups(options, tmp_path).ensure(pod()) == CgroupPlace(
        "",
        "pods have no cgroups of their own: cgroupDriver is systemd, and systemd does not run here",
    )


V2_ALONE = "41 31 0:38 / {} rw,relatime - cgroup2 cgroup2 rw\n"


def test_a_machine_with_v2_alone_is_used_as_that(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "cg").mkdir()
    (tmp_path / "proc/self/mountinfo").write_text(V2_ALONE.format(tmp_path / "cg"))
    cgroups = open_cgroups(CgroupOptions(), tmp_path)
    assert cgroups.facts.is_unified
    assert cgroups.ensure(pod()).trouble.startswith("pods have no cgroups of their own: /: is not")


def test_with_systemd_as_driver_it_is_asked_by_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("proc/self", "run/systemd/system", "bin", "cg"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(V2_ALONE.format(tmp_path / "cg"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    options = CgroupOptions(driver=CgroupDriver.SYSTEMD)
    trouble = open_cgroups(options, tmp_path).ensure(pod()).trouble
    assert trouble.endswith("there is no systemctl to ask it by")
    program = tmp_path / "bin/systemctl"
    program.write_text('#!/bin/sh\necho "Unit $4 is refused." >&2\nexit 1\n')
    program.chmod(0o755)
    trouble = open_cgroups(options, tmp_path).ensure(pod()).trouble
    assert trouble.endswith("kubepods.slice: Unit kubepods.slice is refused.")


def test_a_machine_without_proc_has_no_cgroups(tmp_path: Path) -> None:
    place = open_cgroups(CgroupOptions(), tmp_path).ensure(pod())
    assert place.trouble == "pods have no cgroups of their own: no cgroup file system is mounted"


def test_sizes_of_huge_pages_are_those_of_the_machine(tmp_path: Path) -> None:
    for name in ("hugepages-2048kB", "hugepages-1048576kB", "hugepages-xkB", "other"):
        (tmp_path / "sys/kernel/mm/hugepages" / name).mkdir(parents=True)
    assert page_sizes_of(tmp_path) == (2**21, 2**30)


def test_under_v2_a_cgroup_and_all_in_it_are_killed_and_removed(
    mounts: CgroupMounts, process: subprocess.Popen[bytes]
) -> None:
    if not mounts.v2:
        pytest.skip("v2 is not mounted")
    top = Path(mounts.v2, f"actorlet-test-{os.getpid()}-v2")
    (top / "container/part/threads").mkdir(parents=True)
    (top / "container/part/threads/cgroup.type").write_text("threaded")
    try:
        (top / "container/part/cgroup.procs").write_text(str(process.pid))
        tree = V2Tree(KernelFiles(), mounts.v2)
        assert tree.is_there((top.name, "container"))
        assert tree.within((top.name,)) == {"container"}
        assert tree.remove((top.name,))
        assert process.wait() == -9
    finally:
        process.kill()
        process.wait()
        if top.exists():
            remove(top)
    assert not tree.is_there((top.name,))
