"""What is left of pods, of earlier agents and of crashes is removed, and nothing that anybody needs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from runtimes.cri.wire import cri_pb2 as cri
from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_client import CriClient
from tests.support.containers.images import BUSYBOX
from tests.support.containers.whole_agent import WholeAgent
from tests.support.patience import PATIENCE

OWN = "volumes/kubernetes.io~empty-dir"
"""Where volumes of the agent are in the directory of a pod."""


@pytest.fixture
def agent(tmp_path: Path, containerd: Containerd) -> Iterator[WholeAgent]:
    with WholeAgent(tmp_path, containerd) as agent:
        yield agent


@contextmanager
def file_system(at: Path, size: str) -> Iterator[Path]:
    """Have a file system of its own at a folder."""
    at.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def test_directories_of_pods_that_nobody_has_go_but_nothing_through_a_mount(
    agent: WholeAgent, mounting: Path
) -> None:
    pods, elsewhere = agent.root_dir / "pods", mounting / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    for uid in ("gone-1", "gone-2", "bound"):
        (pods / uid / OWN / "data").mkdir(parents=True)
        (pods / uid / OWN / "file").touch()
    mounted = pods / "bound" / OWN / "data"
    subprocess.run(["mount", "--bind", str(elsewhere), str(mounted)], check=True)
    agent.serve("web", main={"terminationMessagePath": "/dev/termination-log"})
    agent.begins()
    agent.await_running("web")
    uid = agent.document("web")["metadata"]["uid"]
    eventually(lambda: {each.name for each in pods.iterdir()} == {uid})
    assert (elsewhere / "precious").exists()
    assert agent.status("web")["restartCount"] == 0


def test_a_pod_waits_while_the_disk_of_the_agent_is_full_and_others_go_on(
    agent: WholeAgent,
) -> None:
    with file_system(agent.root_dir, "512k") as disk:
        agent.serve("before")
        agent.begins()
        agent.await_running("before")
        with suppress(OSError), (disk / "filling").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        agent.serve("after")
        eventually(lambda: "No space left" in str(agent.document("after").get("status", {})))
        assert agent.runs("before", 0)
        (disk / "filling").unlink()
        agent.await_running("after")
        agent.withdraw("before")
        agent.withdraw("after")
        agent.await_nothing()
        agent.stops()


def test_logs_that_a_link_leads_elsewhere_are_refused_and_others_go_on(agent: WholeAgent) -> None:
    elsewhere = agent.told / "elsewhere"
    elsewhere.mkdir()
    agent.serve("first")
    agent.begins()
    agent.await_running("first")
    (logs,) = Path(agent.configuration["podLogsDir"]).glob("default_first-node1_*")
    agent.withdraw("first")
    agent.await_nothing()
    eventually(lambda: not logs.exists())
    agent.dies()
    logs.symlink_to(elsewhere)
    agent.serve("first")
    agent.serve("second")
    agent.begins()
    agent.await_running("second")
    eventually(
        lambda: (
            agent.status("first").get("state", {}).get("waiting", {}).get("reason")
            == "CreateContainerConfigError"
        ),
    )
    assert list(elsewhere.iterdir()) == []


def create_old(agent: WholeAgent, client: CriClient, attempt: int) -> str:
    """Create a container ``old`` in the only pod, as an earlier agent would, and return its id."""
    (sandbox,) = client.sandboxes()
    labels = {**sandbox.labels, "io.kubernetes.container.name": "old"}
    metadata = cri.PodSandboxMetadata(
        name=sandbox.metadata.name,
        uid=sandbox.metadata.uid,
        namespace=sandbox.metadata.namespace,
        attempt=sandbox.metadata.attempt,
    )
    config = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name="old", attempt=attempt),
        image=cri.ImageSpec(image=BUSYBOX),
        command=["sleep", "1000"],
        labels=labels,
        log_path=f"old/{attempt}.log",
    )
    request = cri.CreateContainerRequest(
        pod_sandbox_id=sandbox.id,
        config=config,
        sandbox_config=cri.PodSandboxConfig(metadata=metadata, log_directory=str(agent.told)),
    )
    return client.call(request, cri.CreateContainerResponse).container_id


def test_a_hundred_dead_containers_at_the_start_leave_one_of_each(agent: WholeAgent) -> None:
    agent.serve("web")
    agent.begins()
    agent.await_running("web")
    agent.dies()
    with agent.containerd.client() as client:
        for attempt in range(1, 101):
            create_old(agent, client, attempt)
    agent.begins()
    agent.await_running("web", restarts=0)
    eventually(lambda: len(agent.instances("web")) <= 3)
    assert agent.said("web") == ["begins"]


def test_a_task_that_a_cut_start_left_keeps_no_pod_from_its_end(agent: WholeAgent) -> None:
    agent.serve("web")
    agent.begins()
    agent.await_running("web")
    agent.dies()
    with agent.containerd.client() as client:
        # Its CRI knows nothing of the task, as after a start whose caller was killed.
        agent.containerd.ctr("tasks", "start", "-d", create_old(agent, client, 0))
    agent.begins()
    agent.await_running("web", restarts=0)
    agent.withdraw("web")
    agent.await_nothing()


@pytest.mark.timeout(300)
def test_fifty_containers_of_one_pod_run_and_end(agent: WholeAgent) -> None:
    crowd = [{**agent.container(f"c{number}"), "name": f"c{number}"} for number in range(50)]
    # containerd's shim has a queue of 32 exits, and hangs while many containers are killed and end at once.
    agent.serve("crowd", containers=crowd, terminationGracePeriodSeconds=20)
    agent.begins()
    eventually(lambda: len(list(agent.told.iterdir())) >= 25, 3 * PATIENCE)
    agent.dies()
    agent.begins()
    eventually(lambda: len(list(agent.told.iterdir())) == 50, 3 * PATIENCE)
    agent.withdraw("crowd")
    agent.await_nothing()
