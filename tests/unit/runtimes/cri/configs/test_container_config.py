"""What a runtime is told of one instance of a container."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from manifests.validation.probes import STOP_SIGNALS
from messages.pods import Pod
from runtimes.cri.configs.container import ContainerCreation, container_config, stop_signal
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.sandbox import sandbox_config
from runtimes.cri.configs.security import MASKED_PATHS, READONLY_PATHS, ImageUser, image_user
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod

NODE = CriNode(name="node", root_dir="/var/lib/actorlet")


def creation(container: dict[str, Any], pod: Pod | None = None, **fields: Any) -> ContainerCreation:
    pod = pod or make_pod(uid="u1")
    return replace(
        ContainerCreation(
            pod=pod,
            container={"name": "main", "image": "busybox:1.37", **container},
            attempt=2,
            spec_hash="8e45cbd0",
            image_ref="sha256:abc",
            sandbox=sandbox_config(pod, 0, NODE),
            node=NODE,
        ),
        **fields,
    )


def config_of(
    container: dict[str, Any], pod: Pod | None = None, **fields: Any
) -> cri.ContainerConfig:
    return container_config(creation(container, pod, **fields))


def security_of(
    context: dict[str, Any], of_pod: dict[str, Any] | None = None, **fields: Any
) -> cri.LinuxContainerSecurityContext:
    pod = make_pod(uid="u1", spec={"securityContext": of_pod or {}})
    return config_of({"securityContext": context}, pod, **fields).linux.security_context


def test_a_container_has_its_name_image_and_log_and_what_it_runs() -> None:
    config = config_of(
        {"workingDir": "/tmp", "stdin": True, "stdinOnce": True, "tty": True},
        command=("sh", "-c"),
        args=("echo",),
        environment={"B": "2", "A": "1"},
    )
    assert config.metadata == cri.ContainerMetadata(name="main", attempt=2)
    assert config.image == cri.ImageSpec(image="sha256:abc", user_specified_image="busybox:1.37")
    assert (list(config.command), list(config.args)) == (["sh", "-c"], ["echo"])
    assert [(each.key, each.value) for each in config.envs] == [("B", b"2"), ("A", b"1")]
    assert (config.log_path, config.working_dir) == ("main/2.log", "/tmp")
    assert config.stdin
    assert config.stdin_once
    assert config.tty


def test_labels_and_annotations_are_a_kubelets() -> None:
    pod = make_pod(
        uid="u1",
        labels={"app": "web"},
        metadata={"deletionGracePeriodSeconds": 5},
        spec={"terminationGracePeriodSeconds": 30},
    )
    config = config_of(
        {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "ports": [{"containerPort": 80, "name": "http", "hostPort": 0, "protocol": "TCP"}],
            "lifecycle": {"preStop": {"exec": {"command": ["bye"]}}},
            "resources": {"limits": {"cpu": "1"}},
        },
        pod,
    )
    assert dict(config.labels) == {
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": "u1",
        "io.kubernetes.container.name": "main",
    }
    assert dict(config.annotations) == {
        "io.kubernetes.container.hash": "8e45cbd0",
        "io.kubernetes.container.restartCount": "2",
        "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
        "io.kubernetes.container.terminationMessagePolicy": "File",
        "io.kubernetes.container.ports": ('[{"name":"http","containerPort":80,"protocol":"TCP"}]'),
        "io.kubernetes.container.preStopHandler": '{"exec":{"command":["bye"]}}',
        "io.kubernetes.pod.deletionGracePeriod": "5",
        "io.kubernetes.pod.terminationGracePeriod": "30",
        "actorlet/resources": '{"limits":{"cpu":"1"}}',
    }


@pytest.mark.parametrize(
    ("handler", "written"),
    [
        (
            {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}},
            {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}},
        ),
        ({"tcpSocket": {"port": "http", "host": ""}}, {"tcpSocket": {"port": "http"}}),
        ({"sleep": {"seconds": 3}}, {"sleep": {"seconds": 3}}),
    ],
)
def test_the_hook_that_precedes_a_stop_is_written_down(
    handler: dict[str, Any], written: dict[str, Any]
) -> None:
    config = config_of({"lifecycle": {"preStop": handler}})
    assert json.loads(config.annotations["io.kubernetes.container.preStopHandler"]) == written


def test_the_containers_own_security_context_counts_before_the_pods() -> None:
    of_pod = {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3, "supplementalGroups": [4]}
    own = security_of({"runAsUser": 5}, of_pod)
    assert (own.run_as_user.value, own.run_as_group.value) == (5, 2)
    assert list(own.supplemental_groups) == [3, 4]


@pytest.mark.parametrize(
    ("image", "uid", "name"),
    [
        (cri.Image(uid=cri.Int64Value(value=1234)), 1234, ""),
        (cri.Image(username="app"), None, "app"),
        (cri.Image(), 0, ""),
    ],
)
def test_without_a_user_a_container_has_that_of_its_image(
    image: cri.Image, uid: int | None, name: str
) -> None:
    context = security_of({}, image_user=image_user(image))
    assert context.HasField("run_as_user") == (uid is not None)
    assert context.run_as_user.value == (uid or 0)
    assert context.run_as_username == name


@pytest.mark.parametrize(
    ("context", "user", "message"),
    [
        ({"runAsUser": 0}, ImageUser(5), "container's runAsUser breaks non-root policy"),
        ({}, ImageUser(0), "container has runAsNonRoot and image will run as root"),
        (
            {},
            ImageUser(None, "app"),
            (
                "container has runAsNonRoot and image has non-numeric user (app), "
                "cannot verify user is non-root"
            ),
        ),
    ],
)
def test_root_is_refused_where_the_pod_says_so(
    context: dict[str, Any], user: ImageUser, message: str
) -> None:
    with pytest.raises(ConfigRefusedError) as raised:
        security_of(context, {"runAsNonRoot": True}, image_user=user)
    whose = '(pod: "web_default(u1)", container: main)'
    assert raised.value.message == f"{message} {whose}"
    assert raised.value.failure.kind == "config"


@pytest.mark.parametrize(
    ("context", "user"),
    [({"runAsUser": 1}, ImageUser(0)), ({}, ImageUser(7)), ({"runAsNonRoot": False}, ImageUser(0))],
)
def test_who_is_not_root_may_run(context: dict[str, Any], user: ImageUser) -> None:
    security_of(context, {"runAsNonRoot": True}, image_user=user)


def test_capabilities_are_told_without_the_prefix_that_runtimes_add() -> None:
    context = security_of({"capabilities": {"add": ["CAP_NET_ADMIN", "sys_time"], "drop": ["ALL"]}})
    assert list(context.capabilities.add_capabilities) == ["NET_ADMIN", "SYS_TIME"]
    assert list(context.capabilities.drop_capabilities) == ["ALL"]
    assert not security_of({}).HasField("capabilities")


@pytest.mark.parametrize(("given", "forbidden"), [(None, False), (True, False), (False, True)])
def test_privileges_may_grow_unless_that_is_forbidden(
    given: bool | None,  # noqa: FBT001
    forbidden: bool,  # noqa: FBT001
) -> None:
    assert security_of({"allowPrivilegeEscalation": given}).no_new_privs is forbidden


def test_privileged_and_a_root_that_is_read_only_are_passed_on() -> None:
    context = security_of({"privileged": True, "readOnlyRootFilesystem": True})
    assert context.privileged
    assert context.readonly_rootfs


def test_paths_of_the_node_are_hidden_unless_the_container_is_unmasked() -> None:
    context = security_of({})
    assert tuple(context.masked_paths) == MASKED_PATHS
    assert tuple(context.readonly_paths) == READONLY_PATHS
    bare = security_of({"procMount": "Unmasked"})
    assert (len(bare.masked_paths), len(bare.readonly_paths)) == (0, 0)


def test_an_ephemeral_container_sees_the_processes_of_its_target() -> None:
    config = config_of({"targetContainerName": "main"}, target_id="c1")
    options = config.linux.security_context.namespace_options
    assert (options.pid, options.target_id) == (cri.TARGET, "c1")
    with pytest.raises(ConfigRefusedError, match="unable to find target container main"):
        config_of({"targetContainerName": "main"})
    assert config_of({}, target_id="c1").linux.security_context.namespace_options.target_id == ""


def test_a_value_that_no_message_carries_is_refused_without_the_value() -> None:
    with pytest.raises(ConfigRefusedError) as raised:
        config_of({}, args=("secret\ud800",))
    assert raised.value.message.startswith("container main has a value")
    assert "secret" not in raised.value.message
    assert raised.value.__cause__ is None


def test_a_value_that_is_no_text_reaches_the_process_as_it_is() -> None:
    config = config_of({}, environment={"KEY": "a\udcff"})
    assert [each.value for each in config.envs] == [b"a\xff"]


def test_what_configures_a_container_shows_no_environment() -> None:
    assert "hunter2" not in repr(creation({}, environment={"PASSWORD": "hunter2"}))


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        (None, cri.SIGNAL_RUNTIME_DEFAULT),
        ("SIGUSR1", cri.SIGUSR1),
        ("SIGRTMIN", cri.SIGRTMIN),
        ("SIGRTMIN+3", cri.SIGRTMINPLUS3),
        ("SIGRTMAX-14", cri.SIGRTMAXMINUS14),
    ],
)
def test_a_container_is_stopped_by_the_signal_that_it_names(name: str | None, signal: int) -> None:
    assert config_of({"lifecycle": {"stopSignal": name}}).stop_signal == signal


@pytest.mark.parametrize("name", ["USR1", "SIGNAL_RUNTIME_DEFAULT ", "SIGNOTHING", "15", "sigterm"])
def test_a_signal_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(ConfigRefusedError, match="stopSignal"):
        config_of({"lifecycle": {"stopSignal": name}})


@pytest.mark.parametrize("name", sorted(STOP_SIGNALS))
def test_a_signal_that_a_manifest_may_name_is_known_to_runtimes(name: str) -> None:
    assert stop_signal({"lifecycle": {"stopSignal": name}}).startswith("SIG")
