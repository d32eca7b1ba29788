"""What runs the pods, and what follows from that for the node."""

from __future__ import annotations

from pathlib import Path

import pytest

from settings.flags.command_line import parse
from settings.load import load_settings
from settings.runtime import RuntimeKind, RuntimeSettings
from tests.support.settings.settled import NO_SOURCE, refusal, settled

HOLLOW = RuntimeSettings(kind=RuntimeKind.HOLLOW)
LABEL = {"actorlet/runtime": "hollow"}
TAINT = {"key": "actorlet/hollow", "effect": "NoSchedule"}


@pytest.mark.parametrize("joins", [(), ("--kubeconfig=k",), ("--in-cluster",)])
def test_no_node_pretends_unless_it_is_told_to(joins: tuple[str, ...]) -> None:
    runtime = settled(*joins).runtime
    assert runtime is not None
    assert runtime.kind is RuntimeKind.CRI
    assert settled(*joins, "--runtime=hollow").runtime == HOLLOW


@pytest.mark.parametrize("name", ["package.module:Class", "./mine.py:Class", "m:_C2"])
def test_a_class_is_named_with_its_module(name: str) -> None:
    chosen = RuntimeSettings(kind=RuntimeKind.PROVIDER, provider=name)
    assert settled(f"--runtime={name}").runtime == chosen
    assert settled(f"--runtime={name}", "--kubeconfig=k").runtime == chosen


@pytest.mark.parametrize("name", ["docker", "module:", ":Class", "module:not a class", "Hollow"])
def test_anything_else_is_no_runtime(name: str) -> None:
    said = refusal(lambda: settled(f"--runtime={name}"))
    assert said == f"--runtime {name!r} should be hollow, cri or MODULE:CLASS"


def test_containers_are_run_by_the_socket_that_is_named() -> None:
    for words in (
        ["--container-runtime-endpoint=unix:///run/crio/crio.sock"],
        ["--runtime=cri", "--container-runtime-endpoint=/run/crio/crio.sock", "--kubeconfig=k"],
    ):
        runtime = settled(*words).runtime
        assert runtime is not None
        assert runtime.kind is RuntimeKind.CRI
        assert runtime.containers is not None
        assert runtime.containers.container_runtime_endpoint == Path("/run/crio/crio.sock")


@pytest.mark.parametrize("fields", [{}, {"containerRuntimeEndpoint": ""}])
def test_the_socket_is_looked_for_unless_one_is_named(fields: dict[str, str]) -> None:
    for words in ((), ("--runtime=cri",)):
        runtime = settled(*words, **fields).runtime
        assert runtime is not None
        assert runtime.containers is not None
        assert runtime.containers.container_runtime_endpoint is None
        assert runtime.containers.image_service_endpoint is None


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:1", "unix://host/a", "a/b", "/" + 107 * "a"])
def test_what_is_no_socket_is_refused(endpoint: str) -> None:
    said = refusal(lambda: settled(f"--container-runtime-endpoint={endpoint}"))
    assert said.startswith("containerRuntimeEndpoint ")


@pytest.mark.parametrize("flag", ["--hollow-capacity=cpu=1", "--force-hollow"])
def test_flags_of_hollow_nodes_are_for_hollow_nodes(flag: str) -> None:
    for others in ((), ("--runtime=cri",), ("--runtime=m:C",)):
        said = refusal(lambda others=others: settled(flag, *others))  # type: ignore[misc]
        assert said == f"{flag.partition('=c')[0]} has an effect only with --runtime hollow"
    assert settled(flag, "--runtime=hollow").runtime is not None


def test_a_hollow_node_is_marked_as_one() -> None:
    settings = settled("--kubeconfig=k", "--runtime=hollow", "--node-labels=zone=a")
    assert settings.node_labels == {"zone": "a", **LABEL}
    assert settings.taints == (TAINT,)


def test_a_virtual_node_is_marked_as_one_and_its_class_says_the_taints() -> None:
    settings = settled("--kubeconfig=k", "--runtime=m:C", "--node-labels=actorlet/runtime=real")
    assert settings.node_labels == {"actorlet/runtime": "virtual"}
    assert settings.taints is None
    assert settled("--runtime=m:C", "--register-with-taints=").taints == ()


def test_nobody_else_is_marked() -> None:
    settings = settled("--kubeconfig=k", "--runtime=cri", "--node-labels=zone=a")
    assert settings.node_labels == {"zone": "a"}
    assert settings.taints == ()


def test_the_mark_cannot_be_taken_away_and_the_taint_can() -> None:
    settings = settled("--runtime=hollow", "--node-labels=actorlet/runtime=real")
    assert settings.node_labels == LABEL
    assert settled("--runtime=hollow", "--register-with-taints=").taints == ()
    assert settled("--runtime=hollow", registerWithTaints=[]).taints == ()
    taint = {"key": "a", "value": "b", "effect": "NoExecute"}
    assert settled("--register-with-taints=a=b:NoExecute").taints == (taint,)


@pytest.mark.parametrize(("written", "pause"), [("1s", 1.0), ("90s", 90.0), ("5m", 300.0)])
def test_the_longest_wait_of_a_crash_loop_may_be_shorter(written: str, pause: float) -> None:
    settings = settled(crashLoopBackOff={"maxContainerRestartPeriod": written})
    assert settings.longest_restart_pause == pause
    assert settings.warnings == (NO_SOURCE,)


@pytest.mark.parametrize("written", ["0s", "500ms", "6m"])
def test_other_waits_are_refused(written: str) -> None:
    sentence = refusal(lambda: settled(crashLoopBackOff={"maxContainerRestartPeriod": written}))
    assert sentence == "crashLoopBackOff.maxContainerRestartPeriod should be from 1s to 5m"


def test_a_node_without_a_cluster_may_have_any_label() -> None:
    assert settled("--node-labels=k8s.io/a=b").node_labels == {"k8s.io/a": "b"}
    assert refusal(lambda: settled("--node-labels=a/b/c=d")).startswith(
        "--node-labels has the label"
    )


def test_a_real_node_is_taken_over_by_force_only() -> None:
    forced = settled("--runtime=hollow", "--force-hollow").runtime
    assert forced == RuntimeSettings(kind=RuntimeKind.HOLLOW, is_forced=True)


def test_pods_have_addresses_of_the_networks_that_were_told() -> None:
    assert settled("--pod-cidr=10.1.0.0/16").pod_networks == ("10.1.0.0/16",)
    assert settled(podCIDR="10.1.2.3/16, fd00::/64").pod_networks == ("10.1.0.0/16", "fd00::/64")
    assert settled(podCIDR="").pod_networks == ()


@pytest.mark.parametrize(
    ("networks", "said"),
    [
        ("10.1.0.0/33", "podCIDR should be a network, such as 10.244.0.0/16"),
        ("pods", "podCIDR should be a network, such as 10.244.0.0/16"),
        ("10.1.0.0/16,", "podCIDR should be a network, such as 10.244.0.0/16"),
        ("10.1.0.0/16,10.2.0.0/16", "podCIDR should be one network, or one of each family"),
    ],
)
def test_networks_that_are_none_are_refused(networks: str, said: str) -> None:
    assert refusal(lambda: settled(f"--pod-cidr={networks}")) == said


def test_a_runtime_is_chosen_before_anything_is_read() -> None:
    assert load_settings(parse(["--runtime", "m:C"])).runtime is not None
