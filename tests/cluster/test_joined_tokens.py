"""Tokens of service accounts in the files of pods, as an agent shows them that is a node of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.joined_objects import PAGES, wipe_objects
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode, telling
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.token_holders import claims_of, holder_of
from tests.support.containers.containerd import Containerd
from tests.support.volumes.sweeping import sweep

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

NAME = "kube-api-access-x7z2k"
MOUNTED_AT = "/var/run/secrets/kubernetes.io/serviceaccount"
INJECTED = {
    "name": NAME,
    "projected": {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
    },
}
"""As API servers put it into nearly every pod."""
ASKING = """
cd {mounted}
echo "namespace=$(cat namespace)"
echo "ca=$(head -n 1 ca.crt)"
wget -q -O /tmp/answer --no-check-certificate --header "Authorization: Bearer $(cat token)" {url}/apis
echo "answered=$(grep -c '"APIGroupList"' /tmp/answer)"
echo end
exec sleep 1000
"""
"""Nobody but who is authenticated may list the groups of the API."""


@pytest.fixture
def node(
    tmp_path: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    onlooker.admin.add({"kind": "ServiceAccount", "metadata": {"name": "shop"}})
    certificates = {"ca.crt": cluster.ca_pem.decode()}
    metadata = {"name": "kube-root-ca.crt", "namespace": "default"}
    onlooker.admin.add({"kind": "ConfigMap", "metadata": metadata, "data": certificates})
    with JoinedAgent(tmp_path, cluster.kubeconfig()) as agent:
        yield RealNode(agent, containerd, tmp_path)
    onlooker.wipe()
    wipe_objects(onlooker)
    onlooker.admin.remove("serviceaccounts", "default", "shop")
    sweep(tmp_path)


def with_token(name: str, script: str = "echo end; exec sleep 1000") -> JsonObject:
    """Return a pod that has a token, and a container that runs ``script``."""
    pod: JsonObject = telling(name, volumes=[INJECTED], serviceAccountName="shop")
    main = pod["spec"]["containers"][0]
    main["volumeMounts"] = [{"name": NAME, "mountPath": MOUNTED_AT, "readOnly": True}]
    main["command"] = ["sh", "-c", script]
    return pod


def file_of(node: RealNode, uid: str) -> Path:
    """Return the file of a pod's token on the node."""
    volumes = node.agent.root_dir / "pods" / uid / "volumes"
    return volumes / "kubernetes.io~projected" / NAME / "token"


def test_a_container_calls_the_api_server_with_the_token_that_it_is_given(
    node: RealNode, onlooker: Onlooker, cluster: Cluster
) -> None:
    script = ASKING.format(mounted=MOUNTED_AT, url=cluster.url)
    uid = onlooker.admin.add(with_token("web", script))["metadata"]["uid"]
    node.starts()
    said = eventually(lambda: node.variables("web"))
    first_line = cluster.ca_pem.decode().splitlines()[0]
    assert said == {"namespace": "default", "ca": first_line, "answered": "1"}

    token = file_of(node, uid).read_text()
    assert holder_of(cluster, token) == "system:serviceaccount:default:shop"
    assert claims_of(token)["kubernetes.io"]["pod"] == {"name": "web", "uid": uid}

    # Nobody sees it but the pod.
    seen = node.agent.log() + "".join(node.agent.get(page)[1] for page in PAGES)
    assert token.split(".")[2] not in seen
    metric = "actorlet_service_account_tokens"
    eventually(lambda: node.agent.metric(metric).get("there") == 1.0)


def test_a_pod_waits_for_its_service_account_and_says_so(
    node: RealNode, onlooker: Onlooker
) -> None:
    onlooker.admin.remove("serviceaccounts", "default", "shop")
    onlooker.admin.add(with_token("web"))
    node.starts()
    eventually(lambda: any('"shop" not found' in each for each in failures(onlooker)))
    assert NAME in failures(onlooker)[-1]
    onlooker.admin.add({"kind": "ServiceAccount", "metadata": {"name": "shop"}})
    eventually(lambda: (onlooker.pod("web") or {})["status"]["phase"] == "Running")


def test_a_deleted_pod_is_gone_without_any_word_about_its_token(
    node: RealNode, onlooker: Onlooker
) -> None:
    uid = onlooker.admin.add(with_token("web"))["metadata"]["uid"]
    node.starts()
    eventually(lambda: file_of(node, uid).exists())
    eventually(lambda: (onlooker.pod("web") or {})["status"]["phase"] == "Running")
    onlooker.admin.remove("pods", "default", "web", grace=0)
    eventually(lambda: not (node.agent.root_dir / "pods" / uid).exists())
    metric = "actorlet_service_account_tokens"
    eventually(lambda: {*node.agent.metric(metric).values()} == {0.0})


def failures(onlooker: Onlooker) -> list[str]:
    """Return what the events say about volumes that are not there."""
    return [each["message"] for each in onlooker.warnings() if each["reason"] == "FailedMount"]
