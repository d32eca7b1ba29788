"""What depends on the node: kernel parameters, classes of runtimes, profiles, policies of groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from messages.container_runtime import RuntimeFailureKind
from messages.pods import Pod
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.namespaces import dotted, pod_sysctls
from runtimes.cri.configs.node import CriNode, RuntimeFeatures
from runtimes.cri.configs.sandbox import runtime_handler, sandbox_config
from runtimes.cri.configs.security import apparmor_profile, old_apparmor_name, seccomp_profile
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod

NODE = CriNode(name="node", root_dir="/r")


def with_sysctl(name: str, value: str = "1", **spec: Any) -> Pod:
    context = {"sysctls": [{"name": name, "value": value}]}
    return make_pod(spec={"securityContext": context, **spec})


def refusal(pod: Pod, node: CriNode = NODE) -> ConfigRefusedError:
    with pytest.raises(ConfigRefusedError) as raised:
        sandbox_config(pod, 0, node)
    return raised.value


# --- kernel parameters ---


@pytest.mark.parametrize(
    "name", ["net.ipv4.tcp_syncookies", "net/ipv4/tcp_syncookies", "kernel.shm_rmid_forced"]
)
def test_a_safe_kernel_parameter_may_be_set(name: str) -> None:
    config = sandbox_config(with_sysctl(name, "0"), 0, NODE)
    assert dict(config.linux.sysctls) == {dotted(name): "0"}


@pytest.mark.parametrize(
    ("pod", "allowed", "message"),
    [
        (with_sysctl("net.core.somaxconn"), (), '"net.core.somaxconn" not allowlisted'),
        (with_sysctl("kernel.msgmax"), ("kernel.shm*",), '"kernel.msgmax" not allowlisted'),
        (
            with_sysctl("net.ipv4.tcp_syncookies", hostNetwork=True),
            (),
            '"net.ipv4.tcp_syncookies" not allowed with host net enabled',
        ),
        (
            with_sysctl("kernel.shm_rmid_forced", hostIPC=True),
            (),
            '"kernel.shm_rmid_forced" not allowed with host ipc enabled',
        ),
        (
            with_sysctl("kernel.sem", hostIPC=True),
            ("kernel.sem",),
            '"kernel.sem" not allowed with host ipc enabled',
        ),
        (
            with_sysctl("vm.swappiness"),
            ("vm.*",),
            '"vm.swappiness" has no namespace of its own in a pod',
        ),
    ],
)
def test_another_one_is_refused_for_good(pod: Pod, allowed: tuple[str, ...], message: str) -> None:
    refused = refusal(pod, replace(NODE, allowed_unsafe_sysctls=allowed))
    assert refused.failure.kind is RuntimeFailureKind.UNSUPPORTED
    assert refused.failure.reason == "SysctlForbidden"
    assert refused.failure.message == f"forbidden sysctl: {message}"


@pytest.mark.parametrize("allowed", ["net.core.somaxconn", "net.*", "net.core.*"])
def test_what_the_node_allows_may_be_set(allowed: str) -> None:
    node = replace(NODE, allowed_unsafe_sysctls=(allowed,))
    assert pod_sysctls(with_sysctl("net.core.somaxconn"), node) == {"net.core.somaxconn": "1"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("net/ipv4/conf/eth0.1/forwarding", "net.ipv4.conf.eth0/1.forwarding"),
        ("net.ipv4.conf.eth0/1.forwarding", "net.ipv4.conf.eth0/1.forwarding"),
        ("plain", "plain"),
    ],
)
def test_names_may_have_slashes_between_their_parts(name: str, expected: str) -> None:
    assert dotted(name) == expected


# --- classes of runtimes ---


def test_a_class_means_a_handler_and_none_the_default_one() -> None:
    node = replace(NODE, runtime_classes={"sandboxed": "kata"})
    assert runtime_handler(make_pod(spec={"runtimeClassName": "sandboxed"}), node) == "kata"
    assert runtime_handler(make_pod(), node) == ""
    assert runtime_handler(make_pod(spec={"runtimeClassName": ""}), NODE) == ""


@pytest.mark.parametrize(
    ("classes", "message"),
    [({}, 'RuntimeClass "gone" not found'), (None, 'RuntimeClass "gone" is not known')],
)
def test_a_class_that_nobody_knows_is_refused_for_now(
    classes: dict[str, str] | None, message: str
) -> None:
    pod = make_pod(spec={"runtimeClassName": "gone"})
    with pytest.raises(ConfigRefusedError, match=message) as raised:
        runtime_handler(pod, replace(NODE, runtime_classes=classes))
    assert raised.value.kind is RuntimeFailureKind.REFUSED


# --- seccomp ---


def seccomp(
    container: dict[str, Any] | None, pod: dict[str, Any] | None = None, node: CriNode = NODE
) -> cri.SecurityProfile:
    of_pod = {"securityContext": {"seccompProfile": pod}} if pod else {}
    own = {"securityContext": {"seccompProfile": container}} if container else {}
    return seccomp_profile(make_pod(spec=of_pod), own, node)


def test_the_containers_profile_counts_before_the_pods() -> None:
    default, none = {"type": "RuntimeDefault"}, {"type": "Unconfined"}
    assert seccomp(default, none).profile_type == cri.RuntimeDefault
    assert seccomp(None, default).profile_type == cri.RuntimeDefault
    assert seccomp(none, default).profile_type == cri.Unconfined


def test_without_a_profile_the_node_decides() -> None:
    assert seccomp(None).profile_type == cri.Unconfined
    cautious = replace(NODE, seccomp_default=True)
    assert seccomp(None, node=cautious).profile_type == cri.RuntimeDefault
    assert seccomp({"type": "Unconfined"}, node=cautious).profile_type == cri.Unconfined


def test_a_profile_of_the_node_is_below_its_directory() -> None:
    found = seccomp({"type": "Localhost", "localhostProfile": "my/profile.json"})
    assert found.localhost_ref == "/r/seccomp/my/profile.json"
    assert found.profile_type == cri.Localhost


@pytest.mark.parametrize(
    "profile",
    [
        {"type": "Localhost"},
        {"type": "Localhost", "localhostProfile": "../../etc/shadow"},
        {"type": "Localhost", "localhostProfile": "/etc/shadow"},
        {"type": "Whatever"},
        {"type": None},
    ],
)
def test_a_profile_that_there_cannot_be_is_refused(profile: dict[str, Any]) -> None:
    with pytest.raises(ConfigRefusedError, match="seccompProfile"):
        seccomp(profile)


# --- AppArmor ---


def with_apparmor(
    profile: dict[str, Any] | None = None,
    annotation: str = "",
    of_pod: dict[str, Any] | None = None,
) -> tuple[Pod, dict[str, Any]]:
    key = "container.apparmor.security.beta.kubernetes.io/main"
    container = {"name": "main", "securityContext": {"appArmorProfile": profile}}
    pod = make_pod(
        annotations={key: annotation} if annotation else {},
        spec={"containers": [container], "securityContext": {"appArmorProfile": of_pod}},
    )
    return pod, container


@pytest.mark.parametrize(
    ("given", "old"),
    [
        (with_apparmor({"type": "RuntimeDefault"}), "runtime/default"),
        (with_apparmor({"type": "Unconfined"}, "runtime/default"), "unconfined"),
        (with_apparmor({"type": "Localhost", "localhostProfile": "mine"}), "localhost/mine"),
        (with_apparmor(None, "runtime/default", {"type": "Unconfined"}), "runtime/default"),
        (with_apparmor(None, "unconfined"), "unconfined"),
        (with_apparmor(None, "localhost/mine"), "localhost/mine"),
        (with_apparmor(of_pod={"type": "RuntimeDefault"}), "runtime/default"),
    ],
)
def test_the_field_counts_before_the_annotation_and_that_before_the_pods_field(
    given: tuple[Pod, dict[str, Any]], old: str
) -> None:
    profile = apparmor_profile(*given)
    assert profile is not None
    assert old_apparmor_name(profile) == old


def test_without_a_profile_there_is_none() -> None:
    assert apparmor_profile(*with_apparmor()) is None


@pytest.mark.parametrize(
    "given",
    [
        with_apparmor({"type": "Localhost", "localhostProfile": " "}),
        with_apparmor({"type": "Localhost"}),
        with_apparmor({"type": "Whatever"}),
        with_apparmor(None, "whatever"),
    ],
)
def test_an_apparmor_profile_that_there_cannot_be_is_refused(
    given: tuple[Pod, dict[str, Any]],
) -> None:
    with pytest.raises(ConfigRefusedError, match=r"appArmorProfile|apparmor"):
        apparmor_profile(*given)


def test_a_node_without_apparmor_refuses_profiles_for_good_but_not_the_lack_of_one() -> None:
    confined, _ = with_apparmor({"type": "RuntimeDefault"})
    refused = refusal(confined)
    assert refused.failure.kind is RuntimeFailureKind.UNSUPPORTED
    assert refused.failure.reason == "AppArmor"
    assert refused.message == "Cannot enforce AppArmor: AppArmor is not enabled on the host"
    sandbox_config(confined, 0, replace(NODE, has_apparmor=True))
    free, _ = with_apparmor({"type": "Unconfined"})
    sandbox_config(free, 0, NODE)


# --- groups ---


def test_groups_of_the_image_are_left_out_where_the_runtime_can_do_that() -> None:
    pod = make_pod(spec={"securityContext": {"supplementalGroupsPolicy": "Strict"}})
    assert "supplementalGroupsPolicy: Strict" in refusal(pod).message
    able = replace(NODE, runtime=RuntimeFeatures(supplemental_groups_policy=True))
    context = sandbox_config(pod, 0, able).linux.security_context
    assert context.supplemental_groups_policy == cri.Strict
    merging = make_pod(spec={"securityContext": {"supplementalGroupsPolicy": "Merge"}})
    assert sandbox_config(merging, 0, NODE).linux.security_context.supplemental_groups_policy == 0
