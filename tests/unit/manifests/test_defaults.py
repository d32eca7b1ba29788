"""What the API fills in: rule S3."""

from __future__ import annotations

import json
from typing import Any

import pytest

from manifests.defaults import default_volume
from manifests.image_names import default_pull_policy
from tests.support.manifests.manifest_text import GOOD, decoded, document_of, edited

C = "spec.containers.0"


def spec_of(path: str, value: Any) -> dict[str, Any]:
    spec: dict[str, Any] = document_of(edited(path, value))["spec"]
    return spec


def container_of(field: str, value: Any) -> dict[str, Any]:
    container: dict[str, Any] = spec_of(f"{C}.{field}", value)["containers"][0]
    return container


def volume_of(**volume: Any) -> dict[str, Any]:
    [given] = spec_of("spec.volumes", [{"name": "a", **volume}])["volumes"]
    given.pop("name")
    return dict(given)


def with_references(**volume: Any) -> dict[str, Any]:
    """Default a volume that a static pod may not have without a store of local files."""
    default_volume(volume)
    return volume


def test_a_pod_gets_every_default() -> None:
    spec = document_of(json.dumps(GOOD))["spec"]
    assert spec == {
        "containers": [
            {
                "name": "server",
                "image": "registry.example/server:1.2",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            },
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": "node1",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("restartPolicy", "Never"),
        ("dnsPolicy", "Default"),
        ("schedulerName", "mine"),
        ("terminationGracePeriodSeconds", 0),
        ("enableServiceLinks", False),
        ("securityContext", {"runAsUser": 5}),
    ],
)
def test_what_is_set_stays(field: str, value: Any) -> None:
    assert spec_of(f"spec.{field}", value)[field] == value


@pytest.mark.parametrize("field", ["restartPolicy", "dnsPolicy", "schedulerName"])
def test_empty_text_counts_as_absent(field: str) -> None:
    assert spec_of(f"spec.{field}", "")[field]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("server", "Always"),
        ("server:latest", "Always"),
        ("registry.example:5000/server", "Always"),
        ("registry.example:5000/server:latest", "Always"),
        ("server:1.2", "IfNotPresent"),
        ("registry.example:5000/a/server:1.2", "IfNotPresent"),
        ("server@sha256:" + "0" * 64, "IfNotPresent"),
        ("registry.example:5000/server@sha256:" + "0" * 64, "IfNotPresent"),
        ("server:1.2@sha256:" + "0" * 64, "IfNotPresent"),
        ("server:latest@sha256:" + "0" * 64, "Always"),
    ],
)
def test_an_image_whose_tag_moves_is_pulled_always(image: str, policy: str) -> None:
    assert default_pull_policy(image) == policy
    assert container_of("image", image)["imagePullPolicy"] == policy
    assert volume_of(image={"reference": image})["image"]["pullPolicy"] == policy


def test_a_pull_policy_that_is_set_stays() -> None:
    assert container_of("imagePullPolicy", "Never")["imagePullPolicy"] == "Never"
    volume = volume_of(image={"reference": "a", "pullPolicy": "Never"})
    assert volume["image"]["pullPolicy"] == "Never"


def test_a_port_is_tcp() -> None:
    ports = container_of("ports", [{"containerPort": 1}, {"containerPort": 2, "protocol": "UDP"}])
    assert [port["protocol"] for port in ports["ports"]] == ["TCP", "UDP"]
    assert "hostPort" not in ports["ports"][0]


def test_on_the_network_of_the_host_a_port_is_one_of_the_host() -> None:
    spec = GOOD["spec"] | {
        "hostNetwork": True,
        "containers": [{"name": "a", "image": "a", "ports": [{"containerPort": 80}]}],
        "initContainers": [
            {"name": "b", "image": "b", "ports": [{"containerPort": 81, "hostPort": 81}]},
        ],
    }
    made = document_of(json.dumps(GOOD | {"spec": spec}))["spec"]
    assert made["containers"][0]["ports"][0]["hostPort"] == 80
    assert made["initContainers"][0]["ports"][0]["hostPort"] == 81


@pytest.mark.parametrize("name", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_a_probe_gets_its_numbers(name: str) -> None:
    probe = {"httpGet": {"port": 80}, "periodSeconds": 0, "failureThreshold": 5}
    assert container_of(name, probe)[name] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 5,
    }


def test_a_grpc_probe_asks_for_the_server_as_a_whole() -> None:
    probe = container_of("livenessProbe", {"grpc": {"port": 1}})["livenessProbe"]
    assert probe["grpc"] == {"port": 1, "service": ""}


def test_a_hook_asks_for_the_root_by_http() -> None:
    hooks = {"preStop": {"httpGet": {"port": "http", "path": "/bye"}}, "postStart": {"sleep": {}}}
    assert container_of("lifecycle", hooks)["lifecycle"] == {
        "preStop": {"httpGet": {"port": "http", "path": "/bye", "scheme": "HTTP"}},
        "postStart": {"sleep": {}},
    }


def test_a_stop_signal_is_no_hook() -> None:
    document = json.loads(edited(f"{C}.lifecycle", {"stopSignal": "SIGTERM"}))
    document["spec"]["os"] = {"name": "linux"}
    assert decoded(json.dumps(document)).warnings == ()


def test_a_field_reference_is_for_v1() -> None:
    env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    source = container_of("env", env)["env"][0]["valueFrom"]
    assert source["fieldRef"]["apiVersion"] == "v1"


def test_a_file_reference_is_not_optional() -> None:
    reference = {"key": "A", "path": "a", "volumeName": "scratch"}
    env = container_of("env", [{"name": "A", "valueFrom": {"fileKeyRef": reference}}])["env"]
    assert env[0]["valueFrom"]["fileKeyRef"]["optional"] is False


def test_what_is_limited_is_requested() -> None:
    resources = {"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "100m"}}
    assert container_of("resources", resources)["resources"]["requests"] == {
        "cpu": "100m",
        "memory": "1Gi",
    }


def _pod_level(containers: list[dict[str, Any]], **first: Any) -> dict[str, Any]:
    named = [
        {"name": f"c{index}", "image": "a", "resources": {"requests": requests}}
        for index, requests in enumerate(containers)
    ]
    spec = {"containers": named, "resources": {"limits": {"cpu": 4, "memory": "1Gi"}}} | first
    resources = document_of(json.dumps(GOOD | {"spec": spec}))["spec"]["resources"]
    requests: dict[str, Any] = resources["requests"]
    return requests


def test_a_pod_requests_what_its_containers_do_and_else_its_limit() -> None:
    assert _pod_level([{"cpu": "250m"}, {"cpu": "1"}]) == {"cpu": "1250m", "memory": "1Gi"}
    assert _pod_level([{}]) == {"cpu": "4", "memory": "1Gi"}
    assert _pod_level([{"memory": "1"}], resources={"limits": {"cpu": 1}}) == {
        "cpu": "1",
        "memory": "1",
    }


def test_init_containers_count_one_by_one_and_sidecars_beside_the_rest() -> None:
    def container(name: str, cpu: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "image": "a", "resources": {"requests": {"cpu": cpu}}} | more

    first = [container("i", "3"), container("s", "1", restartPolicy="Always"), container("j", "2")]
    assert _pod_level([{"cpu": "1"}], initContainers=first)["cpu"] == "3"
    assert _pod_level([{"cpu": "2500m"}], initContainers=first)["cpu"] == "3500m"


def test_a_pod_that_requests_without_limits_is_left_as_it_is() -> None:
    resources = {"requests": {"cpu": "1"}}
    assert spec_of("spec.resources", resources)["resources"] == resources
    assert spec_of("spec.resources", {})["resources"] == {}


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        ({}, {"emptyDir": {}}),
        ({"hostPath": {"path": "/a"}}, {"hostPath": {"path": "/a", "type": ""}}),
        (
            {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {
                "downwardAPI": {
                    "defaultMode": 420,
                    "items": [
                        {
                            "path": "a",
                            "fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"},
                        },
                    ],
                },
            },
        ),
        (
            {
                "projected": {
                    "defaultMode": 256,
                    "sources": [
                        {
                            "downwardAPI": {
                                "items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.uid"}}],
                            },
                        },
                    ],
                },
            },
            {
                "projected": {
                    "defaultMode": 256,
                    "sources": [
                        {
                            "downwardAPI": {
                                "items": [
                                    {
                                        "path": "a",
                                        "fieldRef": {
                                            "fieldPath": "metadata.uid",
                                            "apiVersion": "v1",
                                        },
                                    },
                                ],
                            },
                        },
                    ],
                },
            },
        ),
        (
            {
                "iscsi": {
                    "targetPortal": "a",
                    "iqn": "iqn.1999-01.b:c",
                    "lun": 0,
                    "iscsiInterface": "",
                }
            },
            {
                "iscsi": {
                    "targetPortal": "a",
                    "iqn": "iqn.1999-01.b:c",
                    "lun": 0,
                    "iscsiInterface": "default",
                }
            },
        ),
        (
            {"rbd": {"monitors": ["a"], "image": "b"}},
            {
                "rbd": {
                    "monitors": ["a"],
                    "image": "b",
                    "pool": "rbd",
                    "user": "admin",
                    "keyring": "/etc/ceph/keyring",
                },
            },
        ),
        (
            {"azureDisk": {"diskName": "a", "diskURI": "b", "readOnly": True}},
            {
                "azureDisk": {
                    "diskName": "a",
                    "diskURI": "b",
                    "readOnly": True,
                    "cachingMode": "ReadWrite",
                    "fsType": "ext4",
                    "kind": "Shared",
                },
            },
        ),
        (
            {"scaleIO": {"gateway": "a", "system": "b", "volumeName": "c"}},
            {
                "scaleIO": {
                    "gateway": "a",
                    "system": "b",
                    "volumeName": "c",
                    "storageMode": "ThinProvisioned",
                    "fsType": "xfs",
                },
            },
        ),
    ],
)
def test_a_volume_gets_the_defaults_of_its_kind(given: Any, filled: Any) -> None:
    assert volume_of(**given) == filled


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        ({"secret": {"secretName": "a"}}, {"secret": {"secretName": "a", "defaultMode": 420}}),
        ({"configMap": {"name": "a"}}, {"configMap": {"name": "a", "defaultMode": 420}}),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "a"}}]}},
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 3600}}],
                },
            },
        ),
        (
            {"projected": {"sources": [{"podCertificate": {}}]}},
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"podCertificate": {"maxExpirationSeconds": 86400}}],
                },
            },
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}},
        ),
    ],
)
def test_a_volume_with_references_gets_defaults_too(given: Any, filled: Any) -> None:
    assert with_references(**given) == filled
