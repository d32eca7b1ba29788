"""Classes of pods have what their pods request, and cgroups of pods that are gone are removed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.changes import Op
from messages.container_runtime import PodContainersAre, PodIdentity, SandboxContents
from messages.pods import API, Pod
from runtimes.cri.cgroup_keeper import CGROUP_KEEPER
from runtimes.cri.operations.flow import DiskLane
from tests.support.builders import make_pod
from tests.support.runtimes.cgroup_stage import CgroupStage, cgroup_stage
from tests.support.runtimes.situations import sandbox


def burstable(name: str, cpu: str = "1") -> Pod:
    resources = {"requests": {"cpu": cpu}}
    return make_pod(name, uid=f"u-{name}", spec={"containers": [{"resources": resources}]})


ONE, TWO = burstable("one"), burstable("two")
GONE = burstable("gone")


@pytest.fixture
def stage() -> Iterator[CgroupStage]:
    with cgroup_stage() as made:
        yield made


# Classes.


def test_burstable_pods_have_together_what_they_request(stage: CgroupStage) -> None:
    stage.list(ONE)
    stage.play.advance(0.2)
    assert stage.shares() == "1024"
    stage.change(Op.ADD, TWO)
    stage.play.advance(0.2)
    assert stage.shares() == "2048"
    stage.change(Op.UPDATE, burstable("two", "3"))
    stage.play.advance(0.2)
    assert stage.shares() == "4096"
    stage.change(Op.REMOVE, ONE)
    stage.play.advance(0.2)
    assert stage.shares() == "3072"


def test_many_pods_that_come_at_once_are_added_up_once(stage: CgroupStage) -> None:
    for number in range(50):
        stage.change(Op.ADD, burstable(f"p{number}", "100m"))
    stage.play.advance(1.0)
    assert stage.shares() == "5120"
    assert stage.work.done == 1


def test_pods_that_come_meanwhile_are_added_up_after_that(stage: CgroupStage) -> None:
    stage.work.is_paused = True
    stage.list(ONE)
    stage.play.advance(0.2)
    stage.change(Op.ADD, TWO)
    stage.play.advance(5.0)
    assert len(stage.work.waiting) == 1
    stage.work.work()
    stage.work.is_paused = False
    stage.play.advance(0.2)
    assert stage.shares() == "2048"


def test_statuses_alone_change_nothing(stage: CgroupStage) -> None:
    stage.list(ONE)
    stage.play.advance(0.2)
    done = stage.work.done
    stage.change(Op.RECONCILE, ONE)
    stage.play.advance(1.0)
    assert stage.work.done == done


def test_what_somebody_else_has_changed_is_set_again_within_a_minute(stage: CgroupStage) -> None:
    stage.list(ONE)
    stage.play.advance(0.2)
    folder = "/cg/cpu/kubepods/burstable"
    stage.model.remove(folder)
    stage.play.advance(61.0)
    assert stage.shares() == "1024"


def test_nothing_is_limited_before_any_source_has_told_anything(stage: CgroupStage) -> None:
    stage.play.advance(200.0)
    assert stage.shares() is None


# What belongs to nobody.


def test_the_cgroup_of_a_pod_that_is_gone_is_removed_after_two_looks(stage: CgroupStage) -> None:
    stage.cgroups.ensure(GONE)
    stage.cgroups.ensure(ONE)
    stage.list(ONE)
    stage.play.advance(10.0)
    assert stage.has_cgroup(GONE)
    stage.play.advance(10.0)
    assert not stage.has_cgroup(GONE)
    assert stage.has_cgroup(ONE)


def test_a_pod_that_is_known_at_the_second_look_keeps_its_cgroup(stage: CgroupStage) -> None:
    stage.cgroups.ensure(GONE)
    stage.list()
    stage.play.advance(10.0)
    stage.live(GONE)
    stage.play.advance(200.0)
    assert stage.has_cgroup(GONE)


def test_a_pod_with_a_sandbox_keeps_its_cgroup_until_that_is_gone(stage: CgroupStage) -> None:
    stage.cgroups.ensure(GONE)
    stage.list()
    identity = PodIdentity(uid=GONE.uid, namespace="default", name="gone", source="file")
    contents = SandboxContents(pod=identity, sandbox=sandbox().sandbox, containers=())
    stage.play.tell(CGROUP_KEEPER, PodContainersAre(uid=GONE.uid, sandboxes=(contents,)))
    stage.play.advance(200.0)
    assert stage.has_cgroup(GONE)
    stage.has_nothing_of(GONE)
    stage.play.advance(80.0)
    assert not stage.has_cgroup(GONE)


def test_what_cannot_be_removed_is_tried_again(stage: CgroupStage) -> None:
    stage.cgroups.ensure(GONE)
    folder = f"/cg/cpu/kubepods/burstable/pod{GONE.uid}"
    stage.model.enter(folder, 77)
    stage.model.unkillable.add(77)
    stage.list()
    stage.play.advance(60.0)
    assert stage.has_cgroup(GONE)
    stage.model.unkillable.clear()
    stage.play.advance(20.0)
    assert not stage.has_cgroup(GONE)


def test_nothing_is_removed_before_sources_have_seen_what_they_list(stage: CgroupStage) -> None:
    stage.cgroups.ensure(GONE)
    stage.list(is_provisional=True)
    stage.play.advance(300.0)
    assert stage.has_cgroup(GONE)


def test_nothing_is_removed_while_the_runtime_is_away(stage: CgroupStage) -> None:
    stage.cgroups.ensure(GONE)
    stage.list()
    stage.leave()
    stage.play.advance(300.0)
    assert stage.has_cgroup(GONE)


def second_look(stage: CgroupStage) -> None:
    """Have the second look find a cgroup that belongs to nobody, and its answer wait."""
    stage.cgroups.ensure(GONE)
    stage.list()
    stage.play.advance(10.5)
    stage.work.is_paused = True
    stage.play.advance(10.0)
    assert stage.work.waiting


def test_a_pod_that_comes_during_the_second_look_keeps_its_cgroup(stage: CgroupStage) -> None:
    second_look(stage)
    stage.change(Op.ADD, GONE)
    stage.work.is_paused = False
    stage.work.work()
    stage.play.advance(1.0)
    assert stage.has_cgroup(GONE)


def test_a_pod_whose_start_comes_before_the_removal_keeps_its_cgroup(stage: CgroupStage) -> None:
    second_look(stage)
    stage.work.work_one()
    stage.play.advance(0.1)
    assert [job.lane for job in stage.work.waiting] == [DiskLane.CGROUP_REMOVALS]
    stage.cgroups.ensure(GONE)
    stage.work.work()
    assert stage.has_cgroup(GONE)


def test_a_runtime_that_goes_during_the_second_look_leaves_all_as_it_is(stage: CgroupStage) -> None:
    second_look(stage)
    stage.leave()
    stage.work.is_paused = False
    stage.work.work()
    stage.play.advance(200.0)
    assert stage.has_cgroup(GONE)


def test_the_runtime_is_told_at_each_look_which_pods_keep_their_user_ids(
    stage: CgroupStage,
) -> None:
    stage.live(GONE)
    stage.play.advance(100.0)
    assert stage.runtime.keep_ids == []
    stage.list(ONE, TWO)
    stage.play.advance(60.0)
    assert stage.runtime.keep_ids == [{ONE.uid, TWO.uid, GONE.uid}]


def test_a_pod_belongs_to_the_source_that_told_it_last(stage: CgroupStage) -> None:
    stage.cgroups.ensure(ONE)
    stage.list(ONE)
    stage.list(ONE, source=API)
    stage.play.advance(0.2)
    assert stage.shares() == "1024"
    stage.list(source=API)
    stage.play.advance(40.0)
    assert not stage.has_cgroup(ONE)
