"""Pods that a real API server binds to the node, as ``/pods`` shows them."""

from __future__ import annotations

import pytest

from messages.api import ApiRequest, Verb
from messages.pods import CONFIG_SEEN, CONFIG_SOURCE
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.process import eventually
from tests.support.apiserver.subjects import pod

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


def test_a_pod_is_served_from_its_binding_to_its_end(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    onlooker.admin.add(pod("elsewhere", node="n2"))
    onlooker.admin.add(pod("unbound", node=""))
    made = onlooker.admin.add(pod("here"))
    eventually(lambda: shared.pods() == {"here": made["metadata"]["uid"]})
    (shown,) = shared.documents()
    assert shown["metadata"]["annotations"][CONFIG_SOURCE] == "api"
    assert shown["metadata"]["annotations"][CONFIG_SEEN].endswith("Z")
    assert shown["spec"]["nodeName"] == "n1"

    # A scheduler comes along.
    binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n1"}}
    onlooker.create(
        "/api/v1/namespaces/default/pods/unbound/binding",
        {**binding, "metadata": {"name": "unbound"}},
    )
    eventually(lambda: {*shared.pods()} == {"here", "unbound"})

    onlooker.admin.remove("pods", "default", "here")
    eventually(lambda: {*shared.pods()} == {"unbound"})
    assert "elsewhere" not in shared.log()


def test_a_pod_of_the_same_name_is_another_pod(shared: JoinedAgent, onlooker: Onlooker) -> None:
    first = onlooker.admin.add(pod("web"))["metadata"]["uid"]
    eventually(lambda: shared.pods() == {"web": first})
    onlooker.admin.remove("pods", "default", "web")
    second = onlooker.admin.add(pod("web"))["metadata"]["uid"]
    eventually(lambda: shared.pods() == {"web": second})
    assert first != second


def test_an_edit_at_the_api_server_reaches_the_pod(shared: JoinedAgent, onlooker: Onlooker) -> None:
    onlooker.admin.add(pod("web"))
    eventually(lambda: shared.images() == {"web": "registry.example/web:1"})
    path = "/api/v1/namespaces/default/pods/web"
    containers = [{"name": "main", "image": "registry.example/web:2"}]
    onlooker.admin.handle(
        ApiRequest(verb=Verb.PATCH, path=path, body={"spec": {"containers": containers}})
    )
    eventually(lambda: shared.images() == {"web": "registry.example/web:2"})


def test_a_person_finds_the_node_ready_with_bound_pods_and_mirrors_side_by_side(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    shared.serve("static")
    shared.serve("system", namespace="kube-system")
    onlooker.admin.add(pod("bound"))
    eventually(lambda: {*onlooker.mirrors()} == {"static-n1", "system-n1"})
    nodes = onlooker.admin.all("nodes")
    assert [node["metadata"]["name"] for node in nodes] == ["n1"]
    assert {
        (each["metadata"]["namespace"], each["metadata"]["name"], each["spec"]["nodeName"])
        for each in onlooker.admin.pods()
    } == {
        ("default", "bound", "n1"),
        ("default", "static-n1", "n1"),
        ("kube-system", "system-n1", "n1"),
    }
    # The node serves the same pods, each once: a mirror is nothing to run.
    eventually(lambda: {*shared.pods()} == {"bound", "static-n1", "system-n1"})
    assert not any("kubernetes.io/config.mirror" in str(each) for each in shared.documents())
