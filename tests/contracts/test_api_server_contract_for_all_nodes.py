"""What the agent relies on of what every node sees: Services and RuntimeClasses."""

from __future__ import annotations

from ipaddress import ip_address
from itertools import islice
from typing import Any

import pytest

from messages.api import ApiRequest
from messages.pods import JsonObject
from tests.support.apiserver.subjects import (
    Subject,
    WatchedSubject,
    create,
    delete,
    get,
    merge,
    refusal,
)

SERVICES = "/api/v1/namespaces/default/services"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
DB = f"{SERVICES}/db"
GVISOR = f"{CLASSES}/gvisor"
INVALID = (422, "Invalid")
FORBIDDEN = (403, "Forbidden")


def service(name: str = "db", **spec: Any) -> JsonObject:
    metadata = {"name": name, "namespace": "default"}
    spec = {"ports": [{"port": 5432}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def runtime_class(**fields: object) -> JsonObject:
    metadata = {"name": "gvisor"}
    kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    return {**kind, "metadata": metadata, "handler": "runsc", **fields}


BOTH = pytest.mark.parametrize(
    ("path", "document"),
    [
        pytest.param(SERVICES, service(), id="Services"),
        pytest.param(CLASSES, runtime_class(), id="RuntimeClasses"),
    ],
)


# --- Services ----------------------------------------------------------------------------------------


def test_a_service_is_given_an_address_and_keeps_it(api_server: Subject) -> None:
    made = api_server.admin.handle(create(SERVICES, service()))
    assert ip_address(made["spec"]["clusterIP"]).version == 4
    assert made["spec"]["type"] == "ClusterIP"
    changed = api_server.admin.handle(merge(DB, metadata={"labels": {"a": "1"}}))
    assert changed["spec"] == made["spec"]
    other = str(ip_address(made["spec"]["clusterIP"]) + 1)
    assert refusal(api_server.admin, merge(DB, spec={"clusterIP": other})) == INVALID


def test_no_two_services_have_one_address(api_server: Subject) -> None:
    made = [api_server.admin.handle(create(SERVICES, service(name))) for name in ("db", "web")]
    assert len({each["spec"]["clusterIP"] for each in made}) == 2


@pytest.mark.parametrize(
    ("spec", "address"),
    [
        pytest.param({"clusterIP": "None"}, "None", id="headless"),
        pytest.param({"clusterIP": "None", "ports": []}, "None", id="headless without ports"),
        pytest.param(
            {"type": "ExternalName", "externalName": "db.example.org", "ports": []}, "", id="a name"
        ),
    ],
)
def test_a_service_may_have_no_address(api_server: Subject, spec: JsonObject, address: str) -> None:
    made = api_server.admin.handle(create(SERVICES, service(**spec)))
    assert made["spec"].get("clusterIP", "") == address


def test_a_port_of_a_service_is_one_of_tcp_unless_it_says_otherwise(api_server: Subject) -> None:
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2, "protocol": "UDP"}]
    made = api_server.admin.handle(create(SERVICES, service(ports=ports)))
    found = [(each["name"], each["port"], each["protocol"]) for each in made["spec"]["ports"]]
    assert found == [("a", 1, "TCP"), ("b", 2, "UDP")]
    changed = api_server.admin.handle(merge(DB, spec={"ports": [{"port": 3}]}))
    assert [(each["port"], each["protocol"]) for each in changed["spec"]["ports"]] == [(3, "TCP")]


def test_a_service_with_an_address_has_ports(api_server: Subject) -> None:
    assert refusal(api_server.admin, create(SERVICES, service(ports=[]))) == INVALID


# --- RuntimeClasses -----------------------------------------------------------------------------------


def test_a_runtime_class_is_kept_as_it_is(api_server: Subject) -> None:
    fields = {
        "overhead": {"podFixed": {"memory": "64Mi"}},
        "scheduling": {"nodeSelector": {"sandboxed": "yes"}},
    }
    api_server.admin.handle(create(CLASSES, runtime_class(**fields)))
    found = api_server.node.handle(get(GVISOR))
    assert {name: found[name] for name in ("handler", *fields)} == {"handler": "runsc", **fields}


def test_a_runtime_class_has_a_handler_and_keeps_it(api_server: Subject) -> None:
    assert refusal(api_server.admin, create(CLASSES, runtime_class(handler=""))) == INVALID
    api_server.admin.handle(create(CLASSES, runtime_class()))
    assert refusal(api_server.admin, merge(GVISOR, handler="other")) == INVALID
    assert api_server.admin.handle(merge(GVISOR, metadata={"labels": {"a": "1"}}))


# --- both ---------------------------------------------------------------------------------------------


@BOTH
def test_a_node_reads_them_and_writes_none(
    api_server: Subject, path: str, document: JsonObject
) -> None:
    assert refusal(api_server.node, create(path, document)) == FORBIDDEN
    made = api_server.admin.handle(create(path, document))
    its_path = f"{path}/{document['metadata']['name']}"
    assert api_server.node.handle(get(its_path)) == made
    assert document["metadata"]["name"] in [
        item["metadata"]["name"] for item in api_server.node.handle(get(path))["items"]
    ]
    change = merge(its_path, metadata={"labels": {"a": "1"}})
    for request in (change, delete(its_path)):
        assert refusal(api_server.node, request) == FORBIDDEN


@BOTH
def test_a_node_watches_how_they_come_change_and_go(
    watched: WatchedSubject, path: str, document: JsonObject
) -> None:
    since = watched.admin.handle(get(path))["metadata"]["resourceVersion"]
    name = document["metadata"]["name"]
    changes: list[ApiRequest] = [
        create(path, document),
        merge(f"{path}/{name}", metadata={"labels": {"a": "1"}}),
        delete(f"{path}/{name}"),
    ]
    with watched.node.watch(path, since=since) as events:
        for request in changes:
            watched.admin.handle(request)
        told = (event for event in events if event["type"] != "BOOKMARK")
        said = list(islice(told, len(changes)))
    assert [each["type"] for each in said] == ["ADDED", "MODIFIED", "DELETED"]
    assert {each["object"]["metadata"]["name"] for each in said} == {name}
