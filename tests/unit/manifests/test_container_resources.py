"""The resources of containers, taken from one version of a pod and set in another."""

from __future__ import annotations

from typing import Any

from manifests.requests import resources_of, with_resources
from messages.pods import Pod
from tests.support.builders import make_pod

ONE: dict[str, Any] = {"requests": {"cpu": "1"}}
TWO: dict[str, Any] = {"requests": {"cpu": "2"}}


def pod_of(main: dict[str, Any] | None, image: str = "a") -> Pod:
    container = {"name": "main", "image": image, **({"resources": main} if main else {})}
    sidecar = {"name": "proxy", "restartPolicy": "Always", "resources": ONE}
    return make_pod("web", spec={"containers": [container], "initContainers": [sidecar]})


def test_every_container_has_a_place_even_one_that_says_nothing() -> None:
    assert resources_of(pod_of(None)) == {"proxy": ONE, "main": {}}


def test_a_newer_version_with_the_resources_of_an_older_one_keeps_all_else() -> None:
    old, new = pod_of(ONE, image="a"), pod_of(TWO, image="b")
    held = with_resources(new, resources_of(old))
    (container,) = held.document["spec"]["containers"]
    assert (container["image"], container["resources"]) == ("b", ONE)
    assert (held.uid, new.document["spec"]["containers"][0]["resources"]) == (new.uid, TWO)


def test_a_container_that_is_not_named_keeps_its_own() -> None:
    held = with_resources(pod_of(TWO), {"other": ONE})
    assert resources_of(held) == {"proxy": ONE, "main": TWO}
