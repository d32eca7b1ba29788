"""Pods with users of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.container_runtime import RuntimeFailureKind
from messages.pods import PodUid
from runtimes.cri.configs.container import ContainerCreation, container_config
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.namespaces import UserIdRanges, UserIds, ids_of_sandbox
from runtimes.cri.configs.node import CriNode, HandlerFeatures, RuntimeFeatures
from runtimes.cri.configs.sandbox import sandbox_config
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod

FEATURES = RuntimeFeatures(handlers={"": HandlerFeatures(user_namespaces=True)})
NODE = CriNode(name="node", root_dir="/r", runtime=FEATURES)
IDS = UserIds(131072, 65536)


def config_of(node: CriNode = NODE, ids: UserIds | None = IDS, **spec: Any) -> cri.PodSandboxConfig:
    pod = make_pod(
        uid="u1",
        annotations={"actorlet/user-namespace": "0:7"},
        spec={"hostUsers": False, **spec},
    )
    return sandbox_config(pod, 0, node, user_ids=ids)


def status_of(config: cri.PodSandboxConfig) -> cri.PodSandboxStatus:
    return cri.PodSandboxStatus(annotations=config.annotations)


def test_the_pods_root_is_the_first_of_its_ids_on_the_node() -> None:
    options = config_of().linux.security_context.namespace_options.userns_options
    mapping = cri.IDMapping(host_id=131072, container_id=0, length=65536)
    assert options == cri.UserNamespace(mode=cri.POD, uids=[mapping], gids=[mapping])


def test_the_ids_are_written_down_and_not_where_the_pod_has_none() -> None:
    assert ids_of_sandbox(status_of(config_of())) == IDS
    with_nodes_users = config_of(hostUsers=True)
    assert "actorlet/user-namespace" not in with_nodes_users.annotations
    assert not with_nodes_users.linux.security_context.namespace_options.HasField("userns_options")


def test_what_the_runtime_tells_counts_before_the_annotation() -> None:
    status = status_of(config_of())
    status.linux.namespaces.options.userns_options.uids.add(host_id=65536, length=65536)
    assert ids_of_sandbox(status) == (65536, 65536)


@pytest.mark.parametrize("text", ["", "x", "1", "1:0", "1:9999999999", "-1:5", "1:2:3"])
def test_garbage_in_the_annotation_counts_as_missing(text: str) -> None:
    status = cri.PodSandboxStatus(annotations={"actorlet/user-namespace": text})
    assert ids_of_sandbox(status) is None


def test_files_have_the_same_owners_for_the_pod_as_on_the_node() -> None:
    sandbox = config_of()
    creation = ContainerCreation(
        pod=make_pod(uid="u1"),
        container={"name": "main"},
        attempt=0,
        spec_hash="",
        image_ref="i",
        sandbox=sandbox,
        node=NODE,
        mounts=(cri.Mount(container_path="/a", host_path="/b"),),
    )
    config = container_config(creation)
    users = sandbox.linux.security_context.namespace_options.userns_options
    assert config.linux.security_context.namespace_options.userns_options == users
    assert config.mounts[0].uidMappings == users.uids
    assert (config.mounts[0].container_path, config.mounts[0].host_path) == ("/a", "/b")
    plain = replace(creation, sandbox=config_of(hostUsers=True))
    assert not container_config(plain).mounts[0].uidMappings


@pytest.mark.parametrize(
    ("node", "ids", "spec", "why"),
    [
        (replace(NODE, runtime=RuntimeFeatures()), IDS, {}, 'handler "" does not support'),
        (
            replace(NODE, runtime_classes={"kata": "k"}),
            IDS,
            {"runtimeClassName": "kata"},
            'handler "k" does not support',
        ),
        (NODE, IDS, {"hostNetwork": True}, "no user namespaces on the network of the node"),
        (NODE, None, {}, "no user ids were given"),
    ],
)
def test_a_pod_that_cannot_have_users_of_its_own_here_is_refused_for_now(
    node: CriNode, ids: UserIds | None, spec: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigRefusedError, match=why) as raised:
        config_of(node, ids, **spec)
    assert raised.value.kind is RuntimeFailureKind.REFUSED


def test_on_the_nodes_network_users_are_its_own_where_the_runtime_can_do_that() -> None:
    able = replace(NODE, runtime=replace(FEATURES, user_namespaces_host_network=True))
    assert config_of(able, hostNetwork=True).annotations["actorlet/user-namespace"] == IDS.text


def test_ids_stay_with_their_pod_and_are_given_out_anew_after_it() -> None:
    ranges = UserIdRanges()
    first, second = PodUid("a"), PodUid("b")
    assert ranges.of(first) == (65536, 65536)
    assert ranges.of(second) == (131072, 65536)
    assert ranges.of(first) == (65536, 65536)
    ranges.release(first)
    ranges.release(first)
    assert ranges.of(PodUid("c")) == (65536, 65536)


def test_ids_of_sandboxes_from_before_a_restart_are_not_given_out() -> None:
    ranges = UserIdRanges()
    odd = cri.PodSandboxStatus(annotations={"actorlet/user-namespace": "100000:65536"})
    ranges.note(PodUid("old"), odd)
    ranges.note(PodUid("plain"), cri.PodSandboxStatus())
    assert ranges.of(PodUid("old")) == (100000, 65536)
    assert ranges.of(PodUid("new")) == (196608, 65536)


def test_there_are_no_more_ids_than_the_kernel_has() -> None:
    ranges = UserIdRanges(2**30)
    for number in range(2):
        ranges.of(PodUid(str(number)))
    with pytest.raises(ConfigRefusedError, match="no user ids are left"):
        ranges.of(PodUid("more"))


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans())))
def test_no_id_is_ever_in_two_pods(steps: list[tuple[str, bool]]) -> None:
    ranges = UserIdRanges()
    held: dict[str, UserIds] = {}
    for name, is_release in steps:
        if is_release:
            ranges.release(PodUid(name))
            held.pop(name, None)
        else:
            held[name] = ranges.of(PodUid(name))
        each = list(held.values())
        assert not any(
            one.overlaps(other) for place, one in enumerate(each) for other in each[:place]
        )
