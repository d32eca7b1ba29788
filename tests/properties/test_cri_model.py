"""A runtime that changes by itself and by other hands, while calls, events, crashes and outages come.

In the end what is known is what there is, each call has one answer, and nothing ever ran again after its end.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from kernel import Steps
from messages.container_runtime import (
    ContainersAre,
    LookAtPod,
    PodContainersAre,
    RemoveContainer,
    RemoveSandbox,
    RunSandbox,
    RuntimeRequest,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import ContainerState, SandboxObserved
from messages.units import Seconds
from runtimes.cri.configs.reading import CONTAINER_STATES, SANDBOX_STATES
from tests.support.cri.cri_stage import CriStage, creation_in, cri_pod
from tests.support.cri.fake_cri import CONTAINERD_EVENTS, CRI_EVENTS, NEVER, Fault
from tests.support.cri.fake_machine import Behaviour
from tests.support.cri.fake_wire import BROKEN

PODS = [cri_pod("one"), cri_pod("two")]
NUMBERS = st.integers(0, 7)
EVENTS = st.sampled_from([(CRI_EVENTS,), (CONTAINERD_EVENTS,), ()])
METHODS = st.sampled_from(
    [
        "RunPodSandbox",
        "CreateContainer",
        "StartContainer",
        "StopContainer",
        "RemoveContainer",
        "ListContainers",
        "ListPodSandbox",
        "ContainerStatus",
        "PodSandboxStatus",
        "Version",
    ]
)
ENDED = ContainerState.EXITED


class CriHistories(RuleBasedStateMachine):
    """Any history."""

    @initialize(seed=st.integers(0, 1000), events=EVENTS, lags=st.sampled_from([0.0, 0.06, 0.3]))
    def begin(self, seed: int, events: tuple[str, ...], lags: float) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="cri-")
        self.stage = CriStage(Path(self.folder.name), Steps(seed))
        self.stage.cri.events = events
        self.stage.machine.behaviours = {
            "main": Behaviour(says_running_for=lags),
            "beside": Behaviour(run_for=0.5, exit_code=3, says_running_for=lags),
        }
        self.stage.play.start()
        self.stage.follow()
        self.sent: list[int] = []
        self.answered: list[Any] = []
        self.attempts = 0
        self.states: dict[str, ContainerState] = {}

    # --- what the agent does ---------------------------------------------------------------------------

    def send(self, request: RuntimeRequest) -> None:
        self.sent.append(self.stage.send(request))

    @rule(pod=st.sampled_from(PODS))
    def run_sandbox(self, pod: Any) -> None:
        self.attempts += 1
        self.send(RunSandbox(pod=pod, attempt=self.attempts))

    @rule(number=NUMBERS, name=st.sampled_from(["main", "beside"]))
    def create(self, number: int, name: str) -> None:
        everything = self.stage.memory.inventory.everything()
        if everything:
            one = everything[number % len(everything)]
            (pod,) = [each for each in PODS if each.uid == one.pod.uid]
            self.attempts += 1
            sandbox: SandboxObserved = one.sandbox
            self.send(creation_in(pod, sandbox, name, self.attempts))

    @rule(
        number=NUMBERS,
        what=st.sampled_from(["start", "stop", "remove", "look", "stop pod", "remove pod"]),
    )
    def change(self, number: int, what: str) -> None:
        everything = self.stage.memory.inventory.everything()
        containers = [one.id for each in everything for one in each.containers]
        if not containers:
            return
        container = containers[number % len(containers)]
        one = everything[number % len(everything)]
        requests: dict[str, RuntimeRequest] = {
            "start": StartContainer(id=container),
            "stop": StopContainer(id=container, grace=Seconds(1.0)),
            "remove": RemoveContainer(id=container),
            "look": LookAtPod(uid=one.pod.uid),
            "stop pod": StopSandbox(id=one.sandbox.id),
            "remove pod": RemoveSandbox(id=one.sandbox.id),
        }
        self.send(requests[what])

    # --- what happens ----------------------------------------------------------------------------------

    @rule(number=NUMBERS, what=st.sampled_from(["end", "remove", "kill pause", "remove pod"]))
    def other_hands(self, number: int, what: str) -> None:
        machine = self.stage.machine
        containers, sandboxes = list(machine.containers), list(machine.sandboxes)
        if what == "end" and containers:
            machine.end(containers[number % len(containers)], number)
        elif what == "remove" and containers:
            machine.remove_container(containers[number % len(containers)])
        elif what == "kill pause" and sandboxes:
            machine.kill_pause(sandboxes[number % len(sandboxes)])
        elif sandboxes and number == 0:
            machine.remove_sandbox(sandboxes[0])

    @rule(seconds=st.sampled_from([0.01, 0.05, 0.3, 2.0]))
    def pass_time(self, seconds: float) -> None:
        self.stage.play.advance(seconds)

    @rule(
        method=METHODS,
        delay=st.sampled_from([0.0, 0.05, 0.7]),
        breaks=st.booleans(),
        effect_after=st.sampled_from([0.0, 0.3, NEVER]),
    )
    def trouble(self, method: str, delay: float, effect_after: float, *, breaks: bool) -> None:
        fault = Fault(method=method, delay=delay, failure=BROKEN if breaks else None)
        fault.effect_after = effect_after if breaks else min(effect_after, 0.3)
        self.stage.cri.faults.append(fault)

    @rule(loses=st.booleans(), repeats=st.booleans())
    def events_are_bad(self, *, loses: bool, repeats: bool) -> None:
        self.stage.cri.loses_events, self.stage.cri.repeats_events = loses, repeats

    @rule()
    def crash(self) -> None:
        self.stage.crash()

    @precondition(lambda self: self.stage.wire.is_there)
    @rule()
    def go_away(self) -> None:
        self.stage.wire.go_away()

    @precondition(lambda self: not self.stage.wire.is_there)
    @rule()
    def come_back(self) -> None:
        self.stage.wire.come_back()

    # --- what holds ------------------------------------------------------------------------------------

    @invariant()
    def nothing_runs_again(self) -> None:
        if not hasattr(self, "stage"):
            return
        for fact in self.stage.facts.drain():
            if isinstance(fact, ContainersAre | PodContainersAre):
                for one in (one for each in fact.sandboxes for one in each.containers):
                    before = self.states.get(one.id)
                    assert before is not ENDED or one.state is ENDED, one.id
                    self.states[one.id] = one.state

    @invariant()
    def each_call_is_answered_once(self) -> None:
        if hasattr(self, "stage"):
            self.answered += [each.ref for each in self.stage.answers.drain()]
            assert len(self.answered) == len({*self.answered})

    @override
    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        stage, machine = self.stage, self.stage.machine
        stage.cri.faults.clear()
        stage.cri.loses_events = False
        stage.wire.come_back()
        stage.play.advance(25.0)
        self.nothing_runs_again()
        self.each_call_is_answered_once()
        assert sorted(self.answered) == sorted(self.sent)
        known = stage.memory.inventory.everything()
        assert {each.sandbox.id: each.sandbox.state for each in known} == {
            each.id: SANDBOX_STATES[each.state] for each in machine.sandboxes.values()
        }
        assert {one.id: one.state for each in known for one in each.containers} == {
            f"containerd://{each.id}": CONTAINER_STATES[each.state]
            for each in machine.containers.values()
        }
        assert stage.memory.operations.running == {}
        assert len(stage.cri.streams) == bool(stage.cri.events)
        assert stage.play.stop() == 0
        self.folder.cleanup()


TestCriHistories = CriHistories.TestCase
