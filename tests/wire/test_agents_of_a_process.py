"""Three whole agents in one process: what happens to two of them is nothing to the third."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from agent.app import Agent
from agent.edges import Edges
from kernel import EXIT_STOPPED, SharedThreads
from messages.units import Seconds
from server.actor import Listeners
from server.serving import ServerLoop
from settings.command_line import parse
from settings.load import settings_of
from tests.support.agent.process import eventually
from tests.support.patience import PATIENCE
from tests.support.wire.client import fetch

LONG: Final = Seconds(PATIENCE)
MOST_MORE: Final = 6
"""Threads that two more agents may have."""
POD: Final = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec: {{containers: [{{name: main, image: busybox}}]}}
"""


@dataclass(frozen=True, slots=True)
class Node:
    """One agent, with hollow pods of a directory of its own."""

    agent: Agent
    manifests: Path
    port: int

    def wants(self, name: str) -> None:
        """Put a manifest into its directory."""
        (self.manifests / f"{name}.yaml").write_text(POD.format(name=name))

    def runs(self) -> set[str]:
        """Return the pods that run, as its endpoint tells."""
        pods = fetch(self.port, "/pods").json["items"]
        running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
        return {pod["metadata"]["name"].split("-")[0] for pod in running}

    def restarts(self) -> dict[str, int]:
        """Return how often each actor was restarted."""
        return {each.name: each.restarts for each in self.agent.system.describe(LONG)}


@contextmanager
def running(folder: Path, number: int, threads: SharedThreads, loop: ServerLoop) -> Iterator[Node]:
    """Run an agent, and wait until a pod of it runs."""
    root, manifests = folder / f"root-{number}", folder / f"manifests-{number}"
    root.mkdir()
    manifests.mkdir()
    flags = ("--runtime=hollow", f"--root-dir={root}", f"--pod-manifest-path={manifests}")
    settings = settings_of(parse([*flags]), (), hostname=f"node-{number}")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        edges = Edges(server_loop=loop)
        agent = Agent(settings, Listeners(read_only=[listener]), runtime=threads, edges=edges)
        agent.system.start()
        node = Node(agent, manifests, listener.getsockname()[1])
        try:
            assert agent.system.wait_started(LONG)
            node.wants("first")
            eventually(lambda: node.runs() == {"first"})
            yield node
        finally:
            agent.system.stop()
            agent.system.wait(LONG)


def threads_of_process() -> int:
    """Return how many threads there are."""
    return len(threading.enumerate())


@pytest.fixture
def shared() -> Iterator[tuple[SharedThreads, ServerLoop]]:
    """Return what agents of one process share."""
    threads, loop = SharedThreads(), ServerLoop()
    threads.start()
    yield threads, loop
    loop.close()
    threads.end()


def test_the_actors_of_one_are_killed_another_stops_and_the_third_notices_nothing(
    tmp_path: Path, shared: tuple[SharedThreads, ServerLoop]
) -> None:
    with ExitStack() as held:
        one = held.enter_context(running(tmp_path, 1, *shared))
        of_one = threads_of_process()
        two = held.enter_context(running(tmp_path, 2, *shared))
        three = held.enter_context(running(tmp_path, 3, *shared))
        assert threads_of_process() <= of_one + MOST_MORE

        actors = [
            each.name for each in one.agent.system.describe(LONG) if each.type != "supervisor"
        ]
        for name in actors:
            one.agent.system.crash(name)
        two.agent.system.stop()
        assert two.agent.system.wait(LONG) == EXIT_STOPPED
        eventually(lambda: one.restarts().get("pod-manager", 0) > 0)
        three.wants("second")
        eventually(lambda: three.runs() == {"first", "second"})
        assert not any(three.restarts().values())

        one.wants("second")
        eventually(lambda: one.runs() == {"first", "second"})
