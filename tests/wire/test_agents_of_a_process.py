"""Three whole agents in one process: what happens to two of them is nothing to the third."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from agent.app import Agent
from agent.edges import Edges, ProcessEdges
from kernel import EXIT_STOPPED, Port
from kube.streams.actor import WATCHES
from messages.units import Seconds
from messages.watches import DescribeWatches, WatchesDescribed
from server.actor import Listeners
from settings.command_line import parse
from settings.load import settings_of
from tests.support.agent.process import eventually
from tests.support.apiserver.fake_api_server import FakeApiServer
from tests.support.apiserver.users import ADMIN
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
Wants: TypeAlias = Callable[[str], None]
"""Has an agent run a pod of this name."""


@dataclass(frozen=True, slots=True)
class Node:
    """One agent, with hollow pods of its own."""

    agent: Agent
    port: int
    wants: Wants

    def runs(self) -> set[str]:
        """Return the pods that run, as its endpoint tells."""
        pods = fetch(self.port, "/pods").json["items"]
        running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
        return {pod["metadata"]["name"].split("-")[0] for pod in running}

    def restarts(self) -> dict[str, int]:
        """Return how often each actor was restarted."""
        return {each.name: each.restarts for each in self.agent.system.describe(LONG)}

    def kill_actors(self) -> None:
        """Have each of its actors crash."""
        actors = [each for each in self.agent.system.describe(LONG) if each.type != "supervisor"]
        for each in actors:
            self.agent.system.crash(each.name)

    def watches(self) -> WatchesDescribed:
        """Return how its watches are."""

        def question(reply_to: Port[WatchesDescribed]) -> DescribeWatches:
            return DescribeWatches(reply_to=reply_to)

        return self.agent.system.ask(self.agent.system.address(WATCHES), question, LONG)


Start: TypeAlias = Callable[[int], Node]
"""Starts the agent of this number, and waits until a pod of it runs."""


@contextmanager
def running(
    folder: Path, process: ProcessEdges, number: int, flags: tuple[str, ...], wants: Wants
) -> Iterator[Node]:
    """Run an agent, and wait until a pod of it runs."""
    root = folder / f"root-{number}"
    root.mkdir()
    all_flags = ["--runtime=hollow", f"--root-dir={root}", *flags]
    settings = settings_of(parse(all_flags), (), hostname=f"node-{number}")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        agent = Agent(
            settings,
            Listeners(read_only=[listener]),
            runtime=process.threads,
            edges=Edges(process=process),
        )
        agent.system.start()
        node = Node(agent, listener.getsockname()[1], wants)
        try:
            assert agent.system.wait_started(LONG)
            node.wants("first")
            eventually(lambda: node.runs() == {"first"})
            yield node
        finally:
            agent.system.stop()
            agent.system.wait(LONG)


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


@pytest.fixture
def process(held: ExitStack) -> ProcessEdges:
    """Return what agents of one process share."""
    return held.enter_context(ProcessEdges())


@pytest.fixture
def alone(tmp_path: Path, process: ProcessEdges, held: ExitStack) -> Start:
    """Return what starts an agent with a directory of its own."""

    def start(number: int) -> Node:
        manifests = tmp_path / f"manifests-{number}"
        manifests.mkdir()

        def wants(name: str) -> None:
            (manifests / f"{name}.yaml").write_text(POD.format(name=name))

        flags = (f"--pod-manifest-path={manifests}",)
        return held.enter_context(running(tmp_path, process, number, flags, wants))

    return start


@pytest.fixture
def joined(tmp_path: Path, process: ProcessEdges, held: ExitStack) -> Start:
    """Return what starts an agent that joins the same cluster as the others, with a Node of its own."""
    server = held.enter_context(FakeApiServer())
    kubeconfig = server.kubeconfig(tmp_path, ADMIN)

    def start(number: int) -> Node:
        def wants(name: str) -> None:
            for document in (secret(name, number), bound_pod(name, number)):
                server.http.call(partial(server.store.add, document))

        flags = (f"--kubeconfig={kubeconfig}",)
        return held.enter_context(running(tmp_path, process, number, flags, wants))

    return start


def secret(name: str, number: int) -> dict[str, Any]:
    """Return a Secret."""
    metadata = {"name": f"{name}-{number}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {}}


def bound_pod(name: str, number: int) -> dict[str, Any]:
    """Return a pod that is bound to the Node of this number, and uses a Secret of its own."""
    source = {"secretRef": {"name": f"{name}-{number}"}}
    main = {"name": "main", "image": "busybox", "envFrom": [source]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-{number}", "namespace": "default"},
        "spec": {"nodeName": f"node-{number}", "containers": [main]},
    }


def threads_of_process() -> int:
    """Return how many threads there are."""
    return len(threading.enumerate())


@pytest.mark.parametrize("kind", ["alone", "joined"])
def test_the_actors_of_one_are_killed_another_stops_and_the_third_notices_nothing(
    kind: str, request: pytest.FixtureRequest
) -> None:
    start: Start = request.getfixturevalue(kind)
    one = start(1)
    of_one = threads_of_process()
    two, three = start(2), start(3)
    assert threads_of_process() <= of_one + MOST_MORE, sorted(
        each.name for each in threading.enumerate()
    )

    one.kill_actors()
    two.agent.system.stop()
    assert two.agent.system.wait(LONG) == EXIT_STOPPED
    eventually(lambda: one.restarts().get("pod-manager", 0) > 0)
    three.wants("second")
    eventually(lambda: three.runs() == {"first", "second"})
    assert not any(three.restarts().values())
    if kind == "joined":
        assert three.watches().reconnects == {}
        assert three.watches().streams == len(("its Node", "its pods", "first", "second"))

    one.wants("second")
    eventually(lambda: one.runs() == {"first", "second"})
