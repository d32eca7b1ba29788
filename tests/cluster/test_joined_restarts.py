"""An agent that is killed and started again: what it finds at the API server, and what it does about it."""

from __future__ import annotations

import pytest

from messages.pods import CONFIG_MIRROR, JsonObject
from tests.support.agent.joined_agent import NODE_NAME, JoinedAgent, Onlooker
from tests.support.agent.joined_pods import status
from tests.support.agent.process import eventually
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.subjects import PODS, create, owner, pod
from tests.support.apiserver.users import NODE
from tests.support.cluster.cluster import Cluster

RECORDS = "--hollow-records"
"""With it hollow containers outlive the agent, as those of a container runtime do."""

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


def test_mirrors_outlive_the_agent_and_its_next_life_touches_none(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    agent.serve("web")
    agent.serve("fixed", uid="0a1b2c3d")
    agent.serve("system", namespace="kube-system")
    onlooker.admin.add(pod("bound"))
    agent.joins(RECORDS)
    eventually(onlooker.lease)
    eventually(lambda: phases(onlooker) == ["Running"] * 4)
    mirrors, pods = onlooker.mirrors(), agent.pods()
    assert {*mirrors} == {"web-n1", "fixed-n1", "system-n1"}
    served = containers(agent.documents())
    eventually(lambda: are_saved(agent, served))
    before = versions(onlooker)

    agent.dies()
    assert onlooker.mirrors() == mirrors
    agent.joins(RECORDS)
    eventually(lambda: agent.pods() == pods)
    eventually(lambda: containers(agent.documents()) == served)
    lease = onlooker.lease()
    eventually(lambda: onlooker.lease() != lease)
    assert onlooker.mirrors() == mirrors
    # Nothing was created or deleted, not even to be made anew: no status was written, no event posted.
    assert agent.requests("POST") == agent.requests("DELETE") == 0
    assert versions(onlooker) == before


def test_containers_that_die_with_the_agent_are_run_again_and_their_pods_stay(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    agent.serve("web")
    onlooker.admin.add(pod("bound"))
    agent.joins()
    eventually(lambda: phases(onlooker) == ["Running"] * 2)
    mirrors, pods = onlooker.mirrors(), agent.pods()
    served = containers(agent.documents())

    agent.dies()
    agent.joins()
    eventually(lambda: restarts(onlooker, "bound") == [1])

    def are_new() -> bool:
        found = containers(agent.documents())
        return len(found) == 2 and {*found}.isdisjoint(served)

    eventually(are_new)
    assert (onlooker.mirrors(), agent.pods()) == (mirrors, pods)
    assert agent.requests("DELETE") == 0


def phases(onlooker: Onlooker) -> list[str]:
    """Return the phases of all pods at the API server."""
    return [each["status"].get("phase", "") for each in onlooker.admin.pods()]


def restarts(onlooker: Onlooker, name: str) -> list[int]:
    """Return how often the containers of a pod were restarted, as the API server shows it."""
    return [each["restartCount"] for each in status(onlooker, name).get("containerStatuses", ())]


def versions(onlooker: Onlooker) -> dict[str, str]:
    """Return the version of each pod at the API server, by its UID."""
    found = (each["metadata"] for each in onlooker.admin.pods())
    return {each["uid"]: each["resourceVersion"] for each in found}


def containers(documents: list[JsonObject]) -> list[str]:
    """Return the ids of all containers that run."""
    found = (each["status"].get("containerStatuses", ()) for each in documents)
    shown = [each for statuses in found for each in statuses]
    return [each["containerID"] for each in shown if "running" in each["state"]]


def are_saved(agent: JoinedAgent, wanted: list[str]) -> bool:
    """Whether the records have all these containers, which run."""
    lines = (agent.root_dir / "hollow" / "containers.json").read_text().splitlines()
    running = [line for line in lines if '"state":"running"' in line]
    return all(any(each in line for line in running) for each in wanted)


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
    eventually(lambda: onlooker.mirrors().get("edited-n1") not in {None, before["edited-n1"]})
    assert onlooker.mirrors()["kept-n1"] == before["kept-n1"]
    eventually(lambda: {*agent.pods()} == {"edited-n1", "kept-n1", "added-n1", "stays"})
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
    agent.joins(RECORDS)
    mirrors = onlooker.mirrors()
    eventually(lambda: phases(onlooker) == ["Running"] * 2)
    eventually(lambda: are_saved(agent, containers(agent.documents())))
    agent.dies()
    leave_mirror_of_url(onlooker, cluster)
    elsewhere = agent.manifests.rename(agent.manifests.with_name("elsewhere"))

    agent.joins(RECORDS)
    taken = f"[+]source/file ok: {agent.manifests} does not exist, taken as empty"
    eventually(lambda: taken in agent.get("/readyz?verbose")[1].splitlines())
    # It has looked whose each of the three is.
    eventually(lambda: onlooker.mirrors() == mirrors)

    (elsewhere / "shop.yaml").unlink()
    elsewhere.rename(agent.manifests)
    eventually(lambda: onlooker.mirrors() == {"web-n1": mirrors["web-n1"]})
    # It counts a request when it is answered: the API server has shown by then what came of it.
    eventually(lambda: agent.requests("DELETE") == 2)
    assert agent.requests("POST") == 0


def leave_mirror_of_url(onlooker: Onlooker, cluster: Cluster) -> None:
    """Have the node leave a mirror behind of a pod that came from a URL."""
    node = onlooker.admin.get("nodes", NODE_NAME)
    orphan = pod("from-url-n1")
    orphan["metadata"]["annotations"] = {CONFIG_MIRROR: "h1", "kubernetes.io/config.source": "http"}
    orphan["metadata"]["ownerReferences"] = [owner(node["metadata"]["uid"])]
    with ApiClient(cluster.access(NODE)) as as_node:
        as_node.handle(create(PODS, orphan))
