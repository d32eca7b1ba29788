"""An agent that is killed and started again: what it finds at the API server, and what it does about it."""

from __future__ import annotations

import pytest

from messages.pods import CONFIG_MIRROR
from tests.support.agent.joined_agent import NODE_NAME, PLENTY, JoinedAgent, Onlooker
from tests.support.agent.process import eventually
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.subjects import PODS, create, owner, pod
from tests.support.apiserver.users import NODE
from tests.support.cluster.cluster import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


def test_mirrors_outlive_the_agent_and_its_next_life_touches_none(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    agent.serve("web")
    agent.serve("fixed", uid="0a1b2c3d")
    agent.serve("system", namespace="kube-system")
    onlooker.admin.add(pod("bound"))
    agent.joins()
    eventually(onlooker.lease)
    mirrors, pods = onlooker.mirrors(), agent.pods()
    assert {*mirrors} == {"web-n1", "fixed-n1", "system-n1"}

    agent.dies()
    assert onlooker.mirrors() == mirrors
    agent.joins()
    eventually(lambda: agent.pods() == pods)
    assert onlooker.mirrors() == mirrors
    assert agent.requests("DELETE") == 0


def test_what_changed_while_the_agent_was_away_is_made_up_for(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    agent.serve("edited")
    agent.serve("removed")
    agent.serve("kept")
    bound = {name: onlooker.admin.add(pod(name)) for name in ("stays", "goes")}
    agent.joins()
    eventually(lambda: len(agent.pods()) == 5)
    before = onlooker.mirrors()

    agent.dies()
    agent.withdraw("removed")
    agent.serve("edited", image="registry.example/web:2")
    agent.serve("added")
    onlooker.admin.remove("pods", "default", "goes")
    agent.joins()
    eventually(lambda: {*onlooker.mirrors()} == {"edited-n1", "kept-n1", "added-n1"})
    after = onlooker.mirrors()
    assert after["kept-n1"] == before["kept-n1"]
    assert after["edited-n1"] != before["edited-n1"]
    assert {*agent.pods()} == {"edited-n1", "kept-n1", "added-n1", "stays"}
    assert agent.pods()["stays"] == bound["stays"]["metadata"]["uid"]


def test_a_mirror_of_a_source_that_is_configured_no_more_is_removed(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    agent.serve("web")
    agent.joins()
    mirrors = onlooker.mirrors()
    agent.dies()
    leave_mirror_of_url(onlooker, cluster)
    assert {*onlooker.mirrors()} == {"web-n1", "from-url-n1"}

    agent.start_on_manifests()
    eventually(lambda: onlooker.mirrors() == mirrors)


def test_mirrors_outlive_a_start_before_the_manifest_path_is_there(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    agent.serve("web")
    agent.serve("shop")
    agent.joins()
    mirrors = onlooker.mirrors()
    agent.dies()
    leave_mirror_of_url(onlooker, cluster)
    elsewhere = agent.manifests.rename(agent.manifests.with_name("elsewhere"))

    agent.joins()
    taken = f"[+]source/file ok: {agent.manifests} does not exist, taken as empty"
    assert taken in agent.get("/readyz?verbose")[1].splitlines()
    # It has looked whose each of the three is.
    eventually(lambda: onlooker.mirrors() == mirrors, PLENTY)

    (elsewhere / "shop.yaml").unlink()
    elsewhere.rename(agent.manifests)
    eventually(lambda: onlooker.mirrors() == {"web-n1": mirrors["web-n1"]})
    assert agent.requests("DELETE") == 2


def leave_mirror_of_url(onlooker: Onlooker, cluster: Cluster) -> None:
    """Have the node leave a mirror behind of a pod that came from a URL."""
    node = onlooker.admin.get("nodes", NODE_NAME)
    orphan = pod("from-url-n1")
    orphan["metadata"]["annotations"] = {CONFIG_MIRROR: "h1", "kubernetes.io/config.source": "http"}
    orphan["metadata"]["ownerReferences"] = [owner(node["metadata"]["uid"])]
    with ApiClient(cluster.access(NODE)) as as_node:
        as_node.handle(create(PODS, orphan))
