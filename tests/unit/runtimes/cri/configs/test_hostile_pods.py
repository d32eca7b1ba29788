"""Whatever a pod says, it is configured or refused, and nothing else happens."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from messages.pods import Pod
from messages.volumes import PodVolume
from runtimes.cri.configs.container import ContainerCreation, container_config
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.mounts import MountSituation, container_mounts
from runtimes.cri.configs.namespaces import UserIds
from runtimes.cri.configs.node import CriNode, HandlerFeatures, RuntimeFeatures
from runtimes.cri.configs.sandbox import runtime_handler, sandbox_config, sandbox_notices
from tests.support.builders import make_pod

ABLE = HandlerFeatures(recursive_read_only_mounts=True, user_namespaces=True)
GIVEN = MountSituation(
    ips=("10.0.0.1",),
    handler=ABLE,
    volumes={"node": PodVolume(path="/srv"), "own": PodVolume(path="/r/own", is_own=True)},
)
NODE = CriNode(
    name="node",
    root_dir="/r",
    runtime=RuntimeFeatures(supplemental_groups_policy=True, handlers={"kata": ABLE}),
    runtime_classes={"sandboxed": "kata"},
    has_apparmor=True,
)
RICH: dict[str, Any] = {
    "hostUsers": False,
    "hostname": "db",
    "subdomain": "sub",
    "setHostnameAsFQDN": True,
    "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a"]}],
    "dnsPolicy": "ClusterFirst",
    "dnsConfig": {
        "nameservers": ["192.0.2.1"],
        "searches": ["lan"],
        "options": [{"name": "ndots", "value": "2"}],
    },
    "runtimeClassName": "sandboxed",
    "overhead": {"cpu": "1", "memory": "1Mi"},
    "terminationGracePeriodSeconds": 30,
    "securityContext": {
        "runAsUser": 1,
        "runAsGroup": 2,
        "runAsNonRoot": True,
        "fsGroup": 3,
        "supplementalGroups": [4],
        "supplementalGroupsPolicy": "Strict",
        "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
        "seccompProfile": {"type": "RuntimeDefault"},
        "appArmorProfile": {"type": "RuntimeDefault"},
        "seLinuxOptions": {"level": "s0"},
    },
    "volumes": [
        {"name": "node", "hostPath": {"path": "/srv", "type": "Directory"}},
        {"name": "own", "emptyDir": {"medium": ""}},
    ],
    "containers": [
        {
            "name": "main",
            "image": "busybox",
            "workingDir": "/",
            "stdin": True,
            "tty": True,
            "terminationMessagePath": "/words",
            "terminationMessagePolicy": "File",
            "ports": [{"name": "p", "containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
            "lifecycle": {
                "stopSignal": "SIGUSR1",
                "preStop": {"httpGet": {"port": 80, "httpHeaders": [{"name": "a", "value": "b"}]}},
            },
            "resources": {"limits": {"cpu": "1"}},
            "volumeMounts": [
                {
                    "name": "node",
                    "mountPath": "/node",
                    "readOnly": True,
                    "recursiveReadOnly": "Enabled",
                },
                {"name": "own", "mountPath": "/own", "mountPropagation": "HostToContainer"},
            ],
            "securityContext": {
                "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
                "privileged": False,
                "procMount": "Default",
                "readOnlyRootFilesystem": True,
                "allowPrivilegeEscalation": False,
            },
        }
    ],
}
NASTY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["..", "/", "a/../b", "\0", "\ud800", "x" * 300, "-1", "1e400", "{}"]),
    st.just([]),
    st.just({}),
    st.lists(st.integers(), min_size=1, max_size=2),
    st.just({"name": {}}),
    st.just([{"name": ["x"], "containerPort": "80"}]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield (*path, key)
        if isinstance(value[key], dict | list):
            yield from places(value[key], (*path, key))


PLACES = list(places(RICH))


def configure(pod: Pod) -> None:
    sandbox = sandbox_config(pod, 0, NODE, user_ids=UserIds(65536, 65536))
    runtime_handler(pod, NODE)
    sandbox_notices(pod, NODE)
    for container in pod.document["spec"]["containers"]:
        mounts = container_mounts(pod, container, 0, NODE, GIVEN)
        container_config(
            ContainerCreation(
                pod=pod,
                container=container,
                attempt=0,
                spec_hash="0",
                image_ref="i",
                sandbox=sandbox,
                node=NODE,
                mounts=mounts.mounts,
            )
        )


def refused(pod: Pod) -> str:
    """Configure everything of a pod, and return what is refused of it."""
    try:
        configure(pod)
    except ConfigRefusedError as error:
        return error.failure.message
    return ""


def test_a_pod_that_asks_for_much_is_configured() -> None:
    assert refused(make_pod(spec=RICH)) == ""


@given(st.lists(st.tuples(st.sampled_from(PLACES), NASTY), min_size=1, max_size=3))
def test_a_hostile_pod_is_configured_or_refused(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    spec = copy.deepcopy(RICH)
    for path, value in changes:
        place: Any = spec
        try:
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
        except (TypeError, KeyError, IndexError):
            continue
    if isinstance(spec.get("containers"), list) and all(
        isinstance(each, dict) for each in spec["containers"]
    ):
        assert "\n" not in refused(make_pod(spec=spec))


def test_a_hundred_containers_are_configured() -> None:
    containers = [{**RICH["containers"][0], "name": f"c{number}"} for number in range(100)]
    assert refused(make_pod(spec={**RICH, "containers": containers})) == ""
