"""Random histories of a hollow runtime: what is told is what there is, and nothing ever goes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from typing_extensions import override

from messages.container_runtime import (
    CallRuntime,
    LookAtPod,
    PodContainersAre,
    RemoveContainer,
    RemoveSandbox,
    RunSandbox,
    RuntimeFailure,
    RuntimeOutcome,
    RuntimeRequest,
    SandboxContents,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved, SandboxState
from messages.pods import PodUid
from messages.units import Instant, Seconds, Timestamp
from runtimes.hollow.core import HollowCore
from runtimes.hollow.rules import HollowRules
from runtimes.hollow.saved import decoded, encoded, restore, saved
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.probe import Probe
from tests.support.runtimes.hollow_stage import creation, hollow_pod

PODS = [
    hollow_pod("plain"),
    hollow_pod("crashes", run_for="1s-3s", exits="1,OOMKilled,StartError,0"),
    hollow_pod("slow", time_to_create_sandbox="1s", time_to_create="2s", time_to_start="1s-4s"),
    hollow_pod("stubborn", ignores_sigterm="true", ready_after="2s"),
    hollow_pod("patient", time_to_stop="3s", stop_exit_code="143", run_for="6s", exits="0"),
    hollow_pod("dies", sandbox_dies_after="5s", ready_after="1s-9s"),
]
ORDER = [ContainerState.CREATED, ContainerState.RUNNING, ContainerState.EXITED]
STEPS_PER_TURN = 3

pods = st.sampled_from(PODS)
graces = st.sampled_from([0.0, 0.5, 2.0, 30.0])


Sandboxes: TypeAlias = dict[str, tuple[SandboxObserved, dict[str, ContainerObserved]]]


def by_sandbox(contents: Iterable[SandboxContents]) -> Sandboxes:
    """Return sandboxes by their ids, each with its containers by theirs."""
    return {
        each.sandbox.id: (each.sandbox, {one.id: one for one in each.containers})
        for each in contents
    }


class HollowModel(RuleBasedStateMachine):
    """Calls a core, and believes nothing but answers and facts."""

    def __init__(self) -> None:
        super().__init__()
        self.core = HollowCore(HollowRules())
        self.now = Instant(Seconds(0.0), EPOCH)
        self.waiting: dict[int, RuntimeRequest] = {}
        self.believed: dict[PodUid, Sandboxes] = {}
        self.seen: dict[str, ContainerObserved] = {}
        """Each container as it was last, those too that were removed."""
        self.last_ref = 0
        self.attempts: Counter[Any] = Counter()

    # --- what it does ----------------------------------------------------------------------------------

    def call(self, request: RuntimeRequest) -> None:
        self.last_ref += 1
        self.waiting[self.last_ref] = request
        call = CallRuntime(request=request, reply_to=Probe(), ref=self.last_ref)
        self.take(self.core.take(call, self.now))

    def take(self, answers: list[Any]) -> None:
        changed, moments, looks = self.core.take_changed(), [self.as_believed()], []
        for call, outcome in answers:
            self.believe(self.waiting.pop(call.ref), outcome)  # each is answered once
            if isinstance(outcome, PodContainersAre):
                looks.append(outcome)
            moments.append(self.as_believed())
        # Who looks sees some moment of the turn. What nobody asked for is told when the turn is over.
        for seen in looks:
            possible = [each.get(seen.uid, {}) for each in moments]
            assert seen.uid in changed or by_sandbox(seen.sandboxes) in possible
        for uid in changed:
            self.believe_pod(uid)

    def as_believed(self) -> dict[PodUid, Sandboxes]:
        return {
            uid: {name: (sandbox, {**there}) for name, (sandbox, there) in sandboxes.items()}
            for uid, sandboxes in self.believed.items()
        }

    def believe_pod(self, uid: PodUid) -> None:
        self.believed[uid] = by_sandbox(self.core.machine.inventory.contents(uid))

    def believe(self, request: RuntimeRequest, outcome: RuntimeOutcome) -> None:
        """Take what the answer to a request says, and nothing else."""
        if isinstance(outcome, RuntimeFailure):
            return
        match request:
            case RunSandbox(pod=pod):
                assert isinstance(outcome, SandboxObserved)
                self.believed.setdefault(pod.uid, {})[outcome.id] = (outcome, {})
            case StopSandbox() | RemoveSandbox():
                self.believe_end(request)
            case RemoveContainer(id=container_id):
                for _, containers in self.all_believed():
                    containers.pop(container_id, None)
            case LookAtPod():
                pass
            case _:
                assert outcome is None or isinstance(outcome, ContainerObserved)
                self.believe_container(request, outcome)

    def believe_end(self, request: StopSandbox | RemoveSandbox) -> None:
        for sandboxes in self.believed.values():
            found = sandboxes.pop(request.id, None)
            if found is not None and isinstance(request, StopSandbox):
                stopped = replace(found[0], state=SandboxState.NOT_READY)
                sandboxes[request.id] = (stopped, found[1])

    def believe_container(
        self, request: RuntimeRequest, observed: ContainerObserved | None
    ) -> None:
        if observed is None:
            return
        for sandbox, containers in self.all_believed():
            made_in = getattr(request, "sandbox", None)
            if observed.id in containers or (made_in is not None and made_in.id == sandbox.id):
                containers[observed.id] = observed

    def all_believed(self) -> list[tuple[SandboxObserved, dict[str, ContainerObserved]]]:
        return [found for sandboxes in self.believed.values() for found in sandboxes.values()]

    def some_sandbox(self, data: st.DataObject) -> SandboxObserved | None:
        known = [sandbox for sandbox, _ in self.all_believed()]
        return data.draw(st.sampled_from(known)) if known else None

    def some_container(self, data: st.DataObject) -> str:
        known = [one for _, containers in self.all_believed() for one in containers]
        return data.draw(st.sampled_from([*known, "unknown"]))

    @rule(pod=pods)
    def run_containers(self, pod: Any) -> None:
        """Have a container more run in the newest sandbox, as far as that takes no time."""
        if not any(
            sandbox.state is SandboxState.READY
            for sandbox, _ in self.believed.get(pod.uid, {}).values()
        ):
            self.run_sandbox(pod)
        sandboxes = [sandbox for sandbox, _ in self.believed.get(pod.uid, {}).values()]
        if sandboxes:
            self.call(creation(pod, sandboxes[-1], attempt=self.attempts["containers", pod.uid]))
            self.attempts["containers", pod.uid] += 1
        for container in self.believed_containers(pod.uid):
            if container.state is ContainerState.CREATED:
                self.call(StartContainer(id=container.id))

    def believed_containers(self, uid: PodUid) -> list[ContainerObserved]:
        sandboxes = self.believed.get(uid, {}).values()
        return [one for _, containers in sandboxes for one in containers.values()]

    @rule(pod=pods, grace=graces)
    def stop(self, pod: Any, grace: float) -> None:
        self.call(StopContainer(id="unknown", grace=Seconds(grace)))
        for container in self.believed_containers(pod.uid):
            if container.state is not ContainerState.CREATED:
                self.call(StopContainer(id=container.id, grace=Seconds(grace)))

    @rule(pod=pods)
    def run_sandbox(self, pod: Any) -> None:
        self.call(RunSandbox(pod=pod, attempt=self.attempts[pod.uid]))
        self.attempts[pod.uid] += 1

    @rule(pod=pods, data=st.data())
    def create(self, pod: Any, data: st.DataObject) -> None:
        own = [sandbox for sandbox, _ in self.believed.get(pod.uid, {}).values()]
        if own:
            sandbox = data.draw(st.sampled_from(own))
            self.call(creation(pod, sandbox, attempt=self.attempts["containers", pod.uid]))
            self.attempts["containers", pod.uid] += 1

    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self.call(StartContainer(id=self.some_container(data)))

    @rule(pod=pods)
    def remove(self, pod: Any) -> None:
        self.call(RemoveContainer(id="unknown"))
        for container in self.believed_containers(pod.uid):
            self.call(RemoveContainer(id=container.id))

    @rule(data=st.data())
    def stop_sandbox(self, data: st.DataObject) -> None:
        sandbox = self.some_sandbox(data)
        if sandbox is not None:
            self.call(StopSandbox(id=sandbox.id))

    @rule(data=st.data())
    def remove_sandbox(self, data: st.DataObject) -> None:
        sandbox = self.some_sandbox(data)
        if sandbox is not None:
            self.call(RemoveSandbox(id=sandbox.id))

    @rule()
    def look(self) -> None:
        for pod in PODS:
            self.call(LookAtPod(uid=pod.uid))

    @rule(seconds=st.sampled_from([0.1, 1.0, 2.5, 20.0]))
    def pass_time(self, seconds: float) -> None:
        self.now = Instant(
            Seconds(self.now.monotonic + seconds), Timestamp(self.now.wall + seconds)
        )
        self.go_on()

    def go_on(self) -> None:
        for _ in range(1000):
            self.take(self.core.go_on(self.now, STEPS_PER_TURN))
            due = self.core.next_due
            if due is None or due > self.now.monotonic:
                return
        raise AssertionError("there is no end of steps")

    @rule(away=st.sampled_from([0.0, 3.0]), chance=st.integers(0, 5))
    def begin_another_process(self, away: float, chance: int) -> None:
        """What runs goes on; calls in progress end with the process, and their answers never come."""
        if chance:
            return  # rarely, so that long histories of one process are seen too
        inventory = self.core.machine.inventory
        uids = dict.fromkeys(record.pod.uid for record in inventory.sandboxes())
        lines = [encoded(saved(self.core.machine, uid, self.now)) for uid in uids]
        before = self.core.machine.inventory.everything()
        # A machine that was started anew counts from another moment.
        self.now = Instant(Seconds(7.0), Timestamp(self.now.wall + away))
        self.core = HollowCore(HollowRules())
        restore(self.core.machine, map(decoded, lines), self.now)
        self.waiting.clear()
        assert self.core.machine.inventory.everything() == before
        self.believed.clear()
        for uid in uids:
            self.believe_pod(uid)
        self.go_on()

    # --- what always holds -----------------------------------------------------------------------------

    @invariant()
    def answers_and_facts_say_what_there_is(self) -> None:
        inventory = self.core.machine.inventory
        for pod in PODS:
            assert self.believed.get(pod.uid, {}) == by_sandbox(inventory.contents(pod.uid))

    @invariant()
    def containers_never_go_back(self) -> None:
        for sandbox in self.core.machine.inventory.everything():
            for one in sandbox.containers:
                before = self.seen.get(one.id, one)
                assert ORDER.index(before.state) <= ORDER.index(one.state)
                assert before.state is not ContainerState.EXITED or before == one
                moments = [one.created_at, one.started_at, one.finished_at]
                known = [moment for moment in moments if moment is not None]
                assert known == sorted(known)
                assert (one.exit_code is not None) == (one.state is ContainerState.EXITED)
                self.seen[one.id] = one

    @invariant()
    def what_runs_is_in_a_ready_sandbox_with_an_address_of_its_own(self) -> None:
        everything = self.core.machine.inventory.everything()
        running = ContainerState.RUNNING
        ready = [each for each in everything if each.sandbox.state is SandboxState.READY]
        assert all(
            each in ready
            for each in everything
            if any(one.state is running for one in each.containers)
        )
        addresses = [each.sandbox.ips for each in ready]
        assert len(set(addresses)) == len(addresses)

    @invariant()
    def states_are_counted(self) -> None:
        inventory = self.core.machine.inventory
        counted = Counter(one.state for each in inventory.everything() for one in each.containers)
        assert inventory.states() == dict(counted)

    @override
    def teardown(self) -> None:
        self.pass_time(1000.0)
        assert self.waiting == {}
        due = self.core.next_due
        assert due is None, "everything that ends has ended"
        self.answers_and_facts_say_what_there_is()
        self.containers_never_go_back()
        self.states_are_counted()
        running = [one for _, there in self.all_believed() for one in there.values()]
        assert all(one.is_ready for one in running if one.state is ContainerState.RUNNING)


TestHollowModel = HollowModel.TestCase
