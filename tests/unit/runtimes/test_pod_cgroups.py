"""The cgroups of pods follow the pods: made, limited, resized, removed; and nothing else is touched."""

from __future__ import annotations

import os
from typing import Any

import pytest

from files.cgroups.kernel_trees import V1Tree, V2Tree
from files.cgroups.names import CgroupOptions
from messages.pods import Pod
from messages.units import Seconds
from runtimes.cri.cgroups.container_limits import CgroupFacts
from runtimes.cri.cgroups.pod_cgroups import CgroupPlace, PodCgroups
from tests.support.builders import make_pod
from tests.support.runtimes.cgroup_model import CgroupModel

ALL = ("cpu", "memory", "pids", "cpuset", "hugetlb")
OPTIONS = CgroupOptions(
    capacity={"cpu": 4000, "memory": 2**33, "pid": 1000}, reserved={"cpu": 500}, pods_pids=50
)
MIB = 2**20


def burstable(
    name: str = "web", cpu: str = "500m", memory: str = "64Mi", request: str = "100m"
) -> Pod:
    resources = {"limits": {"cpu": cpu, "memory": memory}, "requests": {"cpu": request}}
    return make_pod(name, uid=f"u-{name}", spec={"containers": [{"resources": resources}]})


def best_effort(name: str = "idle") -> Pod:
    return make_pod(name, uid=f"u-{name}", spec={"containers": [{"name": "c"}]})


def on_v1(
    model: CgroupModel, options: CgroupOptions = OPTIONS, controllers: tuple[str, ...] = ALL
) -> PodCgroups:
    model.mount_v1(*controllers)
    return another_life(model, options)


def on_v2(
    model: CgroupModel, options: CgroupOptions = OPTIONS, controllers: tuple[str, ...] = ALL
) -> PodCgroups:
    model.mount_v2(*controllers)
    return another_life(model, options)


def another_life(model: CgroupModel, options: CgroupOptions = OPTIONS) -> PodCgroups:
    mounts = model.mounts
    tree = V2Tree(model, mounts.v2) if mounts.is_unified else V1Tree(model, mounts)
    return PodCgroups(options, tree, mounts.trouble, (2**21,))


EITHER = pytest.mark.parametrize("opened", [on_v1, on_v2])


def test_under_v1_each_hierarchy_has_the_pods_cgroup_with_its_limits() -> None:
    model = CgroupModel()
    place = on_v1(model).ensure(burstable())
    assert place == CgroupPlace("/kubepods/burstable/podu-web")
    assert {
        name: text
        for each in ALL
        for name, text in model.cgroups[f"/cg/{each}{place.parent}"].files.items()
        if "memsw" not in name
    } == {
        "cpu.shares": "102",
        "cpu.cfs_quota_us": "50000",
        "cpu.cfs_period_us": "100000",
        "memory.limit_in_bytes": str(64 * MIB),
        "pids.max": "50",
        "cpuset.cpus": "0-3",
        "cpuset.mems": "0",
        "hugetlb.2MB.limit_in_bytes": "0",
    }


def test_under_v2_the_pods_cgroup_has_the_controllers_and_its_limits() -> None:
    model = CgroupModel()
    place = on_v2(model).ensure(burstable())
    files = model.cgroups[f"/cg2{place.parent}"].files
    assert {name: text for name, text in files.items() if name.endswith(("max", "weight"))} == {
        "cpu.weight": "4",
        "cpu.max": "50000 100000",
        "memory.max": str(64 * MIB),
        "memory.swap.max": "max",
        "pids.max": "50",
        "hugetlb.2MB.max": "0",
        "hugetlb.2MB.rsvd.max": "0",
    }
    assert set(
        model.cgroups["/cg2/kubepods/burstable"].files["cgroup.subtree_control"].split()
    ) == set(ALL)


def test_all_pods_together_have_what_is_not_reserved() -> None:
    model = CgroupModel()
    assert not on_v1(model).sync_qos([])
    assert model.read("/cg/cpu/kubepods/cpu.shares") == "3584"
    assert model.read("/cg/memory/kubepods/memory.limit_in_bytes") == str(2**33)
    assert model.read("/cg/pids/kubepods/pids.max") == "1000"
    assert model.read("/cg/cpu/kubepods/besteffort/cpu.shares") == "2"


def test_the_class_of_burstable_pods_follows_who_comes_and_goes() -> None:
    model = CgroupModel()
    cgroups = on_v1(model)
    shares = "/cg/cpu/kubepods/burstable/cpu.shares"
    cgroups.sync_qos([burstable("a"), burstable("b", request="400m"), best_effort()])
    assert model.read(shares) == "512"
    writes = len(model.writes)
    cgroups.sync_qos([burstable("b", request="400m"), burstable("a")])
    assert len(model.writes) == writes
    cgroups.sync_qos([burstable("a")])
    assert model.read(shares) == "102"


@EITHER
def test_making_a_pods_cgroup_again_writes_nothing(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    place = cgroups.ensure(burstable())
    writes = len(model.writes)
    assert cgroups.ensure(burstable()) == place
    assert len(model.writes) == writes


@EITHER
def test_a_new_life_takes_over_what_is_there_and_corrects_it(opened: Any) -> None:
    model = CgroupModel()
    place = opened(model).ensure(burstable())
    limited = [
        each
        for each, of in model.cgroups.items()
        if each.endswith(place.parent) and "pids.max" in of.files
    ]
    assert limited
    model.cgroups[limited[0]].files["pids.max"] = "7"
    assert another_life(model).ensure(burstable()) == place
    assert model.cgroups[limited[0]].files["pids.max"] == "50"


@EITHER
def test_what_somebody_removed_is_made_again(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    cgroups.ensure(burstable())
    for folder in [each for each in model.cgroups if "kubepods" in each]:
        del model.cgroups[folder]
    assert cgroups.ensure(burstable()) == CgroupPlace("/kubepods/burstable/podu-web")
    assert any(each.endswith("/kubepods/burstable/podu-web") for each in model.cgroups)


def test_a_resize_never_leaves_containers_with_more_than_their_pod() -> None:
    model = CgroupModel()
    cgroups = on_v1(model)
    quota, memory = (
        f"/cg/{each}/kubepods/burstable/podu-web/{file}"
        for each, file in (("cpu", "cpu.cfs_quota_us"), ("memory", "memory.limit_in_bytes"))
    )
    cgroups.ensure(burstable(cpu="500m", memory="64Mi"))
    resized = burstable(cpu="250m", memory="128Mi")
    assert not cgroups.widen(resized)
    assert (model.read(quota), model.read(memory)) == ("50000", str(128 * MIB))
    assert not cgroups.update(resized)
    assert (model.read(quota), model.read(memory)) == ("25000", str(128 * MIB))


def test_a_life_that_does_not_know_the_old_limits_widens_to_none() -> None:
    model = CgroupModel()
    on_v1(model).ensure(burstable())
    cgroups = another_life(model)
    assert not cgroups.widen(burstable(cpu="250m"))
    assert model.read("/cg/cpu/kubepods/burstable/podu-web/cpu.cfs_quota_us") == "-1"


def test_a_pod_without_a_cgroup_is_not_given_one_by_a_resize() -> None:
    model = CgroupModel()
    cgroups = on_v1(model)
    assert not cgroups.update(burstable())
    assert not cgroups.widen(burstable())
    assert not any("podu-web" in each for each in model.cgroups)


def test_a_period_that_the_old_quota_forbids_is_set_after_the_new_quota() -> None:
    model = CgroupModel()
    cgroups = on_v1(model)
    cgroups.ensure(burstable())
    folder = "/cg/cpu/kubepods/burstable"
    model.cgroups[folder].files |= {"cpu.cfs_quota_us": "60000"}
    faster = CgroupOptions(cpu_period=Seconds(0.01))
    assert not another_life(model, faster).update(burstable())
    files = model.cgroups[f"{folder}/podu-web"].files
    assert (files["cpu.cfs_quota_us"], files["cpu.cfs_period_us"]) == ("5000", "10000")


def test_a_limit_of_memory_and_swap_that_is_in_the_way_is_taken_away() -> None:
    model = CgroupModel()
    cgroups = on_v1(model)
    cgroups.ensure(burstable())
    files = model.cgroups["/cg/memory/kubepods/burstable/podu-web"].files
    files["memory.memsw.limit_in_bytes"] = str(64 * MIB)
    assert not cgroups.update(burstable(memory="128Mi"))
    assert files["memory.limit_in_bytes"] == str(128 * MIB)


def test_under_v2_memory_is_not_limited_below_what_is_used() -> None:
    model = CgroupModel()
    cgroups = on_v2(model)
    cgroups.ensure(burstable())
    files = model.cgroups["/cg2/kubepods/burstable/podu-web"].files
    files["memory.current"] = str(32 * MIB)
    trouble = cgroups.update(burstable(memory="16Mi", cpu="1"))
    assert trouble.startswith("cgroup /kubepods/burstable/podu-web is not limited as it should be")
    assert f"{32 * MIB} bytes are in use" in trouble
    assert (files["memory.max"], files["cpu.max"]) == (str(64 * MIB), "100000 100000")


@EITHER
def test_after_its_sandbox_a_pods_cgroup_is_removed_with_what_is_left_in_it(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    place = cgroups.ensure(burstable())
    other = cgroups.ensure(best_effort())
    for folder in [each for each in model.cgroups if each.endswith(place.parent)]:
        model.make(f"{folder}/c1")
        if "cpuset" not in folder:
            model.enter(f"{folder}/c1", 7, 8)
    assert cgroups.remove("u-web")
    assert not [each for each in model.cgroups if place.parent in each]
    assert [each for each in model.cgroups if each.endswith(other.parent)]
    assert cgroups.remove("u-web")


@EITHER
def test_a_cgroup_whose_processes_do_not_end_is_left_for_later(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    place = cgroups.ensure(best_effort())
    folder = next(each for each in model.cgroups if each.endswith(place.parent))
    model.enter(folder, 9)
    model.unkillable.add(9)
    assert not cgroups.remove("u-idle")
    model.unkillable.clear()
    assert cgroups.remove("u-idle")


@EITHER
def test_the_agent_never_kills_itself(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    place = cgroups.ensure(best_effort())
    folder = next(each for each in model.cgroups if each.endswith(place.parent))
    model.enter(folder, os.getpid(), 12)
    assert not cgroups.remove("u-idle")
    assert model.cgroups[folder].pids == {os.getpid(), 12}


@EITHER
def test_orphans_are_pods_below_ours_that_nobody_knows(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    cgroups.ensure(burstable())
    cgroups.ensure(best_effort())
    root = next(each for each in model.cgroups if each.endswith("/kubepods"))
    for folder in ("podgone", "notapod", "burstable/podgone-too", "burstable/c1"):
        model.make(f"{root}/{folder}")
    model.make(f"{root.removesuffix('/kubepods')}/podof-somebody")
    assert cgroups.orphans({"u-web"}).uids == {"u-idle", "gone", "gone-too"}
    assert all(cgroups.remove(uid) for uid in ("gone", "gone-too", "u-idle"))
    assert cgroups.orphans({"u-web"}).uids == frozenset()


@EITHER
def test_everything_is_below_the_configured_root_which_must_be_there(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model, CgroupOptions(root="/mine"))
    assert cgroups.ensure(best_effort()) == CgroupPlace(
        "", "pods have no cgroups of their own: cgroupRoot /mine is not there"
    )
    assert cgroups.ensure(best_effort()) == CgroupPlace("")
    for root in [each for each in model.cgroups if each.startswith("/cg")]:
        model.make(f"{root}/mine")
    assert cgroups.ensure(best_effort()) == CgroupPlace("/mine/kubepods/besteffort/podu-idle")


@EITHER
def test_where_nothing_can_be_written_the_runtime_has_the_choice_and_it_is_said_once(
    opened: Any,
) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    model.read_only.add("/cg")
    place = cgroups.ensure(burstable())
    assert place.parent == ""
    assert place.trouble.startswith("pods have no cgroups of their own: /cg")
    assert place.trouble.endswith("Read-only file system")
    assert cgroups.ensure(burstable()) == cgroups.ensure(best_effort()) == CgroupPlace("")
    assert cgroups.sync_qos([]) == ""
    assert cgroups.remove("u-web")


@EITHER
def test_what_cannot_be_removed_is_no_error(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    cgroups.ensure(burstable())
    model.read_only.add("/cg")
    assert not cgroups.remove("u-web")


def test_a_limit_that_is_refused_leaves_the_pod_where_it_belongs() -> None:
    model = CgroupModel()
    cgroups = on_v1(model)
    cgroups.sync_qos([])
    model.cgroups["/cg/cpu/kubepods/burstable"].files["cpu.cfs_quota_us"] = "10000"
    place = cgroups.ensure(burstable())
    assert place.parent == "/kubepods/burstable/podu-web"
    assert place.trouble.endswith("cpu.cfs_quota_us: Invalid argument")
    assert model.read("/cg/memory/kubepods/burstable/podu-web/memory.limit_in_bytes") == str(
        64 * MIB
    )


def test_under_v2_a_cgroup_with_processes_of_its_own_has_no_pods_in_it() -> None:
    model = CgroupModel()
    cgroups = on_v2(model)
    cgroups.sync_qos([])
    model.cgroups["/cg2/kubepods"].files["cgroup.subtree_control"] = ""
    model.enter("/cg2/kubepods", 5)
    both = {"cpu": "1", "memory": "1Gi"}
    guaranteed = {"containers": [{"resources": {"limits": both, "requests": both}}]}
    place = cgroups.ensure(make_pod(spec=guaranteed))
    assert place.parent == ""
    assert "kubepods/cgroup.subtree_control: Device or resource busy" in place.trouble


@pytest.mark.parametrize(
    ("opened", "controllers"), [(on_v1, ("cpu", "pids")), (on_v2, ("cpu", "pids"))]
)
def test_without_a_controller_for_memory_pods_have_no_cgroups(
    opened: Any, controllers: tuple[str, ...]
) -> None:
    place = opened(CgroupModel(), OPTIONS, controllers).ensure(burstable())
    assert place.parent == ""
    assert "memory" in place.trouble


@EITHER
def test_controllers_that_are_not_needed_may_be_missing(opened: Any) -> None:
    place = opened(CgroupModel(), OPTIONS, ("cpu", "memory")).ensure(burstable())
    assert place == CgroupPlace("/kubepods/burstable/podu-web")


@EITHER
def test_a_uid_that_is_no_name_leaves_the_pod_to_the_runtime(opened: Any) -> None:
    model = CgroupModel()
    cgroups = opened(model)
    place = cgroups.ensure(make_pod(uid="../../evil"))
    assert place.parent == ""
    assert "'../../evil' cannot be part of a cgroup's name" in place.trouble
    assert cgroups.remove("../../evil")
    assert not any("evil" in each for each in model.cgroups)


def test_without_cgroups_per_class_nothing_is_made() -> None:
    model = CgroupModel()
    cgroups = on_v1(model, CgroupOptions(per_qos=False))
    assert cgroups.ensure(burstable()) == CgroupPlace("")
    assert cgroups.sync_qos([burstable()]) == cgroups.update(burstable()) == ""
    assert cgroups.remove("u-web")
    assert cgroups.orphans([]).uids == frozenset()
    assert not any("kubepods" in each for each in model.cgroups)


def test_without_any_cgroups_everything_is_left_to_the_runtime() -> None:
    cgroups = PodCgroups(OPTIONS, None, "no cgroup file system is mounted")
    assert cgroups.ensure(burstable()) == CgroupPlace(
        "", "pods have no cgroups of their own: no cgroup file system is mounted"
    )
    assert cgroups.remove("u-web")
    assert cgroups.orphans([]).uids == frozenset()
    assert cgroups.facts == CgroupFacts()


def test_a_root_that_leads_elsewhere_is_never_written_to() -> None:
    model = CgroupModel()
    place = on_v1(model, CgroupOptions(root="/../x")).ensure(burstable())
    assert place.parent == ""
    assert "cgroupRoot" in place.trouble


def test_what_the_cgroups_are_capable_of_is_read_from_them() -> None:
    assert on_v1(CgroupModel()).facts == CgroupFacts(limits_swap=True, page_sizes=(2**21,))
    without = on_v1(CgroupModel(), OPTIONS, ("cpu", "memory"))
    assert without.facts == CgroupFacts(limits_swap=True)
    cgroups = on_v2(CgroupModel())
    assert cgroups.facts == CgroupFacts(is_unified=True, page_sizes=(2**21,))
    cgroups.sync_qos([])
    assert cgroups.facts == CgroupFacts(is_unified=True, limits_swap=True, page_sizes=(2**21,))


def test_a_limit_of_all_pods_that_is_refused_is_said_once_and_keeps_no_pod_back() -> None:
    model = CgroupModel()
    cgroups = on_v2(model)
    another_life(model, CgroupOptions()).sync_qos([])
    model.cgroups["/cg2/kubepods"].files["memory.current"] = str(2**34)
    place = cgroups.ensure(burstable())
    assert place.parent == "/kubepods/burstable/podu-web"
    assert place.trouble.startswith("cgroup /kubepods is not limited as it should be: ")
    assert cgroups.ensure(burstable()) == CgroupPlace(place.parent)
    assert cgroups.sync_qos([burstable()]) == ""
