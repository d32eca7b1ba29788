"""What somebody means by a name."""

from __future__ import annotations

from typing import Any

import pytest

from command.failures import NothingFoundError
from command.pod_words import pod_name
from command.selecting import in_namespace, manifests_named, selected_pod
from tests.support.command.agents import body

PODS: Any = body("pods")["items"]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("default/web-edge-1", "default/web-edge-1"),
        ("web-edge-1", "default/web-edge-1"),
        ("pod/web-edge-1", "default/web-edge-1"),
        ("web", "default/web-edge-1"),
        ("default/web", "default/web-edge-1"),
        ("kube-sch", "kube-system/kube-scheduler-edge-1"),
        ("f609f2cd8c6d83050009a64c03d25a04", "default/web-edge-1"),
        ("etc", "kube-system/etcd-edge-1"),
    ],
)
def test_a_pod_is_found_by_what_people_call_it(said: str, name: str) -> None:
    found = selected_pod(PODS, said)
    assert found is not None
    assert pod_name(found) == name


@pytest.mark.parametrize("said", ["", "nobody", "/", "pod/", "web-edge-1/"])
def test_a_name_that_nobody_has_finds_nothing(said: str) -> None:
    assert selected_pod(PODS, said) is None


def test_a_beginning_that_several_have_names_them() -> None:
    with pytest.raises(NothingFoundError) as raised:
        selected_pod(PODS, "kube-")
    assert str(raised.value) == (
        "kube- may be any of 4 pods: kube-system/etcd-edge-1, kube-system/kube-apiserver-edge-1, "
        "kube-system/kube-controller-manager-edge-1, kube-system/kube-scheduler-edge-1"
    )


def test_many_are_not_all_named() -> None:
    many = [{"metadata": {"namespace": "n", "name": f"p{number}"}} for number in range(20)]
    with pytest.raises(NothingFoundError, match=r"any of 20 pods: .* and 15 more$"):
        selected_pod(many, "p")


def test_a_namespace_leaves_the_others_out() -> None:
    assert {pod_name(each) for each in in_namespace(PODS, "kube-system")} == {
        "kube-system/etcd-edge-1",
        "kube-system/kube-apiserver-edge-1",
        "kube-system/kube-controller-manager-edge-1",
        "kube-system/kube-scheduler-edge-1",
    }


@pytest.mark.parametrize(
    "said",
    ["broken", "broken.yaml", "/etc/kubernetes/manifests/broken.yaml", "broken-edge-1", "brok"],
)
def test_a_manifest_that_is_not_served_is_found_by_its_file_and_its_pod(said: str) -> None:
    (found,) = manifests_named(body("sourcez"), said)
    assert found["verdict"] == "rejected"


@pytest.mark.parametrize("said", ["", "pod/"])
def test_an_empty_name_means_no_manifest(said: str) -> None:
    assert manifests_named(body("sourcez"), said) == []
