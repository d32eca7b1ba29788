"""Many connections and few descriptors."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.agent.process import AgentProcess, eventually, manifest
from tests.support.kube.kubeconfigs import Kubeconfig
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        yield agent


def limited(limit: str) -> tuple[str, ...]:
    """Return what starts a process with this ``limit`` of open descriptors, as options of ``ulimit``."""
    return ("sh", "-c", f'ulimit {limit}; exec "$@"', "sh")


def open_descriptors(agent: AgentProcess) -> int:
    return len(list(Path(f"/proc/{agent.process.pid}/fd").iterdir()))


def dial(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


@pytest.mark.parametrize(("limit", "clients"), [(64, 100), (256, 400)])
def test_clients_who_hold_connections_take_neither_health_nor_files_away(
    agent: AgentProcess, limit: int, clients: int
) -> None:
    agent.start_on_manifests(launcher=limited(f"-n {limit}"))
    said = len(agent.log().splitlines())
    with ExitStack() as held:
        for _ in range(clients):
            held.enter_context(dial(agent.port))
        for number in range(5):
            agent.write(f"more{number}.yaml", manifest(f"more{number}"))
            agent.logs(f"more{number}")
            assert agent.get("/healthz", port=agent.health_port) == (200, "ok")
            assert open_descriptors(agent) < limit
        # The youngest are served, too: only the oldest were cut.
        assert len(agent.pods()) == 6
        for _ in range(clients):
            held.enter_context(dial(agent.health_port))
        assert agent.get("/healthz", port=agent.health_port) == (200, "ok")
        assert len(agent.pods()) == 6
    assert eventually(agent.pods).keys() == {f"more{n}-node1" for n in range(5)} | {"web-node1"}
    lines = agent.log().splitlines()
    # Each pod that came meanwhile has its lines.
    of_pods = sum("pod=" in line or "pods=" in line for line in lines[said:])
    assert len(lines) - said - of_pods < 5, agent.log()
    assert sum("few descriptors, so few connections are served" in line for line in lines) == 1
    assert sum("too many connections: the oldest are cut" in line for line in lines) == 1
    assert agent.stops() == 0


def test_a_soft_limit_that_may_be_raised_limits_nobody(agent: AgentProcess) -> None:
    agent.start_on_manifests(launcher=limited("-Sn 64"))
    with ExitStack() as held:
        for _ in range(150):
            held.enter_context(dial(agent.port))
        eventually(lambda: open_descriptors(agent) > 150)
        assert agent.get("/healthz") == (200, "ok")
    assert "connections" not in agent.log()
    assert agent.stops() == 0


def test_who_joins_with_too_few_descriptors_for_any_watch_is_told_how_many_it_needs(
    agent: AgentProcess, tmp_path: Path
) -> None:
    kubeconfig = Kubeconfig(tmp_path)
    kubeconfig.is_for(cluster={"server": "https://127.0.0.1:1"})
    flags = (
        f"--kubeconfig={kubeconfig.path}",
        "--port=0",
        "--runtime=hollow",
        "--logging-format=json",
    )
    agent.start_on_manifests(*flags, launcher=limited("-n 40"))
    event = "few descriptors, so some watches may find no connection"
    agent.logs(event)
    (line,) = [each for each in map(json.loads, agent.log().splitlines()) if event in str(each)]
    assert (line["connections"], line["room_for"], line["descriptors_needed"]) == (4, 3, 128)
    assert agent.stops() == 0
