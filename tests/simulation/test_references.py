"""The oracle knows each form in which a pod names a Secret or a ConfigMap, or says that it does not."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.environment.oracle.references import UnknownFormError, references
from tests.simulation.workload import PLAIN, pod_of, rests
from tests.support.builders import make_pod

VALUE = {"name": "keys", "key": "value"}
FORMS: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "a variable of a Secret": (
        {
            "containers": [
                {"name": "c", "env": [{"name": "A", "valueFrom": {"secretKeyRef": VALUE}}]}
            ]
        },
        ("Secret", "keys"),
    ),
    "a variable of a ConfigMap, of an init container": (
        {
            "initContainers": [
                {"name": "i", "env": [{"name": "A", "valueFrom": {"configMapKeyRef": VALUE}}]}
            ],
            "containers": [{"name": "c"}],
        },
        ("ConfigMap", "keys"),
    ),
    "all variables of a Secret": (
        {"containers": [{"name": "c", "envFrom": [{"prefix": "A", "secretRef": {"name": "all"}}]}]},
        ("Secret", "all"),
    ),
    "a volume": (
        {"containers": [], "volumes": [{"name": "v", "secret": {"secretName": "files"}}]},
        ("Secret", "files"),
    ),
    "a projected volume": (
        {
            "containers": [],
            "volumes": [
                {
                    "name": "v",
                    "projected": {
                        "sources": [
                            {"downwardAPI": {"items": []}},
                            {"configMap": {"name": "terms", "items": [{"key": "a", "path": "b"}]}},
                        ]
                    },
                }
            ],
        },
        ("ConfigMap", "terms"),
    ),
    "a pull secret": (
        {"containers": [], "imagePullSecrets": [{"name": "login"}]},
        ("Secret", "login"),
    ),
}
UNKNOWN: dict[str, dict[str, Any]] = {
    "a variable": {
        "containers": [{"name": "c", "env": [{"name": "A", "valueFrom": {"fileKeyRef": VALUE}}]}]
    },
    "variables": {"containers": [{"name": "c", "envFrom": [{"vaultRef": {"name": "all"}}]}]},
    "a volume": {"containers": [], "volumes": [{"name": "v", "csi": {"driver": "d"}}]},
    "a source": {
        "containers": [],
        "volumes": [{"name": "v", "projected": {"sources": [{"podCertificate": {}}]}}],
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_an_object_is_known_in_each_form_in_which_a_pod_names_it(form: str) -> None:
    spec, key = FORMS[form]
    assert [each.key for each in references(make_pod("a", spec=spec))] == [key]


@pytest.mark.parametrize("form", UNKNOWN)
def test_a_form_that_is_not_known_is_an_error_and_not_left_out(form: str) -> None:
    with pytest.raises(UnknownFormError):
        list(references(make_pod("a", spec=UNKNOWN[form])))


def test_of_each_kind_of_pod_it_is_known_what_it_names_and_whether_it_rests() -> None:
    for kind in PLAIN.kinds:
        pod = pod_of("a", "a-1", kind, random.Random(1))
        assert bool(list(references(pod))) is ("reads" in PLAIN.kinds[kind])
        assert rests(pod) in {True, False}


def test_whether_a_pod_rests_whose_container_nobody_knows_is_an_error() -> None:
    with pytest.raises(KeyError):
        rests(make_pod("a", spec={"containers": [{"name": "new"}], "restartPolicy": "Always"}))
