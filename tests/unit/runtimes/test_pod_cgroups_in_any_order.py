"""Whatever happens to cgroups in whatever order, each pod has its own, and nothing else is touched."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from files.cgroups.kernel_trees import V1Tree, V2Tree
from files.cgroups.names import CgroupOptions
from messages.pods import Pod
from runtimes.cri.cgroups.pod_cgroups import PodCgroups
from tests.support.builders import make_pod
from tests.support.runtimes.cgroup_model import CgroupModel

CONTROLLERS = ("cpu", "memory", "pids", "cpuset")
OPTIONS = CgroupOptions(root="/mine", capacity={"cpu": 4000, "memory": 2**33}, pods_pids=9)
RESOURCES: tuple[dict[str, Any], ...] = (
    {},
    {"requests": {"cpu": "300m"}},
    {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}},
)
PODS = [
    make_pod(f"pod-{number}", uid=f"u{number}", spec={"containers": [{"resources": resources}]})
    for number, resources in enumerate(RESOURCES * 2)
]
ANY_POD = st.sampled_from(PODS)


class CgroupsInAnyOrder(RuleBasedStateMachine):
    """The agent's commands, its restarts, and what others do to its cgroups."""

    @initialize(is_unified=st.booleans())
    def mount(self, *, is_unified: bool) -> None:
        self.model = CgroupModel()
        mount = self.model.mount_v2 if is_unified else self.model.mount_v1
        self.mounts = mount(*CONTROLLERS)
        self.roots = list(self.model.cgroups)
        for root in self.roots:
            self.model.make(f"{root}/mine")
            self.model.make(f"{root}/podof-others")
        self.pods: dict[str, str] = {}
        self.restart()

    @rule()
    def restart(self) -> None:
        tree = (
            V2Tree(self.model, self.mounts.v2)
            if self.mounts.is_unified
            else V1Tree(self.model, self.mounts)
        )
        self.cgroups = PodCgroups(OPTIONS, tree, self.mounts.trouble)

    @rule(pod=ANY_POD)
    def ensure(self, pod: Pod) -> None:
        place = self.cgroups.ensure(pod)
        assert place.trouble == ""
        self.pods[pod.uid] = place.parent

    @rule(pod=ANY_POD)
    def remove(self, pod: Pod) -> None:
        assert self.cgroups.remove(pod.uid)
        self.pods.pop(pod.uid, None)

    @rule(known=st.lists(ANY_POD))
    def remove_orphans(self, known: list[Pod]) -> None:
        uids = {pod.uid for pod in known}
        orphans = self.cgroups.orphans(uids).uids
        assert orphans == self.pods.keys() - uids
        for uid in orphans:
            assert self.cgroups.remove(uid)
            del self.pods[uid]

    @rule(pods=st.lists(ANY_POD))
    def sync(self, pods: list[Pod]) -> None:
        assert self.cgroups.sync_qos(pods) == ""

    @rule(pod=ANY_POD)
    def resize(self, pod: Pod) -> None:
        assert self.cgroups.widen(pod) == self.cgroups.update(pod) == ""

    @rule(pod=ANY_POD, pid=st.integers(10**8, 10**9))
    def run_something(self, pod: Pod, pid: int) -> None:
        if pod.uid in self.pods:
            for root in self.roots:
                self.model.enter(root + self.pods[pod.uid], pid)

    @rule()
    def lose_everything(self) -> None:
        """Somebody removes all of it by hand."""
        for folder in [each for each in self.model.cgroups if "/kubepods" in each]:
            del self.model.cgroups[folder]
        self.pods.clear()

    @invariant()
    def each_pod_has_its_own_and_nobody_elses_are_touched(self) -> None:
        for root in self.roots:
            folders = {each for each in self.model.cgroups if each.startswith(f"{root}/")}
            pods = {each for each in folders if "/kubepods" in each and "/pod" in each}
            assert pods == {root + parent for parent in self.pods.values()}
            assert {f"{root}/mine", f"{root}/podof-others"} <= folders
        for parent in self.pods.values():
            limits = [self.model.read(f"{root}{parent}/pids.max") for root in self.roots]
            assert "9" in limits


TestCgroupsInAnyOrder = CgroupsInAnyOrder.TestCase
