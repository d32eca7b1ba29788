"""A real API server that goes away and comes back, and an agent that goes on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from actors.node.lease import FEWEST_RISES
from tests.support.agent.joined_agent import JoinedAgent, Onlooker, condition
from tests.support.agent.process import eventually
from tests.support.apiserver.subjects import pod
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.fixtures import STOPS_IT
from tests.support.wire.ports import free_ports

pytestmark = [pytest.mark.cluster, STOPS_IT, pytest.mark.timeout(120)]

OUTAGE = 20.0
"""Seconds; by then all who wait for the API server wait for tens of seconds between two tries."""

COMPLAINT = "calls to the API server fail"
"""In a line of the log."""


@pytest.fixture(autouse=True)
def api_server_afterwards(agent: JoinedAgent, cluster: Cluster) -> Iterator[None]:  # noqa: ARG001  # whose end needs the API server
    """Have the API server run when a test has ended, however that was."""
    yield
    cluster.bring_back()


def restart(cluster: Cluster, times: int) -> None:
    for _ in range(times):
        cluster.stop_api_server()
        cluster.start_api_server()


def static_pods_come_and_go(agent: JoinedAgent) -> None:
    """Have ``web`` change, ``gone`` go and ``added`` come, and see it."""
    agent.serve("web", image="registry.example/web:2")
    agent.withdraw("gone")
    agent.serve("added")
    eventually(lambda: "added-n1" in agent.pods() and "gone-n1" not in agent.pods())
    eventually(lambda: agent.images().get("web-n1") == "registry.example/web:2")


def is_ready(onlooker: Onlooker) -> bool:
    return condition(onlooker.node() or {}, "Ready").get("status") == "True"


def passes(seconds: float) -> None:
    """Return after ``seconds``: an outage is nothing but time in which nobody answers."""
    threading.Event().wait(seconds)


def test_an_outage_of_twenty_seconds_loses_nothing_and_doubles_nothing(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    agent.serve("web")
    agent.serve("gone")
    bound = onlooker.admin.add(pod("bound"))["metadata"]["uid"]
    agent.joins()
    eventually(lambda: "bound" in agent.pods())
    mirrors, pods = onlooker.mirrors(), agent.pods()

    complaints = agent.log().count(COMPLAINT)
    cluster.stop_api_server()
    # What was under way at that moment has another end.
    agent.complains(f"at {cluster.url} as system:node:n1: connection refused")

    # What runs goes on, and the machine's own pods come and go.
    assert agent.pods() == pods
    static_pods_come_and_go(agent)
    passes(OUTAGE)
    assert {*agent.pods()} == {"web-n1", "added-n1", "bound"}
    eventually(lambda: agent.get("/healthz") == (200, "ok"))
    assert eventually(agent.trouble)
    # Many tries, and hardly a line in the log.
    assert agent.log().count(COMPLAINT) < complaints + 3

    cluster.start_api_server()
    eventually(lambda: {*onlooker.mirrors()} == {"web-n1", "added-n1"})
    eventually(lambda: agent.metric("actorlet_mirrors") == {"wanted": 2.0, "present": 2.0})
    eventually(lambda: onlooker.mirrors().get("web-n1") not in {None, mirrors["web-n1"]})
    assert agent.pods()["bound"] == bound
    eventually(lambda: not agent.trouble())
    # One for each: those of the start, the edited one and the added one.
    eventually(lambda: agent.log().count("created mirror pod") == 4)
    # And the watches go on.
    onlooker.admin.add(pod("later"))
    eventually(lambda: "later" in agent.pods())


def test_an_api_server_that_is_restarted_time_and_again_leaves_every_mirror_as_it_is(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    agent.serve("web")
    agent.joins()
    mirrors, node = onlooker.mirrors(), onlooker.admin.get("nodes", "n1")
    restart(cluster, times=2)
    onlooker.admin.add(pod("bound"))
    eventually(lambda: {*agent.pods()} == {"web-n1", "bound"})
    eventually(lambda: not agent.trouble())
    assert onlooker.mirrors() == mirrors
    assert onlooker.admin.get("nodes", "n1")["metadata"]["uid"] == node["metadata"]["uid"]
    assert agent.log().count("created mirror pod") == 1
    assert agent.requests("DELETE") == 0


def renewals(onlooker: Onlooker, times: int) -> None:
    """Return once the Lease was renewed so many times."""
    seen: list[object] = []

    def is_over() -> bool:
        lease = onlooker.lease()
        if lease not in seen:
            seen.append(lease)
        return len(seen) > times

    eventually(is_over)


def test_a_backup_that_is_put_back_is_noticed_with_the_next_renewal_of_the_lease(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    agent.joins()
    old = onlooker.admin.add(pod("old"))["metadata"]["uid"]
    eventually(lambda: agent.pods() == {"old": old})
    backup = cluster.back_up()
    onlooker.admin.remove("pods", "default", "old")
    new = onlooker.admin.add(pod("new"))["metadata"]["uid"]
    eventually(lambda: agent.pods() == {"new": new})
    renewals(onlooker, times=FEWEST_RISES + 2)

    cluster.put_back(backup)
    # By its silence alone a watch would be given up after two minutes or more.
    eventually(lambda: agent.pods() == {"old": old})
    assert agent.log().count("the API server is older than it was") == 1
    # And the watches go on from there.
    later = onlooker.admin.add(pod("later"))["metadata"]["uid"]
    eventually(lambda: agent.pods() == {"old": old, "later": later})


def test_an_agent_that_starts_before_its_api_server_serves_static_pods_and_joins_later(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    cluster.stop_api_server()
    agent.serve("web")
    agent.serve("gone")
    # Another source that is away changes nothing either.
    (nobody,) = free_ports(1)
    agent.start_on_manifests(f"--manifest-url=http://127.0.0.1:{nobody}/")
    assert {*agent.pods()} == {"web-n1", "gone-n1"}
    static_pods_come_and_go(agent)
    agent.complains("connection refused")

    cluster.start_api_server()
    eventually(lambda: {*onlooker.mirrors()} == {"web-n1", "added-n1"})
    eventually(lambda: is_ready(onlooker))
    eventually(onlooker.lease)
    eventually(lambda: not agent.trouble())
