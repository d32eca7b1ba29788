"""A whole standalone agent that runs hollow pods, with a source that lists what a test says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from actors.pod_manager import POD_MANAGER
from agent.edges import Edges
from agent.tree import AgentTree
from kernel import AnySpec, ChildSpec, Steps, SupervisorSpec, isolated
from messages.pods import Pod
from messages.sources import Rescan
from server.actor import Listeners
from settings.command_line import parse
from settings.load import settings_of
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.stage import PATIENT_ROOT, Stage
from tests.support.node.node_stage import MadeUpMachine
from tests.support.runtimes.watched_core import ContainerWatch
from tests.support.sources.memory_source import FAKE_SOURCE, FakeMemory, FakeSource


class RunningAlone:
    """The agent, whose root is patient: it goes on however many crashes there are."""

    def __init__(self, *flags: str) -> None:
        self.watch = ContainerWatch()
        self._fake = FakeMemory(wanted=())
        line = parse(["--manifest-url=http://nowhere", "--runtime=hollow", *flags])
        settings = settings_of(line, (), hostname="node1")
        self._settings = replace(settings, root_dir=Path("/nonexistent"))
        self.steps = Steps(7)
        self.play = Stage(self._tree(), self.steps)
        self.play.start()

    def lists(self, *pods: Pod) -> None:
        """Have the source list ``pods``, and let everything that follows at once happen."""
        self.tells_listing(*pods)
        self.play.settle()

    def tells_listing(self, *pods: Pod) -> None:
        """The same, without letting anything happen yet."""
        self._fake.wanted = pods
        self.play.port(FAKE_SOURCE).tell(Rescan())

    def _tree(self) -> SupervisorSpec:
        edges = Edges(
            keep_watch=FakeDirectoryWatches(),
            machine=MadeUpMachine(),
            hollow=self.watch.make_core,
        )
        root = AgentTree(self._settings, Listeners(), lambda: self.play.system, edges).root()
        root = replace(root, intensity=PATIENT_ROOT.intensity, backoff=PATIENT_ROOT.backoff)
        return _with_child(root, isolated(FAKE_SOURCE, self._make_source))

    def _make_source(self) -> FakeSource:
        pod_manager = self.play.port(POD_MANAGER)
        return FakeSource(pod_manager, self._fake)


def _with_child(spec: SupervisorSpec, child: ChildSpec[Any]) -> SupervisorSpec:
    """Return ``spec`` with ``child`` in the place of the one that has its path, however deep."""

    def replaced(each: AnySpec) -> AnySpec:
        if isinstance(each, SupervisorSpec):
            return _with_child(each, child)
        return child if each.key.path == child.key.path else each

    return replace(spec, children=tuple(map(replaced, spec.children)))
