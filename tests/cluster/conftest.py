"""What the tests of a joined agent begin with: the agent, and an administrator who looks on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.joined_agent import JoinedAgent, Onlooker, member
from tests.support.agent.joined_objects import wipe_objects
from tests.support.agent.joined_pods import PodHistory
from tests.support.agent.process import eventually
from tests.support.cluster.cluster import Cluster


@pytest.fixture
def onlooker(cluster: Cluster) -> Onlooker:
    """Return an administrator of the cluster, once it has the namespaces that every cluster has."""
    namespaces = ("default", "kube-system", "kube-public", "kube-node-lease")
    eventually(lambda: all(cluster.admin.has("namespaces", name) for name in namespaces))
    return Onlooker(cluster.admin)


@pytest.fixture
def tidy(onlooker: Onlooker) -> Iterator[None]:
    """Have no Secret or ConfigMap of the test left when it has ended, however that was."""
    yield
    wipe_objects(onlooker)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Iterator[JoinedAgent]:
    """Return an agent that has joined, for all tests of a module."""
    folder = tmp_path_factory.mktemp("running")
    with member(folder, cluster, Onlooker(cluster.admin)) as agent:
        yield agent.joins()


@pytest.fixture
def shared(running: JoinedAgent, onlooker: Onlooker) -> Iterator[JoinedAgent]:
    """Return the module's agent without any pods; it is left so."""
    yield running
    for path in running.manifests.glob("*.yaml"):
        path.unlink()
    eventually(lambda: onlooker.mirrors() == {})
    onlooker.wipe("pods", "events")
    eventually(lambda: running.pods() == {})


@pytest.fixture
def agent(tmp_path: Path, cluster: Cluster, onlooker: Onlooker) -> Iterator[JoinedAgent]:
    """Return an agent for node n1 that is not started yet."""
    with member(tmp_path, cluster, onlooker) as agent:
        yield agent


@pytest.fixture
def history(cluster: Cluster) -> PodHistory:
    """Return what becomes of the pods from now on."""
    return PodHistory(cluster.admin)
