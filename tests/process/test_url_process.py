"""Pods from a URL, as users meet them: flags, a server that comes and goes, and files beside it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.process import AgentProcess, eventually, manifest
from tests.support.wire.http1_server import http1_server, reply
from tests.support.wire.ports import free_ports

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    with AgentProcess(tmp_path) as agent:
        yield agent


def listing(*names: str) -> bytes:
    """Return a PodList of small pods."""
    container = {"name": "main", "image": "registry.example/web:1"}
    items = [{"metadata": {"name": name}, "spec": {"containers": [container]}} for name in names]
    return json.dumps({"apiVersion": "v1", "kind": "PodList", "items": items}).encode()


def test_pods_of_a_url_are_served_beside_those_of_files_and_kept_when_it_breaks(
    agent: AgentProcess,
) -> None:
    agent.write("web.yaml", manifest("web"))
    with http1_server() as server:
        server.routes["/pods"] = reply(listing("db", "mail"))
        agent.start_on_manifests(
            f"--manifest-url=http://127.0.0.1:{server.port}/pods?token=hunter2",
            "--manifest-url-header=X-Token:hunter2",
            "--http-check-frequency=100ms",
        )
        eventually(lambda: set(agent.pods()) == {"web-node1", "db-node1", "mail-node1"})
        assert server.seen[0].values("x-token") == ["hunter2"]

        # One bad item, and nothing of the list changes; it is said which one it is.
        server.routes["/pods"] = reply(listing("db", "-bad-", "new"))
        agent.logs("Failed to read pods from URL")
        said = agent.json("/sourcez")["sources"][1]["manifests"]
        assert [each["verdict"] for each in said if "#items[1]" in each["path"]] == ["rejected"]
        assert set(agent.pods()) == {"web-node1", "db-node1", "mail-node1"}

    # The server has gone. SIGHUP asks it all the same; the pods stay, and files go on.
    agent.send(signal.SIGHUP)
    agent.logs("refused")
    agent.write("shop.yaml", manifest("shop"))
    eventually(lambda: "shop-node1" in agent.pods())
    assert "db-node1" in agent.pods()
    assert "hunter2" not in agent.log() + agent.get("/configz")[1] + agent.get("/sourcez")[1]
    assert agent.stops() == 0


def test_a_url_that_was_never_there_holds_up_nobody(agent: AgentProcess) -> None:
    (port,) = free_ports(1)
    agent.write("web.yaml", manifest("web"))
    agent.start_on_manifests(f"--manifest-url=http://127.0.0.1:{port}/")
    assert list(agent.pods()) == ["web-node1"]
    why = f"[-]source/http failed: not seen yet, http://127.0.0.1:{port}/: "
    eventually(lambda: why in agent.get("/readyz?verbose")[1])
    assert "[+]source/file ok" in agent.get("/readyz?verbose")[1]
    assert agent.stops() == 0
