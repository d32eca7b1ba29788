"""A signal to stop that comes while the agent still starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.agent.process import ROOT, eventually, manifest
from tests.support.patience import PATIENCE
from tests.support.wire.ports import free_ports

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

Launcher: TypeAlias = tuple[str, ...]

DIRECTLY: Launcher = ()
AS_PROCESS_1: Launcher = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""As in a container: the kernel keeps from it every signal that it has no handler for."""


@contextmanager
def starting(folder: Path, launcher: Launcher) -> Iterator[subprocess.Popen[bytes]]:
    """Start an agent, or who starts it, with its log in ``folder``."""
    (folder / "web.yaml").write_text(manifest("web"))
    port, health_port = free_ports(2)
    command = [
        *launcher,
        sys.executable,
        str(ROOT / "run.py"),
        "--hostname-override=node1",
        "--runtime=hollow",  # whatever this machine has
        f"--root-dir={folder / 'root'}",
        f"--pod-manifest-path={folder / 'web.yaml'}",
        f"--read-only-port={port}",
        f"--healthz-port={health_port}",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            yield process
        finally:
            process.kill()


def agent_of(process: subprocess.Popen[bytes], launcher: Launcher) -> int | None:
    """Return the agent's process ID as this process sees it, None before its own first lines have run.

    They have it take no notice of SIGUSR1, which until then would end it; later it is handled.
    """
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    # What the agent itself has started is none of it.
    for pid in map(int, children) if launcher else [process.pid]:
        status = Path(f"/proc/{pid}/status").read_text()
        lines = (line.split() for line in status.splitlines())
        masks = [int(words[1], 16) for words in lines if words[0] in {"SigIgn:", "SigCgt:"}]
        if any(mask >> (signal.SIGUSR1 - 1) & 1 for mask in masks):
            return pid
    return None


def at_once(_folder: Path) -> bool:
    return True


def once_it_says_so(folder: Path) -> bool:
    return "starting" in (folder / "log").read_text()


@pytest.fixture(params=[DIRECTLY, AS_PROCESS_1], ids=["directly", "as process 1"])
def launcher(request: pytest.FixtureRequest) -> Launcher:
    """Return what to put before the command line of an agent."""
    launcher: Launcher = request.param
    if (
        launcher
        and subprocess.run([*launcher, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("needs the right to make a namespace of processes")
    return launcher


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGTERM, at_once),
        (signal.SIGINT, at_once),
        (signal.SIGTERM, once_it_says_so),
    ],
)
def test_a_signal_to_stop_is_never_lost_while_it_starts(
    tmp_path: Path, launcher: Launcher, number: signal.Signals, moment: Callable[[Path], bool]
) -> None:
    with starting(tmp_path, launcher) as process:
        pid = eventually(lambda: agent_of(process, launcher))
        eventually(lambda: moment(tmp_path))
        os.kill(pid, number)
        assert process.wait(PATIENCE) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
