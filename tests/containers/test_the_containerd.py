"""The containerd of these tests: what stories can do to it, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import grpc
import pytest

from runtimes.cri.wire import cri_pb2 as cri
from tests.support.agent.process import ROOT, eventually
from tests.support.containers import leftovers, needs
from tests.support.containers.cgroups import cgroups_below
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_client import CriClient
from tests.support.containers.images import BUSYBOX, IMAGES, LocalImage
from tests.support.containers.registry import registry_of

RUNNING, EXITED = cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED


@pytest.fixture
def client(containerd: Containerd) -> Iterator[CriClient]:
    with containerd.client() as client:
        yield client


def sandbox_config(
    containerd: Containerd, name: str = "web", *, host_network: bool = True
) -> cri.PodSandboxConfig:
    network = cri.NODE if host_network else cri.POD
    return cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name=name, uid=f"uid-of-{name}", namespace="default"),
        log_directory=str(containerd.folder / "logs"),
        linux=cri.LinuxPodSandboxConfig(
            cgroup_parent=containerd.cgroup,
            security_context=cri.LinuxSandboxSecurityContext(
                namespace_options=cri.NamespaceOption(network=network)
            ),
        ),
    )


def run_sandbox(client: CriClient, config: cri.PodSandboxConfig) -> str:
    request = cri.RunPodSandboxRequest(config=config)
    return client.call(request, cri.RunPodSandboxResponse).pod_sandbox_id


def run_container(
    client: CriClient, sandbox: str, config: cri.PodSandboxConfig, *command: str
) -> str:
    container = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name="main"),
        image=cri.ImageSpec(image=BUSYBOX),
        command=command,
        log_path="main.log",
        # With processes of its own: else it would end with the sandbox's pause.
        linux=cri.LinuxContainerConfig(
            security_context=cri.LinuxContainerSecurityContext(
                namespace_options=cri.NamespaceOption(pid=cri.CONTAINER)
            )
        ),
    )
    request = cri.CreateContainerRequest(
        pod_sandbox_id=sandbox, config=container, sandbox_config=config
    )
    made = client.call(request, cri.CreateContainerResponse).container_id
    client.call(cri.StartContainerRequest(container_id=made), cri.StartContainerResponse)
    return made


def running_pod(containerd: Containerd, client: CriClient, name: str = "web") -> tuple[str, str]:
    """Return the sandbox and the container of a pod that runs."""
    config = sandbox_config(containerd, name)
    sandbox = run_sandbox(client, config)
    return sandbox, run_container(client, sandbox, config, "sleep", "infinity")


def test_it_says_who_it_is(client: CriClient) -> None:
    version = client.call(cri.VersionRequest(), cri.VersionResponse)
    assert (version.runtime_name, version.runtime_api_version) == ("containerd", "v1")


def test_it_has_its_images_and_no_others(containerd: Containerd) -> None:
    assert containerd.images() == {image.name for image in IMAGES}
    assert containerd.ids() == set()


def test_nothing_is_pulled_from_anywhere(client: CriClient) -> None:
    for image in ("docker.io/library/nginx:1", "registry.example/nginx:1"):
        request = cri.PullImageRequest(image=cri.ImageSpec(image=image))
        with pytest.raises(grpc.RpcError, match=r"127\.0\.0\.1:1: connect: connection refused"):
            client.call(request, cri.PullImageResponse)


def test_an_image_is_pulled_from_a_registry_of_the_tests_by_who_may(
    containerd: Containerd, client: CriClient
) -> None:
    image = LocalImage(name="registry.example/team/app:1", config={"User": "app"})
    busybox = needs.busybox()
    assert busybox is not None
    pull = cri.PullImageRequest(image=cri.ImageSpec(image=image.name))
    with registry_of("registry.example", [image], busybox, ("me", "secret")) as registry:
        containerd.add_registry(registry.name, registry.port)
        with pytest.raises(grpc.RpcError, match="401 Unauthorized"):
            client.call(pull, cri.PullImageResponse)
        pull.auth.username, pull.auth.password = "me", "secret"
        client.call(pull, cri.PullImageResponse)
    assert (registry.pulls, registry.refusals > 0) == (["team/app:1"], True)
    assert image.name in containerd.images()
    status = client.call(cri.ImageStatusRequest(image=pull.image), cri.ImageStatusResponse)
    assert status.image.username == "app"


def test_a_pod_on_the_hosts_network_runs_writes_its_log_and_ends(
    containerd: Containerd, client: CriClient
) -> None:
    config = sandbox_config(containerd)
    sandbox = run_sandbox(client, config)
    container = run_container(client, sandbox, config, "sh", "-c", "echo hello; exit 3")
    eventually(lambda: client.container(container).state == EXITED)
    assert client.container(container).exit_code == 3
    assert (containerd.folder / "logs/main.log").read_text().endswith(" stdout F hello\n")
    client.remove_sandbox(sandbox)
    assert containerd.ids() == set()


def test_a_pod_gets_an_address_once_there_is_a_network(
    containerd: Containerd, client: CriClient
) -> None:
    with pytest.raises(grpc.RpcError, match="cni plugin not initialized"):
        run_sandbox(client, sandbox_config(containerd, "early", host_network=False))
    addresses = containerd.add_network()
    sandbox = run_sandbox(client, sandbox_config(containerd, host_network=False))
    request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox)
    status = client.call(request, cri.PodSandboxStatusResponse).status
    assert status.network.ip.rpartition(".")[0] == addresses.rpartition(".")[0]


def test_what_runs_goes_on_while_the_daemon_is_killed_and_started(
    containerd: Containerd, client: CriClient
) -> None:
    _, container = running_pod(containerd, client)
    before = containerd.tasks()
    containerd.kill()
    assert not containerd.is_ready()
    containerd.start()
    assert containerd.tasks() == before
    assert client.container(container).state == RUNNING


def test_a_suspended_daemon_answers_nothing_until_it_is_resumed(
    containerd: Containerd, client: CriClient
) -> None:
    eventually(client.is_ready)
    containerd.suspend()
    assert not client.is_ready()
    containerd.resume()
    eventually(client.is_ready)


def test_pauses_shims_containers_and_images_can_be_taken_away(
    containerd: Containerd, client: CriClient
) -> None:
    sandbox, container = running_pod(containerd, client)
    containerd.kill_task(sandbox)
    eventually(lambda: sandbox not in containerd.tasks())
    assert client.container(container).state == RUNNING
    containerd.remove_container(container)
    assert containerd.ids() == {sandbox}
    shimless, container = running_pod(containerd, client, "other")
    containerd.kill_shim(shimless)
    eventually(lambda: client.container(container).state == EXITED)
    containerd.remove_images(BUSYBOX)
    assert BUSYBOX not in containerd.images()


def test_nothing_of_a_test_is_left_for_the_next(containerd: Containerd, client: CriClient) -> None:
    daemon = containerd.processes()
    running_pod(containerd, client)
    containerd.add_network()
    run_sandbox(client, sandbox_config(containerd, "other", host_network=False))
    assert cgroups_below(containerd.cgroup)
    containerd.suspend()
    containerd.wipe()
    # A shim is told to end, and does so soon.
    eventually(lambda: containerd.processes() == daemon)
    assert containerd.ids() == set()
    assert cgroups_below(containerd.cgroup) == []
    assert not client.has_network()


def test_a_process_that_only_sees_the_mounts_of_a_containerd_is_none_of_its_own(
    containerd: Containerd, client: CriClient
) -> None:
    # The first process of another one's container is so for a moment; it was killed for that.
    running_pod(containerd, client)
    own = containerd.processes()
    command = ["unshare", "--mount", "sleep", "infinity"]
    with subprocess.Popen(command) as onlooker:
        try:
            mounts = Path(f"/proc/{onlooker.pid}/ns/mnt")
            eventually(lambda: mounts.readlink() != Path("/proc/self/ns/mnt").readlink())
            assert str(containerd.folder) in Path(f"/proc/{onlooker.pid}/mountinfo").read_text()
            assert containerd.processes() == own
        finally:
            onlooker.kill()


def test_a_runtime_that_cannot_tidy_up_begins_anew(
    containerd: Containerd, client: CriClient
) -> None:
    sandbox, container = running_pod(containerd, client)
    containerd.kill()
    for task in (sandbox, container):
        with suppress(ProcessLookupError):  # the second one may end with the first
            os.kill(containerd_task(containerd, task), signal.SIGKILL)
    (containerd.folder / "root/io.containerd.metadata.v1.bolt/meta.db").unlink()
    containerd.wipe()
    assert containerd.is_ready()
    assert containerd.ids() == set()
    assert containerd.images() == {image.name for image in IMAGES}


def containerd_task(containerd: Containerd, task: str) -> int:
    """Return the first process of a task while no daemon can be asked."""
    return int((containerd.folder / leftovers.TASKS / task / "init.pid").read_text())


DIES = """
import os, signal
from tests.support.containers.containerd import Containerd
from tests.containers.test_the_containerd import running_pod, run_sandbox, sandbox_config
containerd = Containerd()
with containerd.client() as client:
    running_pod(containerd, client)
    containerd.add_network()
    run_sandbox(client, sandbox_config(containerd, "other", host_network=False))
print(containerd.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.containers
@pytest.mark.timeout(120)
def test_what_killed_tests_leave_is_swept_and_what_others_use_is_not(
    containerd: Containerd, client: CriClient
) -> None:
    running_pod(containerd, client)
    dead = subprocess.run(
        [sys.executable, "-c", DIES], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    folder = Path(dead.stdout.strip())
    assert leftovers.processes_of(folder)
    assert folder in leftovers.sweep()
    assert leftovers.processes_of(folder) == set()
    assert cgroups_below(leftovers.cgroup_of(folder)) == []
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()
    assert not folder.exists()
    assert containerd.is_ready()
    assert len(containerd.tasks()) == 2


def test_where_there_can_be_no_containers_one_sentence_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(needs, "missing", lambda: "real containers need root")
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match=r"^real containers need root$"):
        needs.require()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"^real containers need root$"):
        needs.require()
