"""What becomes of pods when the runtime under them is killed, stopped or started again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from messages.pod_runtime import ContainerState, PodObserved, SandboxState
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.containers.images import BUSYBOX
from tests.support.patience import PATIENCE
from tests.support.runtimes.cri_pods import CriPods, bare, main_of, real_pod
from tests.support.runtimes.cri_stage import wait, wait_until

RUNS = ("sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done")
WEB = real_pod("web", *RUNS)


def runs_once(pods: CriPods) -> None:
    """Fail unless the pod runs, in one container, and in none a moment later that was begun twice."""
    pods.until(
        WEB,
        lambda told: (main := main_of(told)) is not None and main.state is ContainerState.RUNNING,
    )
    wait(0.5)
    states = [state for _, state in pods.instances(WEB)]
    assert states.count("running") == 1
    assert "created" not in states


# --- containerd ----------------------------------------------------------------------------------------


def test_what_runs_goes_on_while_containerd_is_dead_and_is_known_again(pods: CriPods) -> None:
    pods.run(WEB)
    before = pods.running(WEB)
    pods.containerd.kill()
    pods.is_away()
    assert pods.until(WEB, lambda told: bool(told.troubles)).containers["main"].current == before
    pods.containerd.start()
    pods.is_there()
    assert pods.running(WEB) == before
    assert pods.instances(WEB) == [(0, "running")]


def test_a_pod_that_is_wanted_while_containerd_is_dead_runs_when_it_is_back(
    pods: CriPods,
) -> None:
    pods.containerd.kill()
    pods.is_away()
    pods.run(WEB)
    pods.until(WEB, lambda told: bool(told.troubles))
    pods.containerd.start()
    pods.running(WEB)
    assert pods.instances(WEB) == [(0, "running")]


def test_one_that_ended_while_containerd_was_dead_keeps_its_exit_code_and_its_time(
    pods: CriPods, tmp_path: Path
) -> None:
    ends = real_pod(
        "ends",
        *("sh", "-c", "until [ -e /told/end ]; do sleep 0.05; done; exit 42"),
        policy="Never",
        container={"volumeMounts": [{"name": "told", "mountPath": "/told"}]},
        volumes=[{"name": "told", "hostPath": {"path": str(tmp_path)}}],
    )
    pods.run(ends)
    first = pods.running(ends)
    task = pods.containerd.tasks()[bare(first)]
    pods.containerd.kill()
    pods.is_away()
    told = time.time()
    (tmp_path / "end").touch()
    wait_until(lambda: not Path(f"/proc/{task}").exists(), PATIENCE)
    came_back = time.time()
    pods.containerd.start()
    ended = pods.exited(ends)
    assert (ended.exit_code, ended.reason) == (42, "Error")
    assert ended.finished_at is not None
    assert told < ended.finished_at < came_back + 1.0  # the shim notes it once it has seen it


def test_one_that_ended_while_containerd_was_dead_is_started_again(pods: CriPods) -> None:
    pods.run(WEB)
    first = pods.running(WEB)
    task = pods.containerd.tasks()[bare(first)]
    pods.containerd.kill()
    pods.is_away()
    pods.containerd.kill_process(task)
    # Its shim has seen the end. One that comes while containerd starts is lost to containerd for ever.
    wait_until(lambda: not Path(f"/proc/{task}").exists(), PATIENCE)
    pods.containerd.start()
    pods.running(WEB, attempt=1)
    assert pods.exited(WEB).exit_code == 137


def test_nothing_is_stopped_nor_started_on_guesses_while_containerd_is_suspended(
    pods: CriPods,
) -> None:
    pods.run(WEB)
    before = pods.running(WEB)
    pods.containerd.suspend()
    other = real_pod("other", *RUNS)
    pods.run(other)
    pods.is_away()
    assert pods.until(WEB, lambda told: bool(told.troubles)).containers["main"].current == before
    pods.containerd.resume()
    pods.is_there()
    pods.running(other)
    assert pods.running(WEB) == before
    assert pods.instances(other) == [(0, "running")]


@pytest.mark.parametrize("after", [0.0, 0.04, 0.08, 0.12, 0.16])
def test_a_pod_runs_once_though_containerd_is_killed_while_it_starts(
    pods: CriPods, after: float
) -> None:
    pods.run(WEB)
    wait(after)
    pods.containerd.restart()
    runs_once(pods)


@pytest.mark.parametrize("after", [0.0, 0.03, 0.06, 0.1])
def test_a_pod_is_stopped_though_containerd_is_killed_while_it_stops(
    pods: CriPods, after: float
) -> None:
    pods.run(WEB)
    pods.running(WEB)
    pods.stop(WEB)
    wait(after)
    pods.containerd.restart()
    pods.until(WEB, lambda told: not told.is_running)
    pods.forget(WEB)
    pods.until(WEB, lambda told: told.sandbox is None)
    if pods.containerd.ids():
        # containerd has lost the exit while it started, and removes nothing before it is started anew.
        assert pods.instances(WEB) == [(0, "running")]
        assert pods.containerd.tasks() == {}
        pods.containerd.restart()
        pods.is_there()
        pods.forget(WEB)
        wait_until(lambda: not pods.containerd.ids(), PATIENCE)


# --- shims and pauses ----------------------------------------------------------------------------------


def test_a_pod_whose_shim_is_killed_runs_again_in_a_new_sandbox(pods: CriPods) -> None:
    pods.run(WEB)
    pods.running(WEB)
    pods.containerd.kill_shim(pods.sandbox_id(WEB))
    pods.running(WEB, attempt=1)
    ended = pods.exited(WEB)
    assert ended.exit_code in {137, 255}
    told = pods.told(WEB)[-1]
    assert told.sandbox is not None
    assert (told.sandbox.attempt, told.sandbox.state) == (1, SandboxState.READY)


def test_a_pod_whose_pause_is_killed_gets_a_new_sandbox_and_all_its_containers_anew(
    pods: CriPods,
) -> None:
    pods.run(WEB)
    first = pods.running(WEB)
    pods.containerd.kill_task(pods.sandbox_id(WEB))
    second = pods.running(WEB, attempt=1)
    assert second.id != first.id
    told = pods.told(WEB)[-1]
    assert told.sandbox is not None
    assert (told.sandbox.attempt, told.sandbox.state) == (1, SandboxState.READY)
    assert [state for _, state in pods.instances(WEB)].count("running") == 1


def test_what_ignores_signals_is_killed_when_its_pause_was(pods: CriPods) -> None:
    stubborn = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"]
    containers = [
        {"name": "main", "image": BUSYBOX, "command": [*RUNS]},
        {"name": "stubborn", "image": BUSYBOX, "command": stubborn},
    ]
    pod = real_pod("web", containers=containers, terminationGracePeriodSeconds=1)
    pods.run(pod)
    pods.running(pod)
    pods.containerd.kill_task(pods.sandbox_id(pod))
    pods.running(pod, attempt=1)
    assert [state for _, state in pods.instances(pod)].count("running") <= 2
    pods.until(
        pod,
        lambda told: all(
            (one := told.containers[name].current) is not None
            and (one.attempt, one.state) == (1, ContainerState.RUNNING)
            for name in ("main", "stubborn")
        ),
    )


# --- what is done by hand ------------------------------------------------------------------------------


def test_a_container_that_is_removed_by_hand_is_started_anew(pods: CriPods) -> None:
    pods.run(WEB)
    first = pods.running(WEB)
    pods.containerd.remove_container(bare(first))
    again = pods.until(
        WEB,
        lambda told: (
            (main := told.containers["main"].current) is not None
            and main.id != first.id
            and main.state == "running"
        ),
    )
    assert again.containers["main"].current is not None


def test_a_pod_that_is_removed_by_hand_is_made_anew(pods: CriPods) -> None:
    pods.run(WEB)
    pods.running(WEB)
    first = pods.sandbox_id(WEB)
    with pods.containerd.client() as client:
        client.remove_sandbox(first)
    again = pods.until(
        WEB,
        lambda told: (
            told.sandbox is not None
            and told.sandbox.id != first
            and (main := told.containers["main"].current) is not None
            and main.state == "running"
        ),
    )
    assert again.is_running


@pytest.mark.parametrize("number", [1, 20])
def test_a_pod_whose_sandbox_is_stopped_by_hand_starts_once_and_its_init_container_first(
    pods: CriPods, tmp_path: Path, number: int
) -> None:
    def says(name: str, script: str) -> dict[str, Any]:
        command = ["sh", "-c", f"echo {name} >> /told/starts; {script}"]
        mounts = [{"name": "told", "mountPath": "/told"}]
        return {"name": name, "image": BUSYBOX, "command": command, "volumeMounts": mounts}

    # What was started is what has written, whatever the runtime and the agent say of it. To stop twenty lasts
    # several seconds: they are killed one after the other.
    names = ["main", *(f"c{place}" for place in range(1, number))]
    pod = real_pod(
        "web",
        initContainers=[says("init", "true")],
        containers=[says(name, "exec sleep 100000") for name in names],
        volumes=[{"name": "told", "hostPath": {"path": str(tmp_path)}}],
    )
    pods.run(pod)
    pods.running(pod)
    starts = tmp_path / "starts"
    wait_until(lambda: len(starts.read_text().split()) == number + 1, PATIENCE)
    with pods.containerd.client() as client:
        request = cri.StopPodSandboxRequest(pod_sandbox_id=pods.sandbox_id(pod))
        client.call(request, cri.StopPodSandboxResponse)
    pods.running(pod, attempt=1)
    wait_until(lambda: len(starts.read_text().split()) >= 2 * (number + 1), PATIENCE)
    started = starts.read_text().split()
    assert (started[0], started[number + 1]) == ("init", "init")
    assert sorted(started) == sorted(["init", *names] * 2)
    assert pods.exited(pod).exit_code == 137
    # A container may have written before the agent is answered that it was started.
    told = pods.until(pod, lambda told: attempts(told) == dict.fromkeys(["init", *names], 1))
    assert told.containers["init"].last is None


def attempts(told: PodObserved) -> dict[str, int | None]:
    """Return which attempt of each container is the present one."""
    return {
        name: each.current.attempt if each.current else None
        for name, each in told.containers.items()
    }


# --- the agent -----------------------------------------------------------------------------------------


def test_an_agent_that_is_killed_adopts_what_runs(pods: CriPods) -> None:
    pods.run(WEB)
    before = pods.running(WEB)
    pods.agent_is_killed()
    pods.run(WEB)
    assert pods.running(WEB) == before


@pytest.mark.parametrize("after", [0.0, 0.02, 0.05, 0.08, 0.11, 0.14, 0.17, 0.2])
def test_a_pod_runs_once_though_the_agent_is_killed_while_it_starts(
    pods: CriPods, after: float
) -> None:
    pods.run(WEB)
    wait(after)
    pods.agent_is_killed()
    pods.run(WEB)
    runs_once(pods)


@pytest.mark.parametrize("after", [0.0, 0.05, 0.1, 0.15])
def test_a_pod_is_stopped_though_the_agent_is_killed_while_it_stops(
    pods: CriPods, after: float
) -> None:
    pods.run(WEB)
    pods.running(WEB)
    pods.stop(WEB)
    wait(after)
    pods.agent_is_killed()
    pods.stop(WEB)
    pods.until(WEB, lambda told: not told.is_running)
    assert [state for _, state in pods.instances(WEB)].count("running") == 0
    pods.forget(WEB)
    pods.until(WEB, lambda told: told.sandbox is None)
    assert pods.containerd.ids() == set()


# --- many ----------------------------------------------------------------------------------------------


def test_thirty_pods_at_once_run_and_end(pods: CriPods) -> None:
    many = [real_pod(f"pod-{number}", *RUNS) for number in range(30)]
    pods.run(*many)
    for pod in many:
        pods.until(
            pod,
            lambda told: (
                (main := main_of(told)) is not None and main.state is ContainerState.RUNNING
            ),
        )
    assert len(pods.containerd.tasks()) == 60
    for pod in many:
        pods.stop(pod)
    for pod in many:
        pods.until(pod, lambda told: not told.is_running)
        pods.forget(pod)
    for pod in many:
        pods.until(pod, lambda told: told.sandbox is None)
    assert pods.containerd.ids() == set()
