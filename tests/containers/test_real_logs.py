"""The log of a real container, rotated while it is written and followed: each line comes once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from actors.logs.answers import container_log, log_reading
from actors.logs.housekeeping import LogHousekeeping, MovedLog
from actors.logs.layout import LoggedPod, LogOptions, log_directory, log_path
from actors.logs.reading import LogQuery, LogReading
from actors.logs.records import log_text
from actors.logs.upkeep import LoggedContainer
from messages.container_runtime import ContainerLog, ReadContainerLog
from messages.pods import PodUid
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.cri_client import CriClient
from tests.support.containers.images import BUSYBOX

POD = LoggedPod("default", "web", PodUid("uid-of-web"))
ROTATIONS = 10
SCRIPT = """
i=0
while [ ! -e /told/end ]; do
    echo line $i
    i=$((i+1))
    [ $((i % 25)) -eq 0 ] && sleep 0.01
done
printf 'the %s' end
exit 3
"""
"""Writes until it is told to end: nobody can reopen the log of a container that has ended."""


class LoggingPod:
    """A pod whose only container writes lines, and its log."""

    def __init__(self, containerd: Containerd, client: CriClient, root: Path) -> None:
        self.client, self.root = client, root / "logs"
        self.told = root / "told"
        self.told.mkdir()
        options = LogOptions(
            pods_directory=self.root, links_directory=None, max_size=0, max_files=99
        )
        self.disk = LogHousekeeping(options, lambda *_: None)
        self._config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=POD.name, uid=POD.uid, namespace=POD.namespace),
            log_directory=str(log_directory(self.root, POD)),
            linux=cri.LinuxPodSandboxConfig(
                cgroup_parent=containerd.cgroup,
                security_context=cri.LinuxSandboxSecurityContext(
                    namespace_options=cri.NamespaceOption(network=cri.NODE)
                ),
            ),
        )
        request = cri.RunPodSandboxRequest(config=self._config)
        self._sandbox = client.call(request, cri.RunPodSandboxResponse).pod_sandbox_id
        self.id = ""

    def run(self, script: str) -> None:
        container = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name="main"),
            image=cri.ImageSpec(image=BUSYBOX),
            command=["sh", "-c", script],
            log_path=log_path("main", 0),
            mounts=[cri.Mount(container_path="/told", host_path=str(self.told))],
        )
        request = cri.CreateContainerRequest(
            pod_sandbox_id=self._sandbox, config=container, sandbox_config=self._config
        )
        self.id = self.client.call(request, cri.CreateContainerResponse).container_id
        started = cri.StartContainerRequest(container_id=self.id)
        self.client.call(started, cri.StartContainerResponse)

    def rotate(self) -> MovedLog:
        container = LoggedContainer(self.id, POD, "main", 0, is_running=True, is_started=True)
        moved = self.disk.rotate(container, datetime.now(UTC), tidy=False)
        assert moved is not None
        return moved

    def reopen(self) -> None:
        request = cri.ReopenContainerLogRequest(container_id=self.id)
        self.client.call(request, cri.ReopenContainerLogResponse)

    @property
    def has_ended(self) -> bool:
        return self.client.container(self.id).state == cri.CONTAINER_EXITED


@pytest.fixture
def pod(containerd: Containerd, tmp_path: Path) -> Iterator[LoggingPod]:
    with containerd.client() as client:
        yield LoggingPod(containerd, client, tmp_path)


class Follower:
    """Somebody who follows a log."""

    def __init__(self, reading: LogReading) -> None:
        self._reading, self.seen = reading, b""

    def look(self) -> int:
        while records := self._reading.read():
            self.seen += log_text(records)
        return self.seen.count(b"\n")

    def finish(self) -> bytes:
        self.look()
        return self.seen + log_text(self._reading.finish())


def test_a_log_that_is_rotated_while_it_is_written_has_no_gap(pod: LoggingPod) -> None:
    pod.run(SCRIPT)
    with log_reading(pod.root, POD, "main", 0, LogQuery(is_following=True)) as reading:
        follower = Follower(reading)
        for number in range(1, ROTATIONS + 1):
            eventually(lambda number=number: follower.look() >= number * 400)  # type: ignore[misc]
            pod.rotate()
            pod.reopen()
        # The last lines are asked for below, and are to be in the last file.
        eventually(lambda: follower.look() >= (ROTATIONS + 1) * 400)
        (pod.told / "end").touch()
        eventually(lambda: follower.look() >= 0 and pod.has_ended)
        seen = follower.finish()
    lines = seen.count(b"\n")
    expected = b"".join(b"line %d\n" % number for number in range(lines)) + b"the end"
    assert seen == expected
    with log_reading(pod.root, POD, "main", 0, LogQuery(with_rotated=True)) as reading:
        assert log_text(reading.everything()) == expected
    rotated = list((log_directory(pod.root, POD) / "main").glob("0.log.*"))
    assert len(rotated) == ROTATIONS
    assert sum(path.suffix == ".gz" for path in rotated) == ROTATIONS - 1
    answer = container_log(pod.root, POD, "main", 0, ReadContainerLog(id=pod.id, tail=2))
    assert isinstance(answer, ContainerLog)
    assert [line.text for line in answer.lines] == [f"line {lines - 1}", "the end"]


def test_a_long_line_is_read_as_one(pod: LoggingPod) -> None:
    pod.run("head -c 40000 /dev/zero | tr '\\0' x; echo; echo error >&2")
    eventually(lambda: pod.has_ended)
    with log_reading(pod.root, POD, "main", 0, LogQuery()) as reading:
        found = sorted((each.text, each.is_end) for each in reading.everything())
    assert found == [(b"error", True), (b"x" * 40_000, True)]


def test_the_log_of_a_container_that_ended_is_not_opened_anew_and_gets_its_name_back(
    pod: LoggingPod,
) -> None:
    pod.run("echo one; echo two")
    eventually(lambda: pod.has_ended)
    moved = pod.rotate()
    with pytest.raises(Exception, match="not running"):
        pod.reopen()
    pod.disk.undo(moved)
    with log_reading(pod.root, POD, "main", 0, LogQuery()) as reading:
        assert [each.text for each in reading.everything()] == [b"one", b"two"]
