"""What a provider's class is told of a container's environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from messages.objects import ObjectId, ObjectKind, Origin
from messages.pod_runtime import NO_MARK, RunPod
from messages.pods import Pod
from runtimes.provider.memory import ProviderMemory, RuntimeContext
from runtimes.provider.pod_provider import environment_with
from runtimes.provider.pods import ProviderPod
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe

POD = make_pod("web", labels={"app": "shop"}, spec={"nodeName": "n1"})
OBJECTS: dict[tuple[str, str], dict[str, bytes]] = {
    ("Secret", "db"): {"user": b"ann", "password": b"hunter2", "raw": b"\xff"},
    ("ConfigMap", "settings"): {"LEVEL": b"debug", "logo": b"\xff"},
}


def resolve(pod: Pod, kind: str, name: str) -> Mapping[str, bytes]:
    if (kind, name) not in OBJECTS:
        raise LookupError(f"{kind} {pod.namespace}/{name} is not there")
    return OBJECTS[kind, name]


def variables(*env: dict[str, Any], env_from: Sequence[Any] = ()) -> dict[str, str]:
    container = {"name": "main", "env": env, "envFrom": env_from}
    return dict(environment_with(POD, container, resolve).variables)


def key_of(reference: str, name: str, key: str, **more: object) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {reference: {"name": name, "key": key, **more}}}


def test_values_come_from_secrets_and_config_maps() -> None:
    assert variables(key_of("secretKeyRef", "db", "password")) == {"V": "hunter2"}
    assert variables(key_of("configMapKeyRef", "settings", "LEVEL")) == {"V": "debug"}


def test_whole_objects_come_first_with_their_prefix_and_what_is_no_text_of_a_config_map_is_none() -> (
    None
):
    sources = [
        {"secretRef": {"name": "db"}, "prefix": "DB_"},
        {"configMapRef": {"name": "settings"}},
        {"configMapRef": {"name": "none", "optional": True}},
    ]
    found = variables({"name": "LEVEL", "value": "$(DB_user)"}, env_from=sources)
    assert found == {
        "DB_user": "ann",
        "DB_password": "hunter2",
        "DB_raw": "\udcff",
        "LEVEL": "ann",
    }


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        (key_of("secretKeyRef", "none", "a"), 'secret "none" not found'),
        (key_of("secretKeyRef", "db", "none"), "couldn't find key none in Secret default/db"),
        (
            {"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            "field status.podIP is not known here",
        ),
        (
            {"name": "V", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            "what the node has of cpu is not known here",
        ),
    ],
)
def test_what_is_missing_is_said_without_any_value(variable: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LookupError, match=sentence):
        variables(variable)


@pytest.mark.parametrize("name", ["none", "db"])
def test_what_is_optional_may_be_missing(name: str) -> None:
    assert variables(key_of("secretKeyRef", name, "none", optional=True)) == {}


def test_an_optional_object_that_cannot_be_read_is_not_taken_for_missing() -> None:
    db = ObjectId(kind=ObjectKind.SECRET, namespace="default", name="db", origin=Origin.LOCAL)
    command = RunPod(
        pod=POD, mark=NO_MARK, reply_to=Probe(), unread={db: "may not be read by this node"}
    )
    memory = ProviderMemory(pods={POD.uid: ProviderPod(uid=POD.uid, command=command, pod=POD)})
    context = RuntimeContext(memory, Probe)
    container = {"env": [key_of("secretKeyRef", "db", "user", optional=True)]}
    with pytest.raises(LookupError, match='secret "db" may not be read by this node'):
        environment_with(POD, container, context.resolve)
    elsewhere = {"env": [key_of("secretKeyRef", "other", "user", optional=True)]}
    assert environment_with(POD, elsewhere, context.resolve).variables == {}
