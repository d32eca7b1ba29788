"""Cgroups have the names that kubelets give them, so either finds what the other made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from files.cgroups.names import (
    CgroupDriver,
    CgroupOptions,
    is_plain_uid,
    name_of_level,
    name_of_pod,
    name_of_pods,
    names_above,
    path_of,
    refusals,
    uid_in,
    written_uid,
    written_uids,
)
from manifests.qos import QosClass
from messages.cgroup_roots import is_root
from messages.units import Seconds

UID = "f07700a5-b996-4b1a-a3af-5f99ecb29549"
WRITTEN = UID.replace("-", "_")
CGROUPFS, SYSTEMD = CgroupDriver.CGROUPFS, CgroupDriver.SYSTEMD
PLAIN_UIDS = st.text("abcXYZ0189-_.", min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("qos", "driver", "expected"),
    [
        (QosClass.GUARANTEED, CGROUPFS, f"/kubepods/pod{UID}"),
        (QosClass.BURSTABLE, CGROUPFS, f"/kubepods/burstable/pod{UID}"),
        (QosClass.BEST_EFFORT, CGROUPFS, f"/kubepods/besteffort/pod{UID}"),
        (QosClass.GUARANTEED, SYSTEMD, f"/kubepods.slice/kubepods-pod{WRITTEN}.slice"),
        (
            QosClass.BURSTABLE,
            SYSTEMD,
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{WRITTEN}.slice",
        ),
    ],
)
def test_a_pod_has_the_cgroup_that_a_kubelet_gives_it(
    qos: QosClass, driver: CgroupDriver, expected: str
) -> None:
    assert path_of(name_of_pod(CgroupOptions(driver=driver), qos, UID), driver) == expected


def test_everything_is_below_the_root_that_is_configured() -> None:
    options = CgroupOptions(root="/some/where/")
    assert name_of_pods(options) == ("some", "where", "kubepods")
    name = name_of_level(options, QosClass.BURSTABLE)
    assert path_of(name, CGROUPFS) == "/some/where/kubepods/burstable"
    assert path_of(name, SYSTEMD) == (
        "/some.slice/some-where.slice/some-where-kubepods.slice/some-where-kubepods-burstable.slice"
    )
    assert names_above(name) == (("some",), ("some", "where"), ("some", "where", "kubepods"))


@given(PLAIN_UIDS, st.sampled_from(QosClass), st.sampled_from(CgroupDriver))
def test_whose_a_pods_cgroup_is_can_be_read_back_from_it(
    uid: str, qos: QosClass, driver: CgroupDriver
) -> None:
    path = path_of(name_of_pod(CgroupOptions(driver=driver), qos, uid), driver)
    assert is_plain_uid(uid)
    assert uid_in(path.rpartition("/")[2], driver) == written_uid(uid, driver)
    assert written_uids([uid], driver) == {written_uid(uid, driver)}


@pytest.mark.parametrize("folder", ["burstable", "kubepods", "pod", "podx y", "system.slice", ""])
@pytest.mark.parametrize("driver", CgroupDriver)
def test_what_is_no_pods_cgroup_has_no_uid(folder: str, driver: CgroupDriver) -> None:
    assert not uid_in(folder, driver)


@pytest.mark.parametrize("uid", ["", "a/b", "../x", "a b", "a\n", "x" * 201, "ü"])
def test_a_uid_that_would_lead_elsewhere_is_no_part_of_a_name(uid: str) -> None:
    assert not is_plain_uid(uid)


@pytest.mark.parametrize("root", ["/", "", "/a", "/a/b.slice/", "/actorlet-test-12"])
def test_a_root_is_a_path_of_plain_names(root: str) -> None:
    assert is_root(root)


@pytest.mark.parametrize("root", ["a", "/a/../b", "/..", "/.", "//", "/a b", "/a\n"])
def test_a_root_that_leads_elsewhere_is_refused(root: str) -> None:
    assert not is_root(root)


def test_periods_are_within_what_the_kernel_takes() -> None:
    assert CgroupOptions(cpu_period=Seconds(2.0)).period == 1_000_000


def test_under_v1_nobody_can_have_whole_containers_killed() -> None:
    options = CgroupOptions(is_one_killed_alone=False)
    assert refusals(options) == ()
    assert refusals(options, is_unified=False) == (
        "singleProcessOOMKill can be false under cgroup v2 alone",
    )
