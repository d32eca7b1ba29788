"""Pods' lives against a plain model: pods are listed, edited, deleted, killed and exit; everything crashes.

The keeper, its workers and PodManager are real; the runtime keeps the contract and does nothing by itself.
Observations may be held back, any actor may crash, and the whole agent may be killed. Whatever happens:

1. no two static pods of one full name run at a time, nor two instances of a container;
2. no command to run a pod follows one to stop it, and no grace grows;
4. a pod that was told as ended starts nothing, and no restart count falls;
6. a phase that was told as terminal stays so;
7. in the end exactly those pods run that should, and those that run were not disturbed;
8. nothing is stopped that should run: not because a source, an observation or an actor is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from typing_extensions import override

from kernel import Steps
from messages.pod_lives import PodLife
from messages.pod_runtime import ContainerObserved, ForgetPod, RunPod, StopPod
from messages.pods import API, FILE, TERMINAL_PHASES, Pod, PodPhase, PodUid
from messages.statuses import ForgetPodStatus, PodFailure, PodStatusIs
from stores.statuses.rendering import with_status
from tests.support.builders import make_pod
from tests.support.kernel.stage import Stage
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, Statuses, api_pod
from tests.support.pod_lives.plain_runtime import PLAIN_RUNTIME, LooksAgain

EVICTED = PodFailure(reason="Evicted", message="The node was low on memory")
GRACE = 30.0
TO_REST = 200.0
"""Seconds: longer than any grace, and than every wait for something that was lost."""

statics = st.sampled_from(["a", "b"])
versions = st.sampled_from([None, "1", "2", "fixed"])
bound = st.sampled_from(["x", "y"])


@dataclass
class Watchman:
    """Looks at the machine and the statuses all the time, and notes what may never be."""

    world: LivesWorld
    wanted: set[PodUid] = field(default_factory=set)
    """Pods that should run now."""
    was_unwanted: set[PodUid] = field(default_factory=set)
    """Pods that should not have run at some moment since they were forgotten last."""
    stopping: dict[PodUid, float] = field(default_factory=dict)
    """Pods that were told to stop, in this life of the agent, with the shortest grace."""
    ended: set[PodUid] = field(default_factory=set)
    """Pods whose phase was told as terminal."""
    attempts: dict[tuple[PodUid, str], int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def commanded(self, command: RunPod | StopPod | ForgetPod) -> None:
        """See a command that the runtime takes."""
        if isinstance(command, RunPod):
            if command.pod.uid in self.stopping:
                self.violations.append(f"{command.pod.uid} is to run while it is stopped")
            return
        on_machine = self.world.machine.pods.get(command.uid)
        is_disturbed = on_machine is not None and on_machine.running
        if is_disturbed and command.uid in self.wanted - self.was_unwanted:
            self.violations.append(f"{command.uid} is stopped though it should run")
        if isinstance(command, ForgetPod):
            self.stopping.pop(command.uid, None)
            self.ended.discard(command.uid)
            self.was_unwanted.discard(command.uid)
            for key in [key for key in self.attempts if key[0] == command.uid]:
                del self.attempts[key]
        else:
            if command.grace > self.stopping.get(command.uid, GRACE):
                self.violations.append(f"the grace of {command.uid} grows")
            self.stopping[command.uid] = command.grace

    def started(self, uid: PodUid, instance: ContainerObserved) -> None:
        """See a container that was started."""
        pods = self.world.machine.pods
        name = pods[uid].name
        others = [other for other, pod in pods.items() if pod.name == name and pod.running]
        if set(others) - {uid} and pods[uid].source == FILE:
            self.violations.append(f"two pods {name} run: {others}")
        if uid in self.ended:
            self.violations.append(f"{uid} starts though it has ended")
        if instance.attempt < self.attempts.get((uid, instance.name), 0):
            self.violations.append(f"the restarts of {uid} fall")
        self.attempts[uid, instance.name] = instance.attempt


class WatchedStatuses(Statuses):
    """Statuses whose phases the watchman looks at."""

    watchman: Watchman

    @override
    def tell(self, message: PodStatusIs | ForgetPodStatus, /) -> None:
        if isinstance(message, PodStatusIs):
            uid, phase = message.pod.uid, message.status.phase
            before = self.newest.get(uid)
            if before is not None and before.phase in TERMINAL_PHASES and phase is not before.phase:
                self.watchman.violations.append(f"{uid} was {before.phase} and is {phase}")
            if phase in TERMINAL_PHASES:
                self.watchman.ended.add(uid)
        else:
            self.watchman.ended.discard(message.uid)
        super().tell(message)


class PodLivesModel(RuleBasedStateMachine):
    """The agent, the machine that it runs on, and what should run there."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses = WatchedStatuses()
        self.world = LivesWorld(statuses=self.statuses, sources=frozenset({FILE, API}))
        self.watchman = self.statuses.watchman = Watchman(self.world)
        self.world.machine.observers.append(self.watchman)
        self.files: dict[str, Pod] = {}
        self.api: dict[str, Pod] = {}
        self.serial = 0
        self.killed: set[PodUid] = set()
        """Pods that the node was told to end, or that exited for good: they should not run any more."""
        self.has_listed: set[str] = set()
        self._begin_agent()

    def _begin_agent(self) -> None:
        self.lives = LivesStage(self.world)
        self.play = self.lives.play = Stage(self.lives.tree(), Steps(self.serial))
        self.has_listed.clear()
        self.play.start()

    @override
    def teardown(self) -> None:
        self._come_to_rest()
        running = set(self.world.machine.running())
        assert running == {f"{pod.name}/main" for pod in self._wanted()}, self.lives.lives()
        assert {uid for uid, pod in self.world.machine.pods.items() if pod.running} == {
            pod.uid for pod in self._wanted()
        }
        for pod in self._wanted():
            assert self.statuses.newest[pod.uid].phase is PodPhase.RUNNING
            assert self.lives.lives()[pod.uid] is PodLife.SYNC
        assert set(self.statuses.newest) <= {pod.uid for pod in (*self._all(),)}
        assert self.watchman.violations == []
        assert self.play.stop() == 0

    def _come_to_rest(self) -> None:
        self._speak()
        for _ in range(3):  # an object of a finished pod goes, and its removal is listed
            self._list_files()
            self._list_api()
            self.play.advance(TO_REST)
            self._remove_finished()
        self._list_api()
        self.play.advance(TO_REST)

    def _all(self) -> list[Pod]:
        return [*self.files.values(), *self.api.values()]

    def _wanted(self) -> list[Pod]:
        return [pod for pod in self._all() if not pod.is_deleting and pod.uid not in self.killed]

    def _note_wanted(self) -> None:
        now = {pod.uid for pod in self._wanted()}
        self.watchman.was_unwanted |= self.watchman.wanted - now
        self.watchman.wanted = now

    # --- sources ---------------------------------------------------------------------------------------

    def _list_files(self) -> None:
        self.has_listed.add(FILE)
        self.lives.lists(FILE, *self.files.values())

    def _list_api(self) -> None:
        self.has_listed.add(API)
        self.lives.lists(API, *map(self._shown, self.api.values()))

    def _shown(self, pod: Pod) -> Pod:
        """Return a pod as the API server has it."""
        return Pod.of(with_status(pod, self.statuses.newest.get(pod.uid)))

    @rule(name=statics, version=versions)
    def edits_a_file(self, name: str, version: str | None) -> None:
        self.files.pop(name, None)
        if version is not None:
            self.serial += 1
            uid = PodUid(f"{name}-{version}")
            if uid in self.killed:  # listings in quick succession may hide that it was removed
                uid = PodUid(f"{uid}-{self.serial}")
            self.files[name] = make_pod(name, uid=uid, labels={"edit": str(self.serial)})
        self._note_wanted()

    @rule()
    def files_are_listed(self) -> None:
        self._list_files()

    @rule()
    def files_are_taken_for_empty(self) -> None:
        if FILE not in self.has_listed:
            self.lives.takes_for_empty(FILE)

    @rule(name=bound, policy=st.sampled_from(["Always", "Never"]))
    def a_pod_is_bound(self, name: str, policy: str) -> None:
        if name not in self.api:
            self.serial += 1
            spec: dict[str, Any] = {"restartPolicy": policy}
            self.api[name] = api_pod(name, uid=f"{name}-{self.serial}", spec=spec)
            self._note_wanted()

    @rule(name=bound)
    def a_pod_is_deleted(self, name: str) -> None:
        if name in self.api:
            document = self.api[name].document
            moments = {"deletionTimestamp": "2030-01-01T00:00:30Z", "deletionGracePeriodSeconds": 9}
            self.api[name] = Pod.of({**document, "metadata": {**document["metadata"], **moments}})
            self._note_wanted()

    @rule(name=bound)
    def a_pod_is_deleted_by_force(self, name: str) -> None:
        self.api.pop(name, None)
        self._note_wanted()

    @rule()
    def the_api_is_listed(self) -> None:
        self._remove_finished()
        self._list_api()

    def _remove_finished(self) -> None:
        for name, pod in list(self.api.items()):
            if pod.is_deleting and pod.uid in self.statuses.finished:
                del self.api[name]

    # --- the machine -----------------------------------------------------------------------------------

    @rule(data=st.data(), code=st.sampled_from([0, 1]))
    def a_container_exits(self, data: st.DataObject, code: int) -> None:
        running = [uid for uid, pod in self.world.machine.pods.items() if pod.running]
        if not running:
            return
        uid = data.draw(st.sampled_from(sorted(running)))
        pod = next((pod for pod in self._all() if pod.uid == uid), None)
        if pod is None:
            return
        if pod.document["spec"].get("restartPolicy") == "Never":
            self.killed.add(uid)
            self._note_wanted()
        self.lives.exits(pod, code)

    @rule(data=st.data(), is_stubborn=st.booleans())
    def a_pod_gets_stubborn(self, data: st.DataObject, *, is_stubborn: bool) -> None:
        uids = sorted(pod.uid for pod in self._all())
        if uids:
            uid = data.draw(st.sampled_from(uids))
            stubborn = self.world.machine.stubborn
            (stubborn.add if is_stubborn else stubborn.discard)(uid)

    @rule()
    def observations_are_held_back(self) -> None:
        self.world.machine.is_silent = True

    @rule()
    def observations_come_again(self) -> None:
        self._speak()

    def _speak(self) -> None:
        self.world.machine.is_silent = False
        self.play.tell(PLAIN_RUNTIME, LooksAgain())

    # --- the agent -------------------------------------------------------------------------------------

    @rule(data=st.data())
    def the_node_ends_a_pod(self, data: st.DataObject) -> None:
        records = self.lives.memory.pod_workers.records  # not asked for: the keeper may be down
        known = [
            pod
            for pod in self._wanted()
            if pod.uid in records and records[pod.uid].life is PodLife.SYNC
        ]
        if known:
            pod = data.draw(st.sampled_from(known))
            self.killed.add(pod.uid)
            self._note_wanted()
            self.lives.kills(pod, EVICTED, grace=5)

    @rule(data=st.data())
    def an_actor_crashes(self, data: st.DataObject) -> None:
        names = ["pod-manager", "pod-keeper", "runtime", *self.lives.workers()]
        self.play.system.crash(data.draw(st.sampled_from(names)))
        self.play.settle()

    @precondition(lambda self: self._are_ends_known())
    @rule()
    def the_agent_is_killed(self) -> None:
        self.serial += 1
        self.api = {name: self._shown(pod) for name, pod in self.api.items()}
        self.statuses.newest.clear()
        self.statuses.finished.clear()
        self.world.machine.forget_commands()
        self.world.machine.untold.clear()
        self.watchman.stopping.clear()
        self._begin_agent()

    def _are_ends_known(self) -> bool:
        """Whether the API shows of each pod that ended, or was ended, that it has."""
        shown = {pod.uid for pod in map(self._shown, self.api.values()) if pod.is_terminal}
        return self.killed & {pod.uid for pod in self._all()} <= shown

    @rule(seconds=st.sampled_from([0.2, 3.0, 12.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.play.advance(seconds)

    @invariant()
    def nothing_happened_that_may_never_be(self) -> None:
        assert self.watchman.violations == []


TestPodLives = PodLivesModel.TestCase
