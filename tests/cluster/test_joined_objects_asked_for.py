"""What an agent asks the API server for, for the sake of its pods' objects, and what it does not.

An agent of its own for each story: two would stand for one node.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.mirrors.verdicts import REFERENCES
from tests.support.agent.joined_agent import OWN_STREAMS, JoinedAgent, Onlooker
from tests.support.agent.joined_objects import (
    config_map,
    eavesdropping,
    edit,
    is_synced,
    row,
    secret,
    served,
    state,
    using,
    value,
    watchers,
)
from tests.support.agent.joined_pods import runs
from tests.support.agent.process import eventually
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.subjects import get, refusal
from tests.support.apiserver.users import NODE
from tests.support.cluster.cluster import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("tidy"), pytest.mark.timeout(120)]

SECRETS = "/api/v1/namespaces/default/secrets"


def test_a_node_watches_what_its_pods_reference_and_asks_for_nothing_else(
    agent: JoinedAgent,
    onlooker: Onlooker,
    cluster: Cluster,
) -> None:
    onlooker.admin.add(secret("used"))
    onlooker.admin.add(secret("unused"))
    onlooker.admin.add(using("web", secrets=["used"]))
    onlooker.admin.add(using("elsewhere", secrets=["unused"], node="n2"))
    lists = served(onlooker, "LIST")
    agent.joins()
    with eavesdropping(agent) as told:
        eventually(lambda: is_synced(agent, "used"))
        assert [*agent.objects()] == [("Secret", "used")]
        edit(onlooker, "unused", "second")
        edit(onlooker, "used", "second")
        eventually(lambda: told.story("Secret", "used"))
        assert told.of("Secret", "unused") == []
    assert served(onlooker, "LIST") == lists + 1
    assert agent.forbidden() == 0
    eventually(lambda: watchers(onlooker) == 1)

    # It could not, if it wanted to.
    with ApiClient(cluster.access(NODE)) as node:
        assert node.get("secrets", "default", "used")["metadata"]["name"] == "used"
        assert refusal(node, get(f"{SECRETS}/unused")) == (403, "Forbidden")
        assert refusal(node, get(SECRETS)) == (403, "Forbidden")


@pytest.mark.parametrize(("strategy", "held"), [("Cache", "cached"), ("Get", "direct")])
def test_a_node_that_does_not_watch_holds_its_objects_and_opens_no_stream(
    agent: JoinedAgent,
    onlooker: Onlooker,
    strategy: str,
    held: str,
) -> None:
    onlooker.admin.add(secret("db"))
    onlooker.admin.add(config_map("db"))
    onlooker.admin.add(using("web", secrets=["db"], config_maps=["db"]))
    lists, reads = requests(onlooker, "LIST"), requests(onlooker, "GET")
    agent.configure(configMapAndSecretChangeDetectionStrategy=strategy)
    agent.joins()
    with eavesdropping(agent):
        eventually(lambda: runs(onlooker, "web"))
        eventually(lambda: state(agent, "db") == held)
        eventually(lambda: state(agent, "db", "ConfigMap") == held)
        eventually(lambda: watchers(onlooker) == 0)
        eventually(lambda: agent.streams() == OWN_STREAMS)
        # The pod could not start without them: each was asked for once, by its name.
        assert requests(onlooker, "LIST") == lists
        assert requests(onlooker, "GET") == [number + 1 for number in reads]
        assert agent.forbidden() == 0


def requests(onlooker: Onlooker, verb: str) -> list[float]:
    """Return how many requests of a verb were answered with Secrets, and how many with ConfigMaps."""
    return [served(onlooker, verb, plural) for plural in ("secrets", "configmaps")]


def test_a_static_pod_has_its_objects_from_this_machine_in_a_cluster_too(
    agent: JoinedAgent,
    onlooker: Onlooker,
    tmp_path: Path,
) -> None:
    local = tmp_path / "local"
    local.mkdir()
    file = local / "db.yaml"
    file.touch(mode=0o600)
    password = value("of this machine")
    file.write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n"
        f"stringData: {{password: {password}}}\n"
    )
    onlooker.admin.add(secret("db"))
    asked = served(onlooker, "LIST"), served(onlooker, "GET")
    agent.serve("web")
    web = agent.manifests / "web.yaml"
    agent.write(
        "web.yaml",
        f"{web.read_text()}  volumes:\n  - {{name: db, secret: {{secretName: db}}}}\n",
    )
    agent.start_on_manifests(f"--local-objects-dir={local}")
    with eavesdropping(agent) as told:
        eventually(lambda: state(agent, "db") == "local")
        assert row(agent, "db")["origin"] == "local"
        (refusal,) = eventually(lambda: agent.warnings("web"))
        assert "the cluster does not show" in refusal
        assert REFERENCES in refusal
        refusals = {"references": 1.0}
        eventually(lambda: agent.metric("actorlet_mirror_create_errors_total") == refusals)
        assert onlooker.mirrors() == {}

        # It goes on all the same, and follows its file.
        file.write_text(file.read_text().replace("machine", "very machine"))
        eventually(lambda: ("modified", ("password",)) in told.story("Secret", "db"))
        assert [*agent.pods()] == ["web-n1"]
        edit(onlooker, "db", "of the cluster")
        assert [row["origin"] for row in agent.objects().values()] == ["local"]
    assert (served(onlooker, "LIST"), served(onlooker, "GET")) == asked
    assert agent.forbidden() == 0
    eventually(lambda: watchers(onlooker) == 0)
