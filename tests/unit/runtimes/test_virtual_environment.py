"""Variables and command lines of containers, by Kubernetes' rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from messages.pods import Pod
from runtimes.virtual.environment import command_line, environment_of, expanded
from tests.support.builders import make_pod

POD = make_pod("web", labels={"app": "shop"}, spec={"nodeName": "n1"})
OBJECTS: dict[tuple[str, str], dict[str, bytes]] = {
    ("Secret", "db"): {"user": b"ann", "password": b"hunter2"},
    ("ConfigMap", "settings"): {"LEVEL": b"debug"},
}


def resolve(pod: Pod, kind: str, name: str) -> Mapping[str, bytes]:
    if (kind, name) not in OBJECTS:
        raise LookupError(f"{kind} {pod.namespace}/{name} is not there")
    return OBJECTS[kind, name]


def variables(*env: dict[str, Any], env_from: Sequence[Any] = ()) -> dict[str, str]:
    return environment_of(POD, {"name": "main", "env": env, "envFrom": env_from}, resolve)


def key_of(reference: str, name: str, key: str, **more: object) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {reference: {"name": name, "key": key, **more}}}


def test_values_may_use_earlier_ones() -> None:
    assert variables(
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)2$(C)$$(A)"},
        {"name": "C"},
    ) == {"A": "1", "B": "12$(C)$(A)", "C": ""}


def test_values_come_from_secrets_and_config_maps() -> None:
    assert variables(key_of("secretKeyRef", "db", "password")) == {"V": "hunter2"}
    assert variables(key_of("configMapKeyRef", "settings", "LEVEL")) == {"V": "debug"}


def test_whole_objects_come_first_with_their_prefix() -> None:
    sources = [
        {"secretRef": {"name": "db"}, "prefix": "DB_"},
        {"configMapRef": {"name": "settings"}},
        {"configMapRef": {"name": "none", "optional": True}},
    ]
    found = variables({"name": "LEVEL", "value": "$(DB_user)"}, env_from=sources)
    assert found == {"DB_user": "ann", "DB_password": "hunter2", "LEVEL": "ann"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "default"),
        ("metadata.uid", "uid-default-web"),
        ("metadata.labels['app']", "shop"),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "n1"),
        ("spec.serviceAccountName", ""),
    ],
)
def test_values_come_from_fields_of_the_pod(path: str, value: str) -> None:
    assert variables({"name": "V", "valueFrom": {"fieldRef": {"fieldPath": path}}}) == {"V": value}


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        (key_of("secretKeyRef", "none", "a"), "Secret default/none is not there"),
        (key_of("secretKeyRef", "db", "none"), "Secret default/db has no key none"),
        (
            {"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            "field status.podIP is not known here",
        ),
        (
            {"name": "V", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            "variable V comes from a place that is not known here",
        ),
    ],
)
def test_what_is_missing_is_said_without_any_value(variable: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LookupError, match=sentence):
        variables(variable)


@pytest.mark.parametrize("name", ["none", "db"])
def test_what_is_optional_may_be_missing(name: str) -> None:
    assert variables(key_of("secretKeyRef", name, "none", optional=True)) == {}


def test_command_and_arguments_are_expanded() -> None:
    container = {"command": ["echo", "$(A)"], "args": ["$(B)"]}
    assert command_line(container, {"A": "1"}) == ["echo", "1", "$(B)"]


def test_without_a_command_only_the_image_would_know_it() -> None:
    assert command_line({"args": ["-v"]}, {}) == []


def test_a_dollar_sign_alone_stays() -> None:
    assert expanded("5$ $( $() $(A", {}) == "5$ $( $() $(A"
