"""What a container is told of its pod and of its resources."""

from __future__ import annotations

from typing import Any, Final

import pytest

from messages.pods import JsonObject
from runtimes.environment.assembling import environment_of
from runtimes.environment.objects import Environment, EnvironmentSituation
from tests.support.builders import make_pod

MAIN: Final[JsonObject] = {
    "name": "main",
    "resources": {
        "requests": {"cpu": "125m", "memory": "64Mi", "hugepages-2Mi": "4Mi"},
        "limits": {"cpu": "1500m", "memory": "0", "hugepages-2Mi": "4Mi"},
    },
}
SIDE: Final[JsonObject] = {
    "name": "side",
    "resources": {"limits": {"cpu": "3", "ephemeral-storage": "1Gi"}},
}
BARE: Final[JsonObject] = {"name": "bare"}
ALLOCATABLE: Final = {"cpu": "3900m", "memory": "8Gi", "ephemeral-storage": "10k"}


def made(
    reference: str,
    fields: dict[str, str],
    *,
    spec: dict[str, Any] | None = None,
    container: JsonObject = MAIN,
    **situation: Any,
) -> Environment:
    pod = make_pod(
        "web",
        labels={"app": "shop", "a/b": "c"},
        annotations={"note": "two\nlines"},
        spec={
            "nodeName": "n1",
            "serviceAccountName": "robot",
            "containers": [MAIN, BARE],
            "initContainers": [SIDE],
            **(spec or {}),
        },
    )
    env = [{"name": "V", "valueFrom": {reference: fields}}]
    known = {
        "pod_ips": ("10.1.0.5", "fd00::5"),
        "host_ips": ("192.0.2.7", "2001:db8::7"),
        "allocatable": ALLOCATABLE,
    }
    return environment_of(
        EnvironmentSituation(pod=pod, container={**container, "env": env}, **(known | situation))
    )


def field(path: str, **more: Any) -> str:
    environment = made("fieldRef", {"fieldPath": path}, **more)
    assert environment.failure == ""
    return environment.variables["V"]


def resource(name: str, divisor: str = "0", of: str = "", **more: Any) -> str:
    fields = {"resource": name, "divisor": divisor, "containerName": of}
    environment = made("resourceFieldRef", fields, **more)
    assert environment.failure == ""
    return environment.variables["V"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "default"),
        ("metadata.uid", "uid-default-web"),
        ("metadata.labels['app']", "shop"),
        ("metadata.labels['a/b']", "c"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['note']", "two\nlines"),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "n1"),
        ("spec.host", "n1"),
        ("spec.serviceAccountName", "robot"),
        ("status.hostIP", "192.0.2.7"),
        ("status.hostIPs", "192.0.2.7,2001:db8::7"),
        ("status.podIP", "10.1.0.5"),
        ("status.podIPs", "10.1.0.5,fd00::5"),
    ],
)
def test_values_come_from_fields_of_the_pod(path: str, value: str) -> None:
    assert field(path) == value


def test_a_pod_in_the_nodes_network_has_the_nodes_addresses() -> None:
    for of_sandbox in ((), None):
        known: dict[str, Any] = {"spec": {"hostNetwork": True}, "pod_ips": of_sandbox}
        assert field("status.podIP", **known) == "192.0.2.7"
        assert field("status.podIPs", **known) == "192.0.2.7,2001:db8::7"


def test_a_pod_without_an_address_is_told_none() -> None:
    assert field("status.podIP", pod_ips=()) == ""
    assert field("status.podIPs", pod_ips=()) == ""


@pytest.mark.parametrize(
    ("fields", "known", "sentence"),
    [
        ({"fieldPath": "spec.priority"}, {}, "field label not supported: spec.priority"),
        ({"fieldPath": "status.phase"}, {}, "field label not supported: status.phase"),
        ({"fieldPath": "metadata.labels"}, {}, "field label not supported: metadata.labels"),
        ({}, {}, "field label not supported: "),
        ({"fieldPath": "metadata.name", "apiVersion": "v2"}, {}, "unsupported pod version: v2"),
        ({"fieldPath": "status.podIP"}, {"pod_ips": None}, "field status.podIP is not known here"),
        (
            {"fieldPath": "status.hostIPs"},
            {"host_ips": None},
            "field status.hostIPs is not known here",
        ),
    ],
)
def test_a_field_that_cannot_be_told_keeps_the_container_from_starting(
    fields: dict[str, str], known: dict[str, Any], sentence: str
) -> None:
    # A reference without any field counts as absent.
    fields = fields or {"apiVersion": "v1"}
    assert made("fieldRef", fields, **known).failure == sentence


@pytest.mark.parametrize(
    ("name", "divisor", "value"),
    [
        ("requests.cpu", "0", "1"),
        ("requests.cpu", "1", "1"),
        ("requests.cpu", "1m", "125"),
        ("requests.memory", "0", str(64 * 2**20)),
        ("requests.memory", "1Mi", "64"),
        ("requests.memory", "1M", "68"),
        ("requests.memory", "1Gi", "1"),
        ("requests.hugepages-2Mi", "1Mi", "4"),
        ("requests.hugepages-1Gi", "0", "0"),
        ("requests.ephemeral-storage", "0", "0"),
        ("limits.cpu", "0", "2"),
        ("limits.cpu", "1m", "1500"),
        ("limits.memory", "1Gi", "8"),
        ("limits.ephemeral-storage", "0", "10000"),
        ("limits.hugepages-2Mi", "1", str(4 * 2**20)),
        ("limits.hugepages-1Gi", "0", "0"),
    ],
)
def test_amounts_are_divided_and_rounded_up_and_limits_end_at_the_node(
    name: str, divisor: str, value: str
) -> None:
    assert resource(name, divisor) == value


def test_amounts_of_another_container_can_be_told() -> None:
    assert resource("limits.cpu", of="side") == "3"
    assert resource("limits.ephemeral-storage", "1Mi", of="side") == "1024"
    assert resource("limits.cpu", of="bare") == "4"
    assert resource("requests.cpu", of="bare") == "0"
    failed = made("resourceFieldRef", {"resource": "limits.cpu", "containerName": "none"})
    assert failed.failure == "container none not found"


def test_a_limit_of_the_pod_as_a_whole_comes_before_what_the_node_has() -> None:
    spec = {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
    assert resource("limits.cpu", spec=spec, container=BARE) == "2"
    assert resource("limits.memory", "1Mi", spec=spec, container=BARE) == "1024"
    assert resource("limits.cpu", "1m", spec=spec) == "1500"


def test_a_limit_that_nobody_knows_keeps_the_container_from_starting() -> None:
    failed = made("resourceFieldRef", {"resource": "limits.cpu"}, container=BARE, allocatable=None)
    assert failed.failure == "what the node has of cpu is not known here"
    assert resource("limits.memory", allocatable={}) == "0"


@pytest.mark.parametrize("name", ["limits.gpu", "cpu", "requests.", ""])
def test_a_resource_that_cannot_be_told_keeps_the_container_from_starting(name: str) -> None:
    failed = made("resourceFieldRef", {"resource": name, "divisor": "1"})
    assert failed.failure == f"unsupported container resource : {name}"
