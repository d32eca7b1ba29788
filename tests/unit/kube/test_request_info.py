"""What a request is about, read from its path."""

from __future__ import annotations

import pytest

from kube.calls.request_info import attempt_of, is_event, is_heartbeat
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"


@pytest.mark.parametrize(
    ("verb", "path", "name", "attempt"),
    [
        (Verb.GET, "/api/v1/pods", "", "list pods"),
        (Verb.GET, "/api/v1/namespaces/default/pods", "", "list pods in default"),
        (Verb.GET, "/api/v1/namespaces/default/pods/web", "", "get pod default/web"),
        (Verb.GET, "/api/v1/namespaces", "", "list namespaces"),
        (Verb.GET, "/api/v1/namespaces/default", "", "get namespace default"),
        (
            Verb.UPDATE,
            "/api/v1/namespaces/default/status",
            "",
            "update status of namespace default",
        ),
        (Verb.CREATE, "/api/v1/namespaces/default/pods", "web", "create pod default/web"),
        (Verb.CREATE, "/api/v1/namespaces/default/events", "", "create event default"),
        (Verb.CREATE, "/api/v1/nodes", "n1", "create node n1"),
        (Verb.PATCH, "/api/v1/nodes/n1/status", "", "patch status of node n1"),
        (Verb.DELETE, "/api/v1/namespaces/default/pods/web", "", "delete pod default/web"),
        (Verb.UPDATE, LEASE, "", "update lease kube-node-lease/n1"),
        (Verb.GET, "/apis/networking.k8s.io/v1/ingressclasses/a", "", "get ingressclass a"),
        (
            Verb.GET,
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/a",
            "",
            "get networkpolicy default/a",
        ),
        (Verb.GET, "/version", "", "list version"),
        (Verb.GET, "/", "", "list "),
    ],
)
def test_what_a_request_attempts(verb: Verb, path: str, name: str, attempt: str) -> None:
    body = {"metadata": {"name": name}} if name else {}
    assert attempt_of(ApiRequest(verb=verb, path=path, body=body)) == attempt


@pytest.mark.parametrize(
    "body", [None, {}, {"metadata": []}, {"metadata": {"name": 3}}, {"metadata": {}}]
)
def test_a_body_without_a_name_is_no_trouble(body: JsonObject | None) -> None:
    request = ApiRequest(verb=Verb.CREATE, path="/api/v1/nodes", body=body)
    assert attempt_of(request) == "create node"


@pytest.mark.parametrize(
    ("path", "is_it"),
    [
        (LEASE, True),
        ("/api/v1/nodes", True),
        ("/api/v1/nodes/n1/status", True),
        ("/api/v1/namespaces/default/pods", False),
        ("/apis/storage.example/v1/nodes/n1", False),
        ("/version", False),
    ],
)
def test_the_node_and_its_lease_are_what_the_cluster_waits_for(path: str, is_it: bool) -> None:  # noqa: FBT001  # parametrized
    assert is_heartbeat(ApiRequest(verb=Verb.GET, path=path)) is is_it


@pytest.mark.parametrize(
    ("path", "is_it"),
    [
        ("/api/v1/namespaces/default/events", True),
        ("/api/v1/namespaces/default/events/web.17", True),
        ("/apis/events.k8s.io/v1/namespaces/default/events", True),
        ("/api/v1/namespaces/events/pods", False),
        ("/api/v1/namespaces/default/pods/events", False),
    ],
)
def test_an_event_is_told_by_its_path(path: str, is_it: bool) -> None:  # noqa: FBT001  # parametrized
    assert is_event(ApiRequest(verb=Verb.CREATE, path=path)) is is_it
