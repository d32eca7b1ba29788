"""A virtual node: runs the command of each container as a process of this machine.

``examples/virtual-node/README.md`` says how to try it. Each container has a directory with the number of its
process group and, once it has ended, its exit code. So processes outlive the agent, and are found again.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from actorlet import ContainerReport, Pod, PodProvider, PodReport

STATE = Path(os.environ.get("PROCESS_NODE_DIR", f"/tmp/process-node-{os.getuid()}"))  # noqa: S108
# A shell leads the process group. It waits for the command, and writes down how that ended.
SHELL = 'cd "$0"; trap : TERM; echo $$ >group; "$@" >log 2>&1; echo $? >new; mv new exit'


class ProcessNode(PodProvider):
    """Runs processes without isolation: for a try, or for commands that you trust."""

    def __init__(self) -> None:
        STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._kill_at: dict[int, float] = {}  # by process group

    @override
    def run(self, pod: Pod) -> None:
        containers = pod.document["spec"]["containers"]
        # Both may raise. Then the pod is not begun, has an event that says why, and is tried again.
        commands = {each["name"]: self.command(pod, each) for each in containers}
        variables = {each["name"]: self.environment(pod, each) for each in containers}
        if not all(commands.values()):
            raise ValueError("each container needs a command: there are no images here")
        whose = {"namespace": pod.namespace, "name": pod.name, "source": pod.source}
        for name, command in commands.items():
            place = STATE / pod.uid / name
            if not place.exists():  # else it was begun before
                place.mkdir(parents=True)
                child = subprocess.Popen(  # noqa: S603
                    ["/bin/sh", "-c", SHELL, place, *command],
                    env={"PATH": os.defpath, **variables[name]},
                    start_new_session=True,
                )
                self._children[child.pid] = child
        (STATE / pod.uid / "whose").write_text(json.dumps(whose))

    @override
    def stop(self, pod: Pod, grace: float) -> None:
        for place in (STATE / pod.uid).glob("*/"):
            _signal(_group(place), signal.SIGTERM)
            self._kill_at[_group(place)] = time.monotonic() + grace

    @override
    def forget(self, pod: Pod) -> None:
        shutil.rmtree(STATE / pod.uid, ignore_errors=True)

    @override
    def observe(self) -> dict[str, PodReport]:
        for pid, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[pid]
        for group, moment in list(self._kill_at.items()):
            if moment <= time.monotonic():
                _signal(group, signal.SIGKILL)
                del self._kill_at[group]
        # A directory without containers is just being begun, or removed.
        return {pod.name: _pod(pod) for pod in STATE.iterdir() if any(pod.glob("*/"))}


def _pod(place: Path) -> PodReport:
    whose = {}
    with suppress(FileNotFoundError, json.JSONDecodeError):  # it is just being begun, or forgotten
        whose = json.loads((place / "whose").read_text())
    containers = {each.name: _container(each) for each in place.glob("*/")}
    return PodReport(containers=containers, ip="127.0.0.1", **whose)


def _container(place: Path) -> ContainerReport:
    group = _group(place)
    lives = _signal(group, 0)  # before the look at the exit code, which may come meanwhile
    with suppress(FileNotFoundError):
        return ContainerReport(exit_code=int((place / "exit").read_text()))
    if group == 0:
        return ContainerReport(state="waiting")
    return ContainerReport() if lives else ContainerReport(exit_code=128 + signal.SIGKILL)


def _group(place: Path) -> int:
    """Return the number of a container's process group; 0 while there is none."""
    with suppress(FileNotFoundError, ValueError):
        return int((place / "group").read_text())
    return 0


def _signal(group: int, number: int) -> bool:
    """Send a signal to a process group. Return whether there is one."""
    with suppress(ProcessLookupError, PermissionError):
        if group:
            os.killpg(group, number)
            return True
    return False
