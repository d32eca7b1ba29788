"""Signals reach processes of their container, and nobody else."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from runtimes.cri.cgroups.container_signals import (
    SignalOutcome,
    cgroups_of_process,
    is_in_container,
    signal_container,
)

ID = "4f0c7c1d9b"
CGROUPS = f"0::/kubepods/burstable/podu1/{ID}"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """Return a process that waits."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def of_container(_pid: int) -> str:
    return CGROUPS


@pytest.mark.parametrize(
    ("cgroups", "expected"),
    [
        (CGROUPS, True),
        (f"3:cpu,cpuacct:/kubepods/podu1/{ID}\n0::/", True),
        (f"0::/kubepods.slice/kubepods-podu1.slice/cri-containerd-{ID}.scope", True),
        (f"0::/kubepods/podu1/{ID}/init.scope", True),
        (f"0::/kubepods/podu1/{ID}0", False),
        (f"0::/kubepods/podu1/0{ID}", False),
        (f"0::/kubepods/cri-containerd-0{ID}.scope", False),
        ("0::/", False),
        ("", False),
    ],
)
def test_a_process_is_the_containers_by_its_cgroup(cgroups: str, *, expected: bool) -> None:
    assert is_in_container(cgroups, ID) == expected


def test_a_process_of_the_container_gets_the_signal(sleeper: subprocess.Popen[bytes]) -> None:
    found = signal_container(sleeper.pid, ID, signal.SIGTERM, of_container)
    assert found is SignalOutcome.SENT
    assert sleeper.wait() == -signal.SIGTERM


def test_a_process_of_somebody_else_gets_none(sleeper: subprocess.Popen[bytes]) -> None:
    assert signal_container(sleeper.pid, ID, signal.SIGKILL) is SignalOutcome.OF_ANOTHER
    assert sleeper.poll() is None


@pytest.mark.parametrize("pid", [0, -1])
def test_a_number_that_means_many_processes_is_none_of_the_containers(pid: int) -> None:
    assert signal_container(pid, ID, signal.SIGKILL, of_container) is SignalOutcome.OF_ANOTHER


def test_without_a_container_no_process_is_its_own(sleeper: subprocess.Popen[bytes]) -> None:
    found = signal_container(sleeper.pid, "", signal.SIGKILL, of_container)
    assert found is SignalOutcome.OF_ANOTHER
    assert sleeper.poll() is None


def test_a_process_that_has_ended_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    sleeper.wait()
    assert signal_container(sleeper.pid, ID, signal.SIGHUP, of_container) is SignalOutcome.GONE
    with pytest.raises(ProcessLookupError):
        cgroups_of_process(sleeper.pid)


def test_a_process_that_nobody_has_waited_for_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert signal_container(sleeper.pid, ID, signal.SIGHUP, of_container) is SignalOutcome.GONE


def test_a_number_that_gets_a_new_owner_amid_it_harms_nobody() -> None:
    """What was opened ends after its cgroup was read: the one who has its number then is not meant."""
    with subprocess.Popen(["sleep", "60"]) as process:

        def ending(pid: int) -> str:
            process.kill()
            process.wait()
            return of_container(pid)

        found = signal_container(process.pid, ID, signal.SIGHUP, ending)
    assert found is SignalOutcome.GONE


def test_a_process_that_ends_while_it_is_looked_at_is_gone(
    sleeper: subprocess.Popen[bytes],
) -> None:
    def gone(pid: int) -> str:
        raise ProcessLookupError(pid)

    assert signal_container(sleeper.pid, ID, signal.SIGHUP, gone) is SignalOutcome.GONE
