"""A joined agent in this process, so that values can be read as those read them who run pods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actors.objects.manager_parts import OBJECT_HOLDERS, SECRET_MANAGER
from agent.app import Agent
from agent.edges import Edges, ProcessEdges
from kernel import StartChild, isolated
from kube.streams.actor import WATCHES
from manifests.references import object_of
from messages.objects import ObjectKind, RegisterPod
from messages.pods import JsonObject, Pod
from messages.port import Port
from messages.units import Seconds
from messages.watches import DescribeWatches, WatchesDescribed
from server.actor import Listeners
from settings.command_line import parse
from settings.configuration_file import ConfigurationFile
from settings.load import settings_of
from tests.support.agent.joined_agent import NODE_NAME
from tests.support.agent.process import eventually
from tests.support.objects.reader import READER, Answer, Read, Reader, ReadMemory
from tests.support.patience import PATIENCE

PLENTY = Seconds(PATIENCE)
"""For a read in a story that is not about how long it takes."""


class Insider:
    """Reads Secrets for pods."""

    def __init__(self, agent: Agent) -> None:
        self._system = agent.system
        self._reads = ReadMemory()
        self._reader = agent.system.address(READER)
        levels = agent._tree.agent.objects
        spec = isolated(READER, lambda: Reader(levels, self._reader, self._reads))
        agent.system.address(OBJECT_HOLDERS).tell(StartChild(spec=spec))

    def read(self, pod: JsonObject, name: str, within: Seconds = PLENTY) -> Answer:
        """Return what comes of a pod's read."""
        self.begin_to_read(pod, name, within)
        (answer,) = eventually(self.answers)
        return answer

    def begin_to_read(self, pod: JsonObject, name: str, within: Seconds = PLENTY) -> None:
        """Have a pod read a Secret that it references, whatever the API server says of either."""
        known = Pod.of(pod)
        self._system.address(SECRET_MANAGER).tell(RegisterPod(pod=known))
        self._reader.tell(Read(object_of(known, ObjectKind.SECRET, name), within))

    def answers(self) -> list[Answer]:
        """Return the answers since the last look."""
        return self._reads.take_answers()

    def password(self, pod: JsonObject, name: str) -> str:
        """Return what a pod reads as the password in a Secret, empty if it reads none."""
        value = self.read(pod, name).value
        return value.data["password"].decode() if value is not None else ""

    def forbidden(self) -> int:
        """Return how many lists and watches were answered with a 403."""
        return self._answered("403")

    def is_connected(self) -> bool:
        """Whether any list or watch was answered as it should be."""
        return self._answered("200") > 0

    def _answered(self, wanted: str) -> int:
        def question(reply_to: Port[WatchesDescribed]) -> DescribeWatches:
            return DescribeWatches(reply_to=reply_to)

        described = self._system.ask(self._system.address(WATCHES), question)
        return sum(count for (code, *_), count in described.requests.items() if code == wanted)


@contextmanager
def insider(folder: Path, kubeconfig: Path, **configuration: str) -> Iterator[Insider]:
    """Run an agent without endpoints for node n1, until the end of the block."""
    line = parse(
        [
            f"--kubeconfig={kubeconfig}",
            "--port=0",
            "--runtime=hollow",
            f"--hostname-override={NODE_NAME}",
            f"--root-dir={folder}",
        ]
    )
    settings = settings_of(line, [ConfigurationFile(given=configuration)], hostname=NODE_NAME)
    with ProcessEdges() as process:
        edges = Edges(process=process)
        agent = Agent(settings, Listeners(), runtime=process.threads, edges=edges)
        agent.system.start()
        try:
            assert agent.system.wait_started(Seconds(PATIENCE))
            yield Insider(agent)
        finally:
            agent.system.stop()
            agent.system.wait(Seconds(PATIENCE))
