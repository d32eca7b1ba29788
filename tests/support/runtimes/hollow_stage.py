"""A hollow runtime on a stage, and somebody who calls it and follows it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from files.record_keeper import RecordKeeper, RecordMemory
from kernel import Port, Runtime
from messages.container_runtime import (
    CallRuntime,
    ContainersAre,
    CreateContainer,
    FollowContainers,
    PodContainersAre,
    RunSandbox,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeFailure,
    RuntimeOutcome,
    RuntimeRequest,
    StartContainer,
)
from messages.pod_runtime import (
    ContainerObserved,
    DescribeRuntime,
    RuntimeDescribed,
    SandboxObserved,
)
from messages.pods import JsonObject, Pod
from messages.units import Seconds
from runtimes.hollow.actor import (
    HOLLOW_CONTAINERS,
    HollowContainers,
    HollowContainersMessage,
    HollowMemory,
)
from runtimes.hollow.behaviours import PREFIX
from runtimes.hollow.core import HollowCore
from runtimes.hollow.record_file import HOLLOW_RECORDS, HollowRecordFile
from runtimes.hollow.rules import HollowRules
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, StagedActor, stage_for

VERSION = "0.1.0"


def hollow_pod(name: str = "web", spec: Mapping[str, Any] | None = None, **said: str) -> Pod:
    """Return a pod with annotations for hollow containers: ``run_for="1s"``, ``run_for__main="1s"``."""
    annotations = {
        PREFIX + key.replace("__", ".").replace("_", "-"): value for key, value in said.items()
    }
    return make_pod(name, spec=spec or {}, annotations=annotations)


class HollowStage:
    """Calls a hollow runtime, and shows what it answers and tells."""

    def __init__(
        self, rules: HollowRules, runtime: Runtime | None = None, records: Path | None = None
    ) -> None:
        self.memory = HollowMemory(core=HollowCore(rules))
        self.records = RecordMemory(HollowRecordFile(records)) if records is not None else None
        self.play = stage_for(*self._actors(), runtime=runtime, root=PATIENT_ROOT)
        self.answers: Probe[RuntimeAnswered] = Probe()
        self.facts: Probe[RuntimeFact] = Probe()
        self._refs = itertools.count(1)

    def _actors(self) -> Iterator[StagedActor]:
        records = self.records
        if records is None:
            yield HOLLOW_CONTAINERS, lambda _: HollowContainers(VERSION, self.memory)
            return
        yield HOLLOW_RECORDS, lambda _: RecordKeeper(records)
        yield (
            HOLLOW_CONTAINERS,
            lambda play: HollowContainers(VERSION, self.memory, play.port(HOLLOW_RECORDS)),
        )

    def call(self, request: RuntimeRequest) -> RuntimeOutcome:
        """Make a call, and return its outcome, which comes without a wait."""
        self.send(request)
        answered = self.answers.drain()
        assert len(answered) == 1, answered
        return answered[0].outcome

    def send(self, request: RuntimeRequest) -> int:
        """Make a call, and return its ref."""
        ref = next(self._refs)
        call = CallRuntime(request=request, reply_to=self.answers, ref=ref)
        self.play.tell(HOLLOW_CONTAINERS, call)
        return ref

    def outcomes(self) -> list[RuntimeOutcome]:
        """Return the outcomes that came since the last look."""
        return [answered.outcome for answered in self.answers.drain()]

    def follow(self) -> ContainersAre:
        """Follow, and return what there is at the beginning."""
        self.facts.drain()
        self.play.tell(HOLLOW_CONTAINERS, FollowContainers(subscriber=self.facts))
        fact = self.facts.next()
        assert isinstance(fact, ContainersAre)
        return fact

    def told(self) -> list[PodContainersAre]:
        """Return what was told of single pods since the last look."""
        return [fact for fact in self.facts.drain() if isinstance(fact, PodContainersAre)]

    def described(self) -> RuntimeDescribed:
        def question(reply_to: Port[RuntimeDescribed]) -> HollowContainersMessage:
            return DescribeRuntime(reply_to=reply_to)

        return self.play.ask(HOLLOW_CONTAINERS, question)

    def crash(self) -> None:
        self.play.system.crash(HOLLOW_CONTAINERS.path)
        self.play.advance(1.0)

    # --- what a runtime of pods would do ---------------------------------------------------------------

    def sandbox(self, pod: Pod, attempt: int = 0) -> SandboxObserved:
        """Make a sandbox that is there at once."""
        outcome = self.call(RunSandbox(pod=pod, attempt=attempt))
        assert isinstance(outcome, SandboxObserved), outcome
        return outcome

    def created(
        self, pod: Pod, sandbox: SandboxObserved, name: str = "main", attempt: int = 0
    ) -> ContainerObserved:
        """Create a container that is there at once."""
        outcome = self.call(creation(pod, sandbox, name, attempt))
        assert isinstance(outcome, ContainerObserved), outcome
        return outcome

    def started(self, pod: Pod, name: str = "main", attempt: int = 0) -> ContainerObserved:
        """Run a container of ``pod`` in its sandbox, which is made if there is none."""
        sandboxes = self.memory.core.machine.inventory.contents(pod.uid)
        sandbox = sandboxes[0].sandbox if sandboxes else self.sandbox(pod)
        outcome = self.call(StartContainer(id=self.created(pod, sandbox, name, attempt).id))
        assert isinstance(outcome, ContainerObserved), outcome
        return outcome

    def refused(self, request: RuntimeRequest) -> RuntimeFailure:
        """Make a call that is refused at once."""
        outcome = self.call(request)
        assert isinstance(outcome, RuntimeFailure), outcome
        return outcome


def creation(
    pod: Pod, sandbox: SandboxObserved, name: str = "main", attempt: int = 0
) -> CreateContainer:
    """Return the request for a container of ``pod``."""
    return CreateContainer(
        pod=pod,
        container=container_of(pod, name),
        sandbox=sandbox,
        attempt=attempt,
        spec_hash="h1",
        image_id="",
    )


def container_of(pod: Pod, name: str) -> JsonObject:
    """Return one container of the specification, of whatever kind."""
    spec = pod.document["spec"]
    kinds = ("containers", "initContainers", "ephemeralContainers")
    found = [each for kind in kinds for each in spec.get(kind, ()) if each["name"] == name]
    container: JsonObject = found[0]
    return container


@contextmanager
def hollow_stage(
    rules: HollowRules | None = None,
    runtime: Runtime | None = None,
    records: Path | None = None,
    *,
    at: float = 0.0,
) -> Iterator[HollowStage]:
    """Start a hollow runtime for the ``with`` block, ``at`` seconds after the test's epoch."""
    stage = HollowStage(rules or HollowRules(), runtime, records)
    stage.play.clock.move(Seconds(at))
    stage.play.start()
    try:
        yield stage
    finally:
        assert stage.play.stop() == 0
