"""Which instance of a container is meant."""

from __future__ import annotations

from typing import Any

import pytest

from server.control.console import (
    CommandEnded,
    ConsoleError,
    Instance,
    instance_of,
    not_started,
    still_runs,
)

RUNC = (
    f'failed to exec in container: failed to start exec "{"a1" * 32}": OCI runtime exec failed: '
    "exec failed: unable to start container process: "
)


def status(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "restartCount": 0, **fields}


def pod(*statuses: dict[str, Any], inits: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "spec": {"containers": [{"name": each["name"]} for each in statuses]},
        "status": {"containerStatuses": list(statuses), "initContainerStatuses": list(inits)},
    }


RUNS = status(
    containerID="cri://b",
    restartCount=3,
    state={"running": {}},
    lastState={"terminated": {"containerID": "cri://a"}},
)
LOOPS = status(
    containerID="cri://a",
    restartCount=3,
    state={"waiting": {"reason": "CrashLoopBackOff"}},
    lastState={"terminated": {"containerID": "cri://a"}},
)
CREATED = status(state={"waiting": {"reason": "ContainerCreating"}})


@pytest.mark.parametrize(
    ("given", "previous", "found"),
    [
        (RUNS, False, Instance("main", "cri://b", 3, is_running=True)),
        (RUNS, True, Instance("main", "cri://a", 2, is_running=False)),
        (LOOPS, False, Instance("main", "cri://a", 3, is_running=False)),
        (LOOPS, True, Instance("main", "cri://a", 3, is_running=False)),
    ],
    ids=["runs", "before the one that runs", "loops", "before the next one"],
)
def test_it_is_the_one_that_runs_or_ran_last_or_the_one_before(
    given: dict[str, Any], *, previous: bool, found: Instance
) -> None:
    assert instance_of(pod(given), "", previous=previous) == found


ENDED = status(containerID="cri://b", state={"terminated": {"containerID": "cri://b"}})


@pytest.mark.parametrize(
    ("followed", "now", "runs"),
    [
        ("cri://b", pod(RUNS), True),
        ("cri://a", pod(RUNS), False),
        ("cri://a", pod(LOOPS), False),
        ("cri://b", pod(ENDED), False),
        ("cri://b", pod(CREATED), False),
        ("cri://b", pod(status("other", containerID="cri://b", state={"running": {}})), False),
    ],
    ids=["it runs", "the next one runs", "the next one waits", "it ended", "nothing ran", "gone"],
)
def test_an_instance_still_runs_until_it_has_ended_or_another_one_runs_in_its_place(
    followed: str, now: dict[str, Any], *, runs: bool
) -> None:
    assert still_runs(now, Instance("main", followed, 2, is_running=True)) is runs


def test_init_containers_are_found_by_their_name() -> None:
    init = status("setup", containerID="cri://i", state={"terminated": {}})
    assert instance_of(pod(RUNS, inits=(init,)), "setup", previous=False).id == "cri://i"


@pytest.mark.parametrize(
    ("given", "container", "previous", "why"),
    [
        (pod(CREATED), "", False, "container main has not been started yet: ContainerCreating"),
        (pod(RUNS), "other", False, "there is no container other in this pod; there is main"),
        (
            pod(RUNS, status("side")),
            "",
            False,
            "this pod has several containers, name one of them: main, side",
        ),
        ({}, "main", False, "there is no container main in this pod; there is none"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(
    given: dict[str, Any], container: str, *, previous: bool, why: str
) -> None:
    with pytest.raises(ConsoleError) as raised:
        instance_of(given, container, previous=previous)
    assert str(raised.value) == why


def test_before_the_first_instance_there_may_be_one_of_the_pod_that_had_this_name() -> None:
    found = instance_of(pod(CREATED), "", previous=True)
    assert found == Instance("main", "", 0, is_running=False, is_of_pod_before=True)


@pytest.mark.parametrize(
    ("said", "code", "why"),
    [
        (
            f'{RUNC}exec: "nosuch": executable file not found in $PATH: unknown',
            127,
            '"nosuch": executable file not found in $PATH',
        ),
        (
            f'{RUNC}exec: "/no": stat /no: no such file or directory: unknown',
            127,
            '"/no": stat /no: no such file or directory',
        ),
        (f'{RUNC}exec: "/etc": is a directory: unknown', 126, '"/etc": is a directory'),
        (
            "command error: crun: executable file `nosuch` not found in $PATH",
            127,
            "executable file `nosuch` not found in $PATH",
        ),
        (
            f"{RUNC}exec /script.sh: no such file or directory: unknown",
            127,
            "exec /script.sh: no such file or directory",
        ),
        (
            ("OCI runtime exec failed: exec failed: container_linux.go:380: starting container "
            'process caused: exec: "nosuch": executable file not found in $PATH: unknown'),
            127,
            '"nosuch": executable file not found in $PATH',
        ),
        ("crun: open executable: Permission denied", 126, "open executable: Permission denied"),
    ],
)  # fmt: skip
def test_a_command_that_cannot_be_started_has_the_exit_code_of_a_shell(
    said: str, code: int, why: str
) -> None:
    assert not_started(said) == CommandEnded(
        exit_code=code, output="", note=f"cannot be started: {why}"
    )


@pytest.mark.parametrize(
    "said",
    [
        "container not running",
        "failed to exec in container: cgroup is gone",
        "no such file or directory",
        'failed to create exec "a1": mkdir /run/containerd/io: no such file or directory',
        'OCI runtime exec failed: exec: "runc": executable file not found in $PATH: unknown',
        "OCI runtime exec failed: fork/exec /usr/bin/runc: permission denied: unknown",
        f'{RUNC}chdir to cwd ("/gone") set in config.json failed: no such file or directory: unknown',
        "exec: crun: cannot open `/sys/fs/cgroup/pod`: No such file or directory",
    ],
)
def test_another_trouble_of_a_runtime_is_no_end_of_a_command(said: str) -> None:
    assert not_started(said) is None
