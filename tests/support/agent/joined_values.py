"""A joined agent in this process, so that values can be read as those read them who run pods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actors.objects.manager import SECRET_MANAGER
from agent.app import Agent
from kube.streams.actor import WATCHES
from messages.objects import GetObject, ObjectRead, ReadVerdict, RegisterPod
from messages.pods import JsonObject, Pod, PodUid
from messages.port import Port
from messages.units import Seconds
from messages.watches import DescribeWatches, WatchesDescribed
from server.actor import Listeners
from settings.configuration.file import ConfigurationFile
from settings.flags.command_line import parse
from settings.load import settings_of
from tests.support.agent.joined_agent import NODE_NAME
from tests.support.agent.process import eventually
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE

PLENTY = Seconds(PATIENCE)
"""For a read in a story that is not about how long it takes."""


class Insider:
    """Reads Secrets for pods."""

    def __init__(self, agent: Agent) -> None:
        self._system = agent.system

    def read(self, pod: JsonObject, name: str, within: Seconds = PLENTY) -> ObjectRead:
        """Return what comes of a pod's read: of its first one if the agent only comes to know the pod."""
        uid = PodUid(pod["metadata"]["uid"])
        return eventually(lambda: self._answer(uid, name, within))

    def begin_to_read(self, pod: JsonObject, name: str) -> Probe[ObjectRead]:
        """Have a pod read a Secret that it references, whatever the API server says of either.

        Return where the answer will be told.
        """
        manager, answers = self._system.address(SECRET_MANAGER), Probe[ObjectRead]()
        known = Pod.of(pod)
        manager.tell(RegisterPod(pod=known))
        manager.tell(GetObject(pod=known.uid, name=name, reply_to=answers, within=PLENTY))
        return answers

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

    def _answer(self, pod: PodUid, name: str, within: Seconds) -> ObjectRead | None:
        def question(reply_to: Port[ObjectRead]) -> GetObject:
            return GetObject(pod=pod, name=name, reply_to=reply_to, within=within)

        manager = self._system.address(SECRET_MANAGER)
        answer = self._system.ask(manager, question, Seconds(within + PATIENCE))
        return None if answer.verdict is ReadVerdict.NOT_REGISTERED else answer


@contextmanager
def insider(folder: Path, kubeconfig: Path, **configuration: str) -> Iterator[Insider]:
    """Run an agent without endpoints for node n1, until the end of the block."""
    line = parse(
        [
            f"--kubeconfig={kubeconfig}",
            "--runtime=hollow",
            f"--hostname-override={NODE_NAME}",
            f"--root-dir={folder}",
        ]
    )
    settings = settings_of(line, [ConfigurationFile(given=configuration)], hostname=NODE_NAME)
    agent = Agent(settings, Listeners())
    agent.system.start()
    try:
        assert agent.system.wait_started(Seconds(PATIENCE))
        yield Insider(agent)
    finally:
        agent.system.stop()
        agent.system.wait(Seconds(PATIENCE))
