"""What sandboxes and containers are, as their labels say, and where their last words are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from messages.objects import ObjectKind
from messages.pod_runtime import ContainerState, SandboxState, UsedObject
from messages.pods import CONTENT_DIGEST
from runtimes.cri.configs.container import ContainerCreation, container_config
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.reading import (
    container_observed,
    identity_of,
    last_words,
    message_of,
    pod_uid,
    sandbox_observed,
)
from runtimes.cri.configs.sandbox import sandbox_config
from runtimes.cri.disk.pod_files import LastWords
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod

NODE = CriNode(name="node", root_dir="/var/lib/actorlet")
POD = make_pod(uid="u1", namespace="shop")

FILE = "/r/pods/u1/containers/main/00000001"
LOG = "/var/log/pods/shop_web_u1/main/1.log"


def created(
    spec_hash: str = "8e45cbd0", used: tuple[UsedObject, ...] = (), **fields: Any
) -> cri.ContainerStatus:
    container = {"name": "main", "image": "busybox", "resources": {"limits": {"cpu": "1"}}}
    config = container_config(
        ContainerCreation(
            pod=POD,
            container=container,
            attempt=4,
            spec_hash=spec_hash,
            image_ref="sha256:abc",
            sandbox=sandbox_config(POD, 0, NODE),
            node=NODE,
            variables_from=used,
        )
    )
    return cri.ContainerStatus(
        id="3f2a",
        metadata=config.metadata,
        image=config.image,
        labels=config.labels,
        annotations=config.annotations,
        **fields,
    )


def test_a_sandbox_says_which_version_of_its_manifest_it_was_made_for() -> None:
    edited = make_pod(annotations={CONTENT_DIGEST: "two"})
    status = cri.PodSandboxStatus(annotations=sandbox_config(edited, 0, NODE).annotations)
    assert sandbox_observed(status).content_digest == "two"


def test_a_sandbox_that_was_configured_here_says_whose_it_is() -> None:
    config = sandbox_config(POD, 0, NODE)
    found = identity_of(config.labels, config.annotations)
    assert found is not None
    assert (found.uid, found.namespace, found.name, found.source) == ("u1", "shop", "web", "file")
    assert pod_uid(config.labels) == "u1"


@pytest.mark.parametrize("missing", ["name", "namespace", "uid"])
def test_a_sandbox_that_does_not_say_whose_it_is_is_nobodys(missing: str) -> None:
    labels = dict(sandbox_config(POD, 0, NODE).labels)
    del labels[f"io.kubernetes.pod.{missing}"]
    assert identity_of(labels) is None
    assert identity_of({**labels, f"io.kubernetes.pod.{missing}": ""}) is None


def test_a_container_that_was_configured_here_is_read_back() -> None:
    found = container_observed(
        created(
            state=cri.CONTAINER_EXITED,
            created_at=1_000_000_000,
            started_at=2_500_000_000,
            finished_at=3_000_000_000,
            exit_code=137,
            reason="OOMKilled",
            message="too much",
            image_ref="docker.io/library/busybox@sha256:abc",
        ),
        "containerd",
    )
    assert (found.id, found.name, found.attempt) == ("containerd://3f2a", "main", 4)
    assert (found.image, found.spec_hash) == ("busybox", "8e45cbd0")
    assert found.image_id == "docker.io/library/busybox@sha256:abc"
    assert (found.created_at, found.started_at, found.finished_at) == (1.0, 2.5, 3.0)
    assert (found.state, found.exit_code) == (ContainerState.EXITED, 137)
    assert (found.reason, found.message) == ("OOMKilled", "too much")
    assert found.resources == {"limits": {"cpu": "1"}}


def test_a_hash_with_a_digest_is_read_back_and_kubelets_read_the_part_that_is_theirs() -> None:
    made = created("8e45cbd0-0bf20c17cd2352fc", state=cri.CONTAINER_RUNNING)
    assert container_observed(made, "r").spec_hash == "8e45cbd0-0bf20c17cd2352fc"
    assert made.annotations["io.kubernetes.container.hash"] == "8e45cbd0"


def test_what_runs_has_no_end_and_what_was_never_started_no_start() -> None:
    running = container_observed(created(state=cri.CONTAINER_RUNNING, started_at=1), "r")
    assert (running.exit_code, running.finished_at) == (None, None)
    assert running.started_at is not None
    # A container that could not be started has exited without a start.
    assert container_observed(created(state=cri.CONTAINER_EXITED), "r").started_at is None


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (cri.CONTAINER_CREATED, ContainerState.CREATED),
        (cri.CONTAINER_RUNNING, ContainerState.RUNNING),
        (cri.CONTAINER_EXITED, ContainerState.EXITED),
        (cri.CONTAINER_UNKNOWN, ContainerState.UNKNOWN),
        (77, ContainerState.UNKNOWN),
    ],
)
def test_a_state_that_nobody_knows_is_unknown(state: int, expected: ContainerState) -> None:
    status = created()
    # A newer runtime may have more states than messages are written with.
    status.MergeFromString(b"\x18" + bytes([state]))
    assert container_observed(status, "r").state is expected


def test_a_kubelets_container_is_read_without_what_only_we_write() -> None:
    status = created()
    del status.annotations["actorlet/resources"]
    assert container_observed(status, "containerd").resources is None


@pytest.mark.parametrize("count", ["", "-1", "many", "9" * 10, "9" * 5000, "1e3", "\u0663"])
@pytest.mark.parametrize("resources", ["", "[]", "{", "null", "[" * 100_000])
def test_garbage_in_annotations_counts_as_missing(count: str, resources: str) -> None:
    status = created()
    status.annotations["io.kubernetes.container.restartCount"] = count
    status.annotations["actorlet/resources"] = resources
    found = container_observed(status, "containerd")
    assert (found.attempt, found.resources) == (4, None)


def test_a_container_without_any_label_has_the_name_that_the_runtime_knows() -> None:
    status = cri.ContainerStatus(id="x", metadata=cri.ContainerMetadata(name="main", attempt=1))
    found = container_observed(status, "cri-o")
    assert (found.id, found.name, found.attempt, found.spec_hash) == ("cri-o://x", "main", 1, "")


def test_a_sandbox_has_its_addresses_unless_they_are_the_nodes() -> None:
    status = cri.PodSandboxStatus(
        id="s1",
        metadata=cri.PodSandboxMetadata(attempt=2),
        state=cri.SANDBOX_READY,
        created_at=5_000_000_000,
        network=cri.PodSandboxNetworkStatus(
            ip="10.0.0.1", additional_ips=[cri.PodIP(ip="fd00::1"), cri.PodIP()]
        ),
    )
    found = sandbox_observed(status)
    assert (found.id, found.attempt, found.created_at) == ("s1", 2, 5.0)
    assert (found.state, found.ips) == (SandboxState.READY, ("10.0.0.1", "fd00::1"))
    status.linux.namespaces.options.network = cri.NODE
    assert sandbox_observed(status) == replace(found, ips=())
    status.state = cri.SANDBOX_NOTREADY
    assert sandbox_observed(status).state is SandboxState.NOT_READY


def ended(message: str, started_at: int = 0) -> ContainerState:
    status = created(
        state=cri.CONTAINER_EXITED,
        exit_code=128,
        reason="StartError",
        message=message,
        started_at=started_at,
    )
    return container_observed(status, "containerd").state


def test_a_start_that_was_given_up_before_anything_ran_is_no_end() -> None:
    cut = "failed to create containerd task: failed to start shim: start failed: "
    assert ended(f"{cut}unix:///run/s/1: context canceled") is ContainerState.CREATED
    assert ended(f"{cut}: signal: killed: unknown") is ContainerState.CREATED
    # It may have run here, or had no chance to.
    assert ended(f"{cut}: signal: killed", started_at=1) is ContainerState.EXITED
    assert ended('failed to start containerd task "x": context canceled') is ContainerState.EXITED
    assert ended("failed to create containerd task: no such file") is ContainerState.EXITED


def test_a_container_says_which_versions_its_variables_were_made_from() -> None:
    used = (
        UsedObject(ObjectKind.SECRET, "db", "12"),
        UsedObject(ObjectKind.CONFIG_MAP, "settings", ""),
    )
    assert container_observed(created(used=used), "containerd").variables_from == used
    assert container_observed(created(), "containerd").variables_from == ()
    assert "actorlet/variables-from" not in created().annotations


@pytest.mark.parametrize(
    "written", ["", "{}", "[1]", '[["Pod", "a", "1"]]', '[["Secret", "a"]]', '[["Secret", "a", 1]]']
)
def test_versions_that_cannot_be_read_count_as_missing(written: str) -> None:
    status = created()
    status.annotations["actorlet/variables-from"] = written
    assert container_observed(status, "containerd").variables_from == ()


def ended_with(
    host_path: str = FILE, policy: str = "File", inside: str = "/words", log_path: str = LOG
) -> cri.ContainerStatus:
    return cri.ContainerStatus(
        state=cri.CONTAINER_EXITED,
        exit_code=1,
        labels={"io.kubernetes.pod.uid": "u1", "io.kubernetes.container.name": "main"},
        annotations={
            "io.kubernetes.container.terminationMessagePath": inside,
            "io.kubernetes.container.terminationMessagePolicy": policy,
        },
        mounts=[cri.Mount(container_path="/words", host_path=host_path)],
        log_path=log_path,
    )


def words_of(status: cri.ContainerStatus) -> LastWords | None:
    return last_words(status, "/var/log/pods")


@pytest.mark.parametrize("inside", ["/words", "words"])
def test_the_message_is_in_the_file_that_was_mounted_for_it(inside: str) -> None:
    words = words_of(ended_with(inside=inside))
    assert words == LastWords(file=FILE, logs_dir="/var/log/pods")


def test_a_kubelets_file_in_a_directory_of_its_own_counts() -> None:
    words = words_of(ended_with("/var/lib/kubelet/pods/u1/containers/main/3f2a0b1c"))
    assert words is not None
    assert words.file == "/var/lib/kubelet/pods/u1/containers/main/3f2a0b1c"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/shadow",
        "/r/pods/u2/containers/main/x",
        "/r/elsewhere/u1/containers/main/x",
        "/r/pods/u1/containers/other/x",
        "/r/pods/u1/containers/main/x/y",
        "/r/../pods/u1/containers/main/x",
        "",
    ],
)
def test_a_file_where_no_agent_puts_one_is_not_read(path: str) -> None:
    assert words_of(ended_with(path)) is None


def test_a_container_without_a_file_for_it_leaves_no_message() -> None:
    assert words_of(ended_with(inside="")) is None


def test_only_what_has_ended_has_last_words() -> None:
    status = ended_with()
    status.state = cri.CONTAINER_RUNNING
    assert words_of(status) is None


def test_the_log_counts_for_an_error_where_the_pod_says_so() -> None:
    words = words_of(ended_with(policy="FallbackToLogsOnError"))
    assert words is not None
    assert words.log == ("shop_web_u1", "main", "1.log")


@pytest.mark.parametrize("reason", ["ContainerCannotRun", "StartError"])
def test_what_never_ran_wrote_no_log(reason: str) -> None:
    status = ended_with("", policy="FallbackToLogsOnError")
    status.reason = reason
    assert words_of(status) is None


def test_who_ended_well_has_no_need_of_the_log() -> None:
    status = ended_with("", policy="FallbackToLogsOnError")
    status.exit_code = 0
    assert words_of(status) is None


@pytest.mark.parametrize("path", ["/etc/shadow", "/var/log/pods/../../../etc/shadow", "", "x.log"])
def test_a_log_elsewhere_is_not_read(path: str) -> None:
    status = ended_with("", policy="FallbackToLogsOnError", log_path=path)
    assert words_of(status) is None


@pytest.mark.parametrize(
    ("told", "written", "message"),
    [("a", "b", "a: b"), ("", "b", "b"), ("a", "", "a"), ("", "", "")],
)
def test_what_the_runtime_told_comes_first(told: str, written: str, message: str) -> None:
    assert message_of(told, written) == message
