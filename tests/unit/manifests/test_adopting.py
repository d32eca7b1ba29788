"""Which static pods keep the UID that a kubelet gave them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from manifests.adopting import AdoptedUids, why_not
from manifests.container_hashes import container_hash
from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from messages.pod_runtime import ContainerObserved, ContainerState, RuntimePod
from messages.pods import CONFIG_HASH, CONTENT_DIGEST, FILE, HTTP, Pod, PodUid
from messages.units import Timestamp
from tests.support.sources.file_source_stage import pod_text

IMAGE = "registry.example/web:1"


def container(name: str = "main", image: str = IMAGE, **fields: Any) -> ContainerObserved:
    return ContainerObserved(
        **{
            "id": name,
            "name": name,
            "attempt": 0,
            "state": ContainerState.RUNNING,
            "image": image,
            "spec_hash": container_hash(name, image),
            "is_foreign": True,
            **fields,
        }
    )


def running(uid: str = "k1", *containers: ContainerObserved, **fields: Any) -> RuntimePod:
    return RuntimePod(
        **{
            "uid": PodUid(uid),
            "namespace": "default",
            "name": "web-node1",
            "source": FILE,
            "is_running": True,
            "is_foreign": True,
            "instances": containers or (container(),),
            **fields,
        }
    )


def decoded(uids: AdoptedUids, text: str = "") -> Pod:
    rules = ManifestRules(node_name="node1", source=FILE, uids=uids)
    outcome = decode_manifest((text or pod_text()).encode(), rules)
    assert isinstance(outcome, Decoded)
    return outcome.pod


def adopting(*pods: RuntimePod) -> AdoptedUids:
    uids = AdoptedUids(FILE)
    uids.learn(pods)
    return uids


OWN = decoded(AdoptedUids(FILE)).uid


def test_a_pod_that_a_kubelet_runs_keeps_its_uid_and_says_it_as_a_kubelet_does() -> None:
    pod = decoded(adopting(running()))
    assert pod.uid == "k1"
    assert pod.annotations[CONFIG_HASH] == "k1"
    assert CONTENT_DIGEST not in pod.annotations


def test_the_uid_belongs_to_one_content_of_the_manifest() -> None:
    uids = adopting(running())
    assert decoded(uids).uid == "k1"
    edited = decoded(uids, pod_text() + "# no change\n").uid
    assert edited == "k1"
    other = pod_text().replace("name: web}", "name: web, labels: {a: b}}")
    assert decoded(uids, other).uid not in {"k1", OWN}
    assert decoded(uids).uid == "k1"


def test_a_uid_that_the_user_fixed_is_left_alone() -> None:
    uids = adopting(running())
    assert decoded(uids, pod_text(uid="mine")).uid == "mine"
    assert uids.kept == ()


@pytest.mark.parametrize(
    "found",
    [
        running(is_foreign=False),
        running(source=HTTP),
        running(namespace="other"),
        running("k1", container(image="registry.example/web:2")),
        running("k1", container("other")),
        running("k1", container(), container("more")),
    ],
)
def test_what_is_not_the_same_pod_is_not_adopted(found: RuntimePod) -> None:
    assert decoded(adopting(found)).uid == OWN


def test_of_two_that_a_kubelet_left_the_one_that_runs_is_adopted_and_the_newest_of_those() -> None:
    old, new = Timestamp(1.0), Timestamp(2.0)
    found = [
        running("k1", started_at=old),
        running("k2", started_at=new),
        running("k3", is_running=False, started_at=Timestamp(3.0)),
    ]
    assert decoded(adopting(*found)).uid == "k2"
    assert decoded(adopting(found[2])).uid == "k3"


def test_init_containers_may_be_gone_and_sidecars_not() -> None:
    spec = {
        "initContainers": [
            {"name": "once", "image": IMAGE},
            {"name": "beside", "image": IMAGE, "restartPolicy": "Always"},
        ],
        "containers": [{"name": "main", "image": IMAGE}],
    }
    pod = {"metadata": {}, "spec": spec}
    beside = container("beside")
    assert why_not(pod, running("k1", container(), beside)) == ""
    assert why_not(pod, running("k1", container(), beside, container("once"))) == ""
    assert why_not(pod, running("k1", container())) == (
        "it has no container beside, which is in the manifest"
    )


def test_the_next_process_knows_what_is_kept_without_looking() -> None:
    before = adopting(running())
    decoded(before)
    after = AdoptedUids(FILE, before.kept)
    assert decoded(after).uid == "k1"
    assert (
        decoded(after, pod_text().replace("name: web}", "name: web, labels: {a: b}}")).uid != "k1"
    )


def test_a_manifest_that_changed_while_no_agent_was_there_is_not_adopted_again() -> None:
    before = adopting(running())
    decoded(before)
    after = AdoptedUids(FILE, before.kept)
    after.learn((running(),))
    other = pod_text().replace("name: web}", "name: web, labels: {a: b}}")
    assert decoded(after, other).uid not in {"k1", OWN}


def test_uids_of_earlier_contents_are_forgotten_when_they_do_not_run_any_more() -> None:
    first = adopting(running("k1"))
    decoded(first)
    second = AdoptedUids(FILE, first.kept)
    second.learn((running("k2"),))
    other = pod_text().replace("name: web}", "name: web, labels: {a: b}}")
    assert decoded(second, other).uid == "k2"
    assert [each.uid for each in second.kept] == ["k1", "k2"]
    third = AdoptedUids(FILE, second.kept)
    third.learn((running("k2"),))
    assert [each.uid for each in third.kept] == ["k2"]
    third.learn(())
    assert [each.uid for each in third.kept] == ["k2"]


def test_a_pod_that_ends_is_adopted_under_the_name_of_this_node_alone() -> None:
    assert decoded(adopting(replace(running(), name="web-node2"))).uid == OWN
