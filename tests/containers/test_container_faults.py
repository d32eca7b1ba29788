"""Containers that cannot start, that are killed, and that live shortly: the pod says why, others go on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from messages.container_runtime import RuntimeFailureKind
from messages.pod_runtime import ContainerState, PodObserved
from messages.pods import Pod
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX
from tests.support.runtimes.container_runtimes import creation_of, pod_of_each
from tests.support.runtimes.cri_pods import CriPods, real_pod
from tests.support.runtimes.cri_under_test import cri_under_test

RUNS = ("sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done")
NEIGHBOUR = real_pod("neighbour", *RUNS)


def test_one_that_lives_for_20_ms_is_seen_with_its_exit_code(pods: CriPods) -> None:
    short = real_pod("short", "sh", "-c", "usleep 20000; exit 5", policy="Never")
    pods.run(short)
    ended = pods.exited(short)
    assert (ended.exit_code, ended.reason) == (5, "Error")
    assert ended.started_at is not None
    assert ended.finished_at is not None
    # Its own end counts, not when somebody looked again.
    assert ended.finished_at - ended.started_at < 8.0


def test_eight_that_end_at_once_are_all_seen_with_their_own_exit_codes(pods: CriPods) -> None:
    many = {
        code: real_pod(f"short-{code}", "sh", "-c", f"exit {code}", policy="Never")
        for code in range(1, 9)
    }
    pods.run(*many.values())
    ended = [pods.exited(pod) for pod in many.values()]
    assert [(one.exit_code, one.message) for one in ended] == [(code, "") for code in many]


def test_one_that_fails_is_started_again_after_its_backoff(pods: CriPods) -> None:
    fails = real_pod("fails", "sh", "-c", "exit 3", policy="OnFailure")
    pods.run(fails)
    assert pods.exited(fails).exit_code == 3
    assert "back-off 10s" in pods.waiting(fails, "CrashLoopBackOff").message
    pods.exited(fails, attempt=1)


def test_one_that_is_too_large_is_killed_and_that_is_said(pods: CriPods) -> None:
    large = real_pod(
        "large",
        "sh",
        "-c",
        "tail /dev/zero",
        policy="Never",
        container={"resources": {"limits": {"memory": "20Mi"}}},
    )
    pods.run(large, NEIGHBOUR)
    pods.until(
        large,
        lambda told: (
            told.containers["main"].current is not None
            and told.containers["main"].current.reason == "OOMKilled"
        ),
    )
    assert pods.exited(large).exit_code == 137
    pods.running(NEIGHBOUR)


IMPOSSIBLE: Mapping[str, tuple[Pod, str]] = {
    "a command that there is not": (
        real_pod("bad", "/bin/there-is-none", policy="Never"),
        "there-is-none",
    ),
    "a working directory that is a file": (
        real_pod("bad", *RUNS, policy="Never", container={"workingDir": "/etc/passwd"}),
        "passwd",
    ),
    "a file of the node mounted over a folder": (
        real_pod(
            "bad",
            *RUNS,
            policy="Never",
            container={"volumeMounts": [{"name": "v", "mountPath": "/etc"}]},
            volumes=[{"name": "v", "hostPath": {"path": "/etc/passwd"}}],
        ),
        "not a directory",
    ),
}


@pytest.mark.parametrize("what", sorted(IMPOSSIBLE))
def test_one_that_cannot_be_started_says_why_and_harms_no_neighbour(
    pods: CriPods, what: str
) -> None:
    pod, why = IMPOSSIBLE[what]
    pods.run(pod, NEIGHBOUR)
    ended = pods.exited(pod)
    assert (ended.exit_code, ended.reason) == (128, "StartError")
    assert why in ended.message
    pods.running(NEIGHBOUR)


def refused(**spec: Any) -> Pod:
    return real_pod("bad", *RUNS, policy="Never", **spec)


REFUSED: Mapping[str, tuple[Pod, str]] = {
    "a part of a volume that is a file": (
        refused(
            container={"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "none"}]},
            volumes=[{"name": "v", "hostPath": {"path": "/etc/passwd"}}],
        ),
        'failed to prepare subPath for volumeMount "v"',
    ),
    "a user that must not be root": (
        refused(container={"securityContext": {"runAsNonRoot": True}}),
        "root",
    ),
}


@pytest.mark.parametrize("what", sorted(REFUSED))
def test_one_that_is_refused_before_it_is_made_says_why_and_harms_no_neighbour(
    pods: CriPods, what: str
) -> None:
    pod, why = REFUSED[what]
    pods.run(pod, NEIGHBOUR)
    told = pods.until(
        pod,
        lambda told: (
            any(why in trouble.message for trouble in told.troubles)
            or any(
                why in one.wait.message for one in told.containers.values() if one.wait is not None
            )
        ),
    )
    assert not any(
        one.current is not None and one.current.state is ContainerState.RUNNING
        for one in told.containers.values()
    )
    pods.running(NEIGHBOUR)


def test_an_image_that_is_not_there_is_waited_for_and_harms_no_neighbour(pods: CriPods) -> None:
    lost = real_pod("lost", *RUNS, container={"image": "registry.invalid/lost:1"})
    pods.run(lost, NEIGHBOUR)
    assert "registry.invalid/lost:1" in pods.waiting(lost, "ImagePullBackOff").message
    pods.running(NEIGHBOUR)
    pods.stop(lost)
    pods.until(lost, lambda told: not told.is_running)


def test_an_image_that_is_removed_under_a_running_container_is_missed_at_the_next_start(
    pods: CriPods, tmp_path: Path
) -> None:
    once = real_pod(
        "once",
        *("sh", "-c", "until [ -e /told/end ]; do sleep 0.05; done; exit 1"),
        container={"volumeMounts": [{"name": "told", "mountPath": "/told"}]},
        volumes=[{"name": "told", "hostPath": {"path": str(tmp_path)}}],
    )
    pods.run(once)
    pods.running(once)
    pods.containerd.remove_images(BUSYBOX)
    (tmp_path / "end").touch()
    assert pods.exited(once).exit_code == 1
    assert BUSYBOX in pods.waiting(once, "ImagePullBackOff").message
    pods.containerd.restore_images()
    pods.until(
        once,
        lambda told: (main := told.containers["main"].current) is not None and main.attempt == 1,
        40.0,
    )


def test_thirty_containers_of_one_pod_run_and_are_stopped_together(pods: CriPods) -> None:
    containers = [
        {"name": f"c{number}", "image": BUSYBOX, "command": [*RUNS]} for number in range(30)
    ]
    crowd = real_pod("crowd", containers=containers)
    pods.run(crowd)
    pods.until(
        crowd,
        lambda told: (
            sum(
                one.current is not None and one.current.state is ContainerState.RUNNING
                for one in told.containers.values()
            )
            == 30
        ),
        60.0,
    )
    pods.stop(crowd)
    pods.until(crowd, lambda told: not told.is_running)


def test_an_image_that_is_removed_under_a_created_container_does_not_keep_it_from_running(
    containerd: Containerd,
) -> None:
    pod = pod_of_each()
    with cri_under_test(containerd) as runtime:
        sandbox = runtime.sandbox(pod)
        created = runtime.created(pod, sandbox, "runs")
        containerd.remove_images(BUSYBOX)
        assert runtime.started(created).state is ContainerState.RUNNING
        failure = runtime.failure(creation_of(pod, sandbox, "ends"))
        assert failure.kind is RuntimeFailureKind.IMAGE_MISSING


def test_a_pod_waits_for_a_disk_that_is_full_and_says_so(pods: CriPods) -> None:
    with full_disk(pods.containerd.folder / "full") as disk:
        pods.stage.node = replace(pods.stage.node, root_dir=str(disk))
        web = real_pod("web", *RUNS)
        pods.run(web)
        pods.until(web, lambda told: "No space left on device" in everything_said(told))
        disk.joinpath("filling").unlink()
        pods.running(web)
        pods.stop(web)
        pods.until(web, lambda told: not told.is_running)
        pods.forget(web)
        pods.until(web, lambda told: told.sandbox is None)


@contextmanager
def full_disk(folder: Path) -> Iterator[Path]:
    """Have a file system without room at ``folder``, until the file ``filling`` is removed."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], check=True)
    try:
        with suppress(OSError), folder.joinpath("filling").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def everything_said(told: PodObserved) -> str:
    waits = (one.wait.message for one in told.containers.values() if one.wait is not None)
    return " ".join((*waits, *(trouble.message for trouble in told.troubles)))
