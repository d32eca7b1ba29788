"""What a runtime is told of a pod's sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from messages.container_runtime import RuntimeFailureKind
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.sandbox import sandbox_config, sandbox_notices
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod

NODE = CriNode(name="node", root_dir="/var/lib/actorlet")


def config_of(node: CriNode = NODE, **spec: Any) -> cri.PodSandboxConfig:
    return sandbox_config(make_pod(spec=spec), 0, node)


def security_of(**spec: Any) -> cri.LinuxSandboxSecurityContext:
    return config_of(**spec).linux.security_context


def refusal(node: CriNode = NODE, **spec: Any) -> ConfigRefusedError:
    with pytest.raises(ConfigRefusedError) as raised:
        config_of(node, **spec)
    return raised.value


def test_a_simple_pod_is_known_by_its_labels_and_logs_to_a_directory_of_its_own() -> None:
    pod = make_pod(labels={"app": "web"}, annotations={"note": "mine"}, uid="u1")
    config = sandbox_config(pod, 3, NODE, cgroup_parent="/kubepods/burstable/podu1")
    assert config.metadata == cri.PodSandboxMetadata(
        name="web", uid="u1", namespace="default", attempt=3
    )
    assert dict(config.labels) == {
        "app": "web",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": "u1",
    }
    assert config.annotations["note"] == "mine"
    assert config.annotations["kubernetes.io/config.source"] == "file"
    assert config.log_directory == "/var/log/pods/default_web_u1"
    assert config.hostname == "web"
    assert config.linux.cgroup_parent == "/kubepods/burstable/podu1"


def test_a_label_of_the_pod_cannot_say_that_the_sandbox_is_another_ones() -> None:
    pod = make_pod(labels={"io.kubernetes.pod.uid": "stolen"}, uid="u1")
    assert sandbox_config(pod, 0, NODE).labels["io.kubernetes.pod.uid"] == "u1"


@pytest.mark.parametrize(
    ("spec", "network", "pid", "ipc"),
    [
        ({}, cri.POD, cri.CONTAINER, cri.POD),
        ({"hostNetwork": True}, cri.NODE, cri.CONTAINER, cri.POD),
        ({"hostPID": True}, cri.POD, cri.NODE, cri.POD),
        ({"hostIPC": True}, cri.POD, cri.CONTAINER, cri.NODE),
        ({"shareProcessNamespace": True}, cri.POD, cri.POD, cri.POD),
    ],
)
def test_namespaces_are_the_nodes_where_the_pod_says_so(
    spec: dict[str, Any], network: int, pid: int, ipc: int
) -> None:
    options = security_of(**spec).namespace_options
    assert (options.network, options.pid, options.ipc) == (network, pid, ipc)


@pytest.mark.parametrize("kind", ["containers", "initContainers", "ephemeralContainers"])
def test_a_sandbox_is_privileged_if_any_container_is(kind: str) -> None:
    containers = [{"name": "plain"}, {"name": "mighty", "securityContext": {"privileged": True}}]
    assert not security_of().privileged
    assert security_of(**{kind: containers}).privileged


def test_the_sandbox_has_the_pods_user_and_groups() -> None:
    context = security_of(
        securityContext={
            "runAsUser": 7,
            "runAsGroup": 8,
            "fsGroup": 9,
            "supplementalGroups": [10, 11],
            "seLinuxOptions": {"level": "s0:c1"},
        }
    )
    assert (context.run_as_user.value, context.run_as_group.value) == (7, 8)
    assert list(context.supplemental_groups) == [9, 10, 11]
    assert context.selinux_options.level == "s0:c1"
    assert context.seccomp.profile_type == cri.RuntimeDefault


def test_a_sandbox_without_a_user_has_no_group_either_since_runtimes_refuse_that() -> None:
    assert not security_of(securityContext={"runAsGroup": 8}).HasField("run_as_group")


def test_ports_of_containers_and_sidecars_are_mapped_and_those_of_init_containers_are_not() -> None:
    config = config_of(
        initContainers=[
            {"name": "first", "ports": [{"containerPort": 1}]},
            {"name": "side", "restartPolicy": "Always", "ports": [{"containerPort": 2}]},
        ],
        containers=[
            {
                "name": "main",
                "ports": [
                    {
                        "containerPort": 80,
                        "hostPort": 8080,
                        "protocol": "UDP",
                        "hostIP": "127.0.0.1",
                    }
                ],
            }
        ],
    )
    assert list(config.port_mappings) == [
        cri.PortMapping(container_port=2),
        cri.PortMapping(protocol=cri.UDP, container_port=80, host_port=8080, host_ip="127.0.0.1"),
    ]


def test_on_the_nodes_network_there_is_neither_a_hostname_nor_a_mapped_port() -> None:
    containers = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    config = config_of(hostNetwork=True, containers=containers, hostname="other")
    assert (config.hostname, len(config.port_mappings)) == ("", 0)


@pytest.mark.parametrize(
    "port",
    [
        {"containerPort": 0},
        {"containerPort": 70000},
        {"containerPort": 2**40},
        {"containerPort": 80, "hostPort": -1},
        {"containerPort": 80, "protocol": "ICMP"},
    ],
)
def test_a_port_that_there_cannot_be_is_refused_for_good(port: dict[str, Any]) -> None:
    refused = refusal(containers=[{"name": "main", "ports": [port]}])
    assert refused.kind is RuntimeFailureKind.UNSUPPORTED
    assert "container main has a port" in refused.message


def test_options_of_windows_are_refused_for_good() -> None:
    context: dict[str, Any] = {"securityContext": {"windowsOptions": {"runAsUserName": "me"}}}
    for refused in (refusal(**context), refusal(containers=[{"name": "main", **context}])):
        assert refused.failure.reason == "PodOSNotSupported"
        assert refused.failure.kind is RuntimeFailureKind.UNSUPPORTED


@pytest.mark.parametrize("value", [2**31, 2**70, -1, "root", [1]])
@pytest.mark.parametrize("field", ["runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"])
def test_the_id_of_a_user_that_cannot_be_is_one_sentence_with_the_field_and_its_range(
    field: str, value: Any
) -> None:
    given = {"runAsUser": 1, field: [value] if field == "supplementalGroups" else value}
    refused = refusal(securityContext=given)
    assert refused.message == f"securityContext.{field} should be a number from 0 to 2147483647"
    assert refused.__cause__ is None


@pytest.mark.parametrize("options", [5, [1], "edns0"])
def test_a_value_that_no_message_carries_is_one_clear_refusal_without_the_value(
    options: Any,
) -> None:
    refused = refusal(dnsConfig={"options": options})
    assert refused.message.startswith("pod default/web has a value that no container runtime")
    assert refused.__cause__ is None


@pytest.mark.parametrize("uid", ["../../etc", "a/b", "with\nline", "u" * 300])
def test_a_uid_that_can_be_no_directory_is_refused(uid: str) -> None:
    with pytest.raises(ConfigRefusedError, match="cannot be the name of a file"):
        sandbox_config(make_pod(uid=uid), 0, NODE)


def test_a_sandbox_is_told_what_its_containers_may_use_and_what_itself_takes() -> None:
    linux = config_of(
        containers=[{"name": "main", "resources": {"limits": {"cpu": "1", "memory": "64Mi"}}}],
        overhead={"cpu": "250m", "memory": "16Mi"},
    ).linux
    assert linux.resources.memory_limit_in_bytes == 64 << 20
    assert (linux.resources.cpu_quota, linux.resources.cpu_period) == (100_000, 100_000)
    assert linux.overhead.memory_limit_in_bytes == 16 << 20
    assert linux.overhead.cpu_shares == 256


def test_people_are_told_what_is_done_differently_than_the_pod_says() -> None:
    notices = sandbox_notices(make_pod(), NODE)
    assert [each.reason for each in notices] == ["MissingClusterDNS"]
    assert sandbox_notices(make_pod(spec={"dnsPolicy": "Default"}), NODE) == ()
