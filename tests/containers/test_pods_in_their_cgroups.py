"""A real pod runs in the cgroup that was made for it, within its limits, and nothing of that is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from files.cgroups.mounts import CgroupMounts, mounts_in
from files.cgroups.names import CgroupOptions
from messages.pods import Pod
from runtimes.cri.cgroups.container_limits import LinuxResources, container_resources
from runtimes.cri.cgroups.opening import open_cgroups
from runtimes.cri.cgroups.pod_cgroups import PodCgroups
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.agent.process import eventually
from tests.support.builders import make_pod
from tests.support.containers.cgroups import cgroups_below, hierarchies
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_client import CriClient
from tests.support.containers.images import BUSYBOX

MIB = 2**20
CAPACITY = {"cpu": 4000, "memory": 2**32}


@pytest.fixture
def mounts() -> CgroupMounts:
    found = mounts_in(Path("/proc/self/mountinfo").read_text())
    if found.trouble:
        pytest.skip(f"no cgroup can be made here: {found.trouble}")
    return found


@pytest.fixture
def options(containerd: Containerd, mounts: CgroupMounts) -> CgroupOptions:
    for each in mounts.v1 or ():
        Path(each.folder + containerd.cgroup).mkdir(exist_ok=True)
    if mounts.is_unified:
        Path(mounts.v2 + containerd.cgroup).mkdir(exist_ok=True)
    return CgroupOptions(root=containerd.cgroup, capacity=CAPACITY, pods_pids=40)


@pytest.fixture
def cgroups(options: CgroupOptions) -> PodCgroups:
    return open_cgroups(options)


@pytest.fixture
def client(containerd: Containerd) -> Iterator[CriClient]:
    with containerd.client() as client:
        yield client


def pod(limits: dict[str, str], requests: dict[str, str] | None = None) -> Pod:
    container: dict[str, Any] = {"resources": {"limits": limits, "requests": requests or limits}}
    return make_pod(spec={"containers": [{"name": "main", "image": BUSYBOX, **container}]})


class RealPod:
    """A pod of one container, by plain calls."""

    def __init__(self, containerd: Containerd, client: CriClient, parent: str, of: Pod) -> None:
        self._client = client
        self.config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=of.name, uid=of.uid, namespace=of.namespace),
            log_directory=str(containerd.folder / "logs"),
            linux=cri.LinuxPodSandboxConfig(
                cgroup_parent=parent,
                security_context=cri.LinuxSandboxSecurityContext(
                    namespace_options=cri.NamespaceOption(network=cri.NODE)
                ),
            ),
        )
        request = cri.RunPodSandboxRequest(config=self.config)
        self.sandbox = client.call(request, cri.RunPodSandboxResponse).pod_sandbox_id

    def run(self, resources: LinuxResources, *command: str) -> str:
        container = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name="main"),
            image=cri.ImageSpec(image=BUSYBOX),
            command=command,
            log_path="main.log",
            linux=cri.LinuxContainerConfig(resources=as_told(resources)),
        )
        request = cri.CreateContainerRequest(
            pod_sandbox_id=self.sandbox, config=container, sandbox_config=self.config
        )
        made = self._client.call(request, cri.CreateContainerResponse).container_id
        self._client.call(cri.StartContainerRequest(container_id=made), cri.StartContainerResponse)
        return made


def as_told(resources: LinuxResources) -> cri.LinuxContainerResources:
    pages = (cri.HugepageLimit(page_size=size, limit=limit) for size, limit in resources.huge_pages)
    return cri.LinuxContainerResources(
        cpu_period=resources.cpu_period,
        cpu_quota=resources.cpu_quota,
        cpu_shares=resources.cpu_shares,
        memory_limit_in_bytes=resources.memory_limit,
        memory_swap_limit_in_bytes=resources.memory_swap_limit,
        oom_score_adj=resources.oom_score_adj,
        hugepage_limits=pages,
        unified=resources.unified,
    )


def resources_of(of: Pod, options: CgroupOptions, cgroups: PodCgroups) -> LinuxResources:
    container = of.document["spec"]["containers"][0]
    resources = container_resources(of, container, options, cgroups.facts)
    assert isinstance(resources, LinuxResources)
    return resources


def text_of(mounts: CgroupMounts, path: str, v1: tuple[str, str], v2: str) -> str:
    controller, file = v1
    folder = mounts.v2 if mounts.is_unified else mounts.folder_of(controller)
    return Path(folder + path, v2 if mounts.is_unified else file).read_text().strip()


def left_of(parent: str) -> list[Path]:
    return [
        each / parent.strip("/") for each in hierarchies() if (each / parent.strip("/")).exists()
    ]


def test_a_pods_processes_are_in_its_cgroup_and_nothing_is_left_of_it(
    containerd: Containerd,
    client: CriClient,
    mounts: CgroupMounts,
    options: CgroupOptions,
    cgroups: PodCgroups,
) -> None:
    web = pod({"cpu": "500m", "memory": "64Mi"}, {"cpu": "100m", "memory": "64Mi"})
    place = cgroups.ensure(web)
    assert place.trouble == ""
    real = RealPod(containerd, client, place.parent, web)
    container = real.run(resources_of(web, options, cgroups), "sleep", "infinity")

    tasks = containerd.tasks()
    for name in (container, real.sandbox):
        assert f"{place.parent}/{name}" in Path(f"/proc/{tasks[name]}/cgroup").read_text()
    assert int(Path(f"/proc/{tasks[container]}/oom_score_adj").read_text()) == 985
    quota = text_of(mounts, f"{place.parent}/{container}", ("cpu", "cpu.cfs_quota_us"), "cpu.max")
    assert quota.split()[0] == "50000"

    client.remove_sandbox(real.sandbox)
    assert left_of(place.parent)
    assert cgroups.orphans([]).uids == {web.uid}
    assert cgroups.remove(web.uid)
    assert left_of(place.parent) == []
    assert [each for each in cgroups_below(options.root) if each.name.startswith("pod")] == []


def test_the_limit_of_a_pod_holds_for_a_container_that_has_a_larger_one(
    containerd: Containerd, client: CriClient, options: CgroupOptions, cgroups: PodCgroups
) -> None:
    small = pod({"cpu": "1", "memory": "16Mi"})
    place = cgroups.ensure(small)
    real = RealPod(containerd, client, place.parent, small)
    hungry = "x=a; while true; do x=$x$x; done"
    generous = resources_of(pod({"cpu": "1", "memory": "1Gi"}), options, cgroups)
    container = real.run(generous, "sh", "-c", hungry)
    eventually(lambda: client.container(container).state == cri.CONTAINER_EXITED)
    assert client.container(container).exit_code == 137
    client.remove_sandbox(real.sandbox)
    assert cgroups.remove(small.uid)


def test_a_pod_and_its_container_are_resized_while_they_run(
    containerd: Containerd,
    client: CriClient,
    mounts: CgroupMounts,
    options: CgroupOptions,
    cgroups: PodCgroups,
) -> None:
    requests = {"cpu": "100m", "memory": "32Mi"}
    place = cgroups.ensure(pod({"cpu": "500m", "memory": "64Mi"}, requests))
    real = RealPod(containerd, client, place.parent, pod({}))
    before = resources_of(pod({"cpu": "500m", "memory": "64Mi"}, requests), options, cgroups)
    container = real.run(before, "sleep", "infinity")

    for cpu, memory in (("1500m", "128Mi"), ("200m", "48Mi"), ("1", "32Mi")):
        resized = pod({"cpu": cpu, "memory": memory}, requests)
        assert cgroups.widen(resized) == ""
        wanted = resources_of(resized, options, cgroups)
        update = cri.UpdateContainerResourcesRequest(container_id=container, linux=as_told(wanted))
        client.call(update, cri.UpdateContainerResourcesResponse)
        assert cgroups.update(resized) == ""
        for path in (place.parent, f"{place.parent}/{container}"):
            quota = text_of(mounts, path, ("cpu", "cpu.cfs_quota_us"), "cpu.max").split()[0]
            limit = text_of(mounts, path, ("memory", "memory.limit_in_bytes"), "memory.max")
            assert (quota, limit) == (str(wanted.cpu_quota), str(wanted.memory_limit))
    client.remove_sandbox(real.sandbox)
    assert cgroups.remove(pod({}).uid)


def test_what_a_lost_shim_left_running_is_ended_with_the_pods_cgroup(
    containerd: Containerd, client: CriClient, options: CgroupOptions, cgroups: PodCgroups
) -> None:
    lost = pod({"cpu": "1", "memory": "64Mi"})
    place = cgroups.ensure(lost)
    real = RealPod(containerd, client, place.parent, lost)
    container = real.run(resources_of(lost, options, cgroups), "sleep", "infinity")
    pids = {containerd.tasks()[each] for each in (container, real.sandbox)}
    containerd.kill_shim(real.sandbox)
    assert cgroups.orphans([lost.uid]).uids == frozenset()
    assert cgroups.remove(lost.uid)
    assert [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()] == []
    assert left_of(place.parent) == []
