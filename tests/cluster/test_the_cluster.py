"""The real API server of these tests: what stories can do to it, and who may come in."""

from __future__ import annotations

import json

import pytest
from pyreqwest.exceptions import PyreqwestError

from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.subjects import NODES, delete, node_object
from tests.support.apiserver.users import NODE
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.fixtures import STOPS_IT

pytestmark = [pytest.mark.cluster, STOPS_IT, pytest.mark.timeout(120)]


def test_it_comes_back_at_its_place_with_all_that_was_stored(cluster: Cluster) -> None:
    node = cluster.admin.add(node_object())
    cluster.stop_api_server()
    with pytest.raises(PyreqwestError):
        cluster.admin.get("nodes", "n1")
    cluster.start_api_server()
    assert cluster.admin.get("nodes", "n1")["metadata"]["uid"] == node["metadata"]["uid"]
    cluster.admin.handle(delete(f"{NODES}/n1"))


def test_a_client_certificate_says_who_comes(cluster: Cluster) -> None:
    with ApiClient(cluster.access(NODE, by_certificate=True)) as node:
        assert node.add(node_object())["metadata"]["name"] == "n1"
    cluster.admin.remove("nodes", "n1")


def test_a_kubeconfig_names_the_server_and_the_user(cluster: Cluster) -> None:
    document = json.loads(cluster.kubeconfig(NODE).read_text())
    assert document["clusters"][0]["cluster"]["server"] == cluster.url
    assert document["users"][0]["name"] == "system:node:n1"
