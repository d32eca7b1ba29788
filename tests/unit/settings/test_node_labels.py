"""Labels and taints that a node is told to have: what it may give itself."""

from __future__ import annotations

import pytest

from manifests.names import check_taints
from messages.pods import JsonObject
from settings.checks import check_labels, refused_labels


@pytest.mark.parametrize(
    "key",
    [
        "zone",
        "example.org/zone",
        "kubernetes.io",
        "notkubernetes.io/zone",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/anything",
        "kubelet.kubernetes.io/anything",
        "rack.node.kubernetes.io/anything",
    ],
)
def test_a_node_may_give_itself(key: str) -> None:
    assert refused_labels([key]) == ()


@pytest.mark.parametrize(
    "key",
    [
        "kubernetes.io/role",
        "node-role.kubernetes.io/worker",
        "node-restriction.kubernetes.io/secure",
        "k8s.io/zone",
        "team.k8s.io/zone",
        "topology.kubernetes.io/rack",
        "xnode.kubernetes.io/zone",
    ],
)
def test_a_node_may_not_give_itself(key: str) -> None:
    assert refused_labels([key, "fine"]) == (key,)


def test_refused_labels_are_one_sentence() -> None:
    check_labels({"zone": "a"})
    with pytest.raises(ValueError, match=r"^has k8s\.io/a, k8s\.io/b: of the labels of") as caught:
        check_labels({"k8s.io/b": "secret", "k8s.io/a": "secret", "zone": "a"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("labels", [{"-a": "b"}, {"a": "b c"}, {"": "b"}, {"a": "b" * 64}])
def test_a_label_that_cannot_be_is_named(labels: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"^has the label '-?a?', whose name or value "):
        check_labels(labels)


def taint(key: str = "a", effect: str = "NoSchedule", **more: str) -> JsonObject:
    return {"key": key, "effect": effect, **more}


def test_one_key_may_have_several_effects() -> None:
    check_taints([taint(), taint(effect="NoExecute"), taint("example.org/gpu", value="yes")])


@pytest.mark.parametrize(
    ("taints", "wrong"),
    [
        ([taint(effect="noschedule")], "effect 'noschedule', which should be NoSchedule, "),
        ([taint("")], "has the taint '', whose key or value must consist of"),
        ([taint(value="b c")], "has the taint 'a', whose key or value must consist of"),
        ([taint("-a")], "has the taint '-a', whose key or value must consist of"),
        (
            [taint(value="1"), taint(value="2")],
            "has the taint 'a' twice with the effect NoSchedule",
        ),
    ],
)
def test_a_taint_that_cannot_be_is_named(taints: list[JsonObject], wrong: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the sentence is compared below
        check_taints(taints)
    assert wrong in str(caught.value)


def test_a_long_taint_is_cut_in_the_sentence() -> None:
    with pytest.raises(ValueError, match="has the taint") as caught:
        check_taints([taint("x" * 1000)])
    assert len(str(caught.value)) < 250
