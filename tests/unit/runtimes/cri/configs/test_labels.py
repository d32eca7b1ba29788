"""What a container's annotations say about its end, once its pod is gone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from messages.pod_runtime import StopTerms
from messages.units import Seconds
from runtimes.cri.configs.labels import container_annotations, stop_terms
from tests.support.builders import make_pod

HOOK = "io.kubernetes.container.preStopHandler"
GRACE = "io.kubernetes.pod.terminationGracePeriod"


def written(handler: Any = None, grace: str = "30", **more: str) -> StopTerms | None:
    hook = {} if handler is None else {HOOK: json.dumps(handler)}
    return stop_terms({GRACE: grace, **hook, **more})


def test_what_is_written_at_a_container_is_read_back() -> None:
    get = {"port": "web", "path": "/bye", "httpHeaders": [{"name": "A", "value": "b"}]}
    container = {
        "name": "main",
        "ports": [{"name": "web", "containerPort": 80}],
        "lifecycle": {"preStop": {"httpGet": get}},
    }
    pod = make_pod(spec={"terminationGracePeriodSeconds": 9, "containers": [container]})
    found = stop_terms(container_annotations(pod, container, 0, "h"))
    assert found == StopTerms(
        grace=Seconds(9.0), pre_stop={"httpGet": get}, ports=({"name": "web", "containerPort": 80},)
    )


def test_a_sidecar_says_its_place() -> None:
    inits = [{"name": "init"}, {"name": "side", "restartPolicy": "Always"}]
    pod = make_pod(spec={"initContainers": inits, "containers": [{"name": "main"}]})
    found = [stop_terms(container_annotations(pod, each, 0, "h")) for each in inits]
    assert found == [None, StopTerms(sidecar=1)]


def test_the_grace_of_a_deletion_counts_before_the_pods_own() -> None:
    more = {"io.kubernetes.pod.deletionGracePeriod": "3"}
    assert written(**more) == StopTerms(grace=Seconds(3.0))
    assert written() == StopTerms(grace=Seconds(30.0))


@pytest.mark.parametrize("grace", ["", "-1", "soon", "1e9", "9" * 400, "\u0663"])
def test_a_grace_that_is_no_number_is_none(grace: str) -> None:
    assert written(grace=grace) is None


@pytest.mark.parametrize(
    "handler",
    [[], "x", 1, {}, {"exec": []}, {"exec": None}, {"reboot": {"now": True}}],
)
def test_a_hook_that_no_specification_could_have_is_none(handler: Any) -> None:
    assert written(handler) == StopTerms(grace=Seconds(30.0))


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        ({"exec": {"command": "rm"}}, {"exec": {}}),
        ({"sleep": {"seconds": "1"}}, {"sleep": {}}),
        ({"sleep": {"seconds": True}}, {"sleep": {}}),
        ({"tcpSocket": {"port": [1]}}, {"tcpSocket": {}}),
        (
            {"httpGet": {"httpHeaders": [1, {"name": "A"}]}},
            {"httpGet": {"httpHeaders": [{"name": "A"}]}},
        ),
    ],
)
def test_of_a_hook_only_what_can_be_carried_out_is_read(handler: Any, expected: Any) -> None:
    assert written(handler) == StopTerms(grace=Seconds(30.0), pre_stop=expected)


def test_what_is_no_json_is_nothing_and_headers_are_not_shown() -> None:
    assert stop_terms({HOOK: "{" * 9}) is None
    assert stop_terms({HOOK: "[" * 200_000}) is None
    secret = {"httpGet": {"httpHeaders": [{"name": "A", "value": "s3cr3t"}]}}
    assert "s3cr3t" not in repr(written(secret))
