"""kubectl asks a node for logs and streams: through a real API server, to real containers."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.joined_pods import add_ephemeral_container, runs
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode
from tests.support.apiserver.subjects import pod
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX
from tests.support.patience import PATIENCE
from tests.support.wire.ports import free_ports

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        shutil.which("kubectl") is None and "CI" not in os.environ, reason="there is no kubectl"
    ),
]

TAKES_TURNS = "echo begins; read line; echo got $line; exit 3"
SAYS = "echo first; echo second >&2; i=0; while true; do echo line $i; i=$((i+1)); sleep 0.2; done"


class Kubectl:
    """kubectl as an administrator."""

    def __init__(self, kubeconfig: Path) -> None:
        self._words = ["kubectl", f"--kubeconfig={kubeconfig}"]

    def begins(self, *words: str) -> subprocess.Popen[bytes]:
        """Begin a command that goes on."""
        return subprocess.Popen(self.words(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def words(self, *words: str) -> list[str]:
        """Return a whole command."""
        return [*self._words, *words]

    def ends(self, *words: str) -> tuple[int, str]:
        """Return the exit code of a command, and what it prints."""
        ended = subprocess.run(
            self.words(*words), capture_output=True, timeout=PATIENCE, check=False
        )
        return ended.returncode, ended.stdout.decode()

    def __call__(self, *words: str, told: bytes = b"", code: int = 0) -> str:
        """Return what a command prints, and fail if it ends with another exit code."""
        ended = subprocess.run(
            self.words(*words), input=told, capture_output=True, timeout=PATIENCE, check=False
        )
        assert ended.returncode == code, ended.stderr.decode()
        return ended.stdout.decode() if code == 0 else ended.stderr.decode()


def real_pod(name: str, script: str, **more: Any) -> JsonObject:
    """Return a pod whose container runs a script."""
    main = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script], **more}
    spec: dict[str, Any] = {
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 0,
        "containers": [main],
    }
    return pod(name, **spec)


@contextmanager
def terminal(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """Yield both ends of a terminal of this size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def all_of(ours: int) -> bytes:
    """Return all that is said on a terminal until nobody has it open any more."""
    said = b""
    with suppress(OSError):
        while more := os.read(ours, 4096):
            said += more
    return said


@pytest.fixture
def node(
    tmp_path: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    (port,) = free_ports(1)
    with JoinedAgent(tmp_path, cluster.kubeconfig()) as agent:
        real = RealNode(agent, containerd, tmp_path)
        real.starts(
            f"--port={port}",
            "--address=127.0.0.1",
            "--node-ip=127.0.0.1",
            f"--client-ca-file={cluster.ca_file}",
        )
        yield real
    onlooker.wipe()


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster.kubeconfig(ADMIN))


Begin = Callable[..., None]


@pytest.fixture
def begin(node: RealNode, onlooker: Onlooker) -> Begin:
    """Return what has a pod run a script on the node."""
    assert node.agent.kubeconfig.exists()

    def begins(name: str, script: str, **more: Any) -> None:
        onlooker.admin.add(real_pod(name, script, **more))
        eventually(lambda: runs(onlooker, name))

    return begins


@pytest.fixture
def web(begin: Begin) -> str:
    """Return the name of a pod that runs."""
    begin("web", SAYS)
    return "web"


def test_kubectl_reads_logs_and_runs_commands(web: str, kubectl: Kubectl, tmp_path: Path) -> None:
    assert "first\n" in kubectl("logs", web)
    assert len(kubectl("logs", web, "--tail=1").splitlines()) == 1
    missing = kubectl("logs", web, "-c", "none", code=1)
    assert "container none is not valid for pod web" in missing

    assert kubectl("exec", web, "--", "echo", "hello") == "hello\n"
    assert kubectl("exec", "-i", web, "--", "cat", told=b"in and out") == "in and out"
    kubectl("exec", web, "--", "sh", "-c", "exit 7", code=7)

    data = bytes(range(256)) * 4096
    (tmp_path / "data").write_bytes(data)
    kubectl("cp", str(tmp_path / "data"), f"{web}:/tmp/data")
    said = kubectl("exec", web, "--", "sha256sum", "/tmp/data")
    assert said.split()[0] == sha256(data).hexdigest()
    kubectl("cp", f"{web}:/tmp/data", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == data


def test_a_command_goes_on_without_the_agent_and_tells_its_exit_code(
    web: str, node: RealNode, kubectl: Kubectl
) -> None:
    with kubectl.begins("exec", "-i", web, "--", "sh", "-c", TAKES_TURNS) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == b"begins\n"
        node.agent.dies()
        said, _ = command.communicate(b"it\n", timeout=PATIENCE)
    assert said == b"got it\n"
    assert command.returncode == 3


def test_a_terminal_has_its_size(web: str, kubectl: Kubectl) -> None:
    with terminal(rows=17, columns=71) as (ours, theirs):
        words = kubectl.words("exec", "-it", web, "--", "sh", "-c", "sleep 0.3; stty size")
        with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs) as command:
            os.close(theirs)
            assert b"17 71" in all_of(ours)
        assert command.returncode == 0


def test_a_log_is_followed_until_its_container_ends_and_then_is_the_previous_one(
    begin: Begin, kubectl: Kubectl
) -> None:
    script = "echo begins; until [ -e /tmp/go ]; do sleep 0.1; done; echo ends; exit 1"
    begin("ending", script)
    with kubectl.begins("logs", "-f", "ending") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"begins\n"
        kubectl("exec", "ending", "--", "touch", "/tmp/go")
        said, _ = following.communicate(timeout=PATIENCE)
    assert said == b"ends\n"
    eventually(lambda: kubectl.ends("logs", "-p", "ending") == (0, "begins\nends\n"))


def test_somebody_attaches_to_what_a_container_says(begin: Begin, kubectl: Kubectl) -> None:
    begin("talks", "while read a; do echo you said $a; done", stdin=True)
    with kubectl.begins("attach", "-i", "talks") as attached:
        assert attached.stdin is not None
        assert attached.stdout is not None
        attached.stdin.write(b"something\n")
        attached.stdin.flush()
        assert attached.stdout.readline() == b"you said something\n"
        attached.kill()


def test_somebody_debugs_a_container_from_another_one_in_its_pod(
    web: str, onlooker: Onlooker, kubectl: Kubectl
) -> None:
    """What ``kubectl debug`` does, by hand: each of them speaks to API servers of its own years alone."""
    sees = "read line; tr '\\0' ' ' </proc/1/cmdline; echo; echo got $line"
    tools: JsonObject = {"name": "tools", "image": BUSYBOX, "command": ["sh", "-c", sees]}
    add_ephemeral_container(
        onlooker, web, {**tools, "stdin": True, "stdinOnce": True, "targetContainerName": "main"}
    )
    eventually(lambda: "running" in ephemeral_state(onlooker, web))
    said = kubectl("attach", web, "-i", "-c", "tools", told=b"this\n")
    assert SAYS in said  # it sees the processes of the container that is debugged
    assert "got this\n" in said
    ended = eventually(lambda: ephemeral_state(onlooker, web).get("terminated"))
    assert ended["exitCode"] == 0
    assert "got this\n" in kubectl("logs", web, "-c", "tools")


def ephemeral_state(onlooker: Onlooker, name: str) -> JsonObject:
    """Return how the one ephemeral container of a pod is; nothing before it is told."""
    status = (onlooker.pod(name) or {}).get("status") or {}
    found = status.get("ephemeralContainerStatuses") or [{}]
    return dict(found[0].get("state") or {})


def test_a_port_of_a_pod_is_reached(begin: Begin, kubectl: Kubectl) -> None:
    inside, outside = free_ports(2)
    serves = f"mkdir /www; echo well > /www/page; exec httpd -f -p 127.0.0.1:{inside} -h /www"
    begin("serves", serves)
    with kubectl.begins("port-forward", "pod/serves", f"{outside}:{inside}") as forwarding:
        assert forwarding.stdout is not None
        assert b"Forwarding from" in forwarding.stdout.readline()
        for _ in range(2):
            with urlopen(f"http://127.0.0.1:{outside}/page", timeout=PATIENCE) as answer:
                assert answer.read() == b"well\n"
        # Nothing of the pod is left then, and who gets its name next was not granted to this client.
        kubectl("delete", "pod", "serves")
        assert forwarding.wait(PATIENCE) == 1
