"""PodKeeper: owns which pods have workers on this node.

Who runs and who does not is decided in ``pod_workers.py``, and done in ``launcher.py``. This file
is the actor around both: the facts that it hears, in portions, and when it asks the runtime what it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from typing_extensions import override

from actors.pods.keeper_parts import (
    NextPortion,
    PodKeeperMemory,
    PodKeeperMessage,
    PodKeeperPorts,
)
from actors.pods.keeper_work import KeeperWork
from actors.pods.launcher import WorkerLauncher
from actors.pods.node_fit import view_of
from actors.pods.orders import LifeIs, WorkerGone
from actors.pods.pod_workers import PodWorkers
from actors.pods.pod_workers_state import life_of, working_pods
from actors.pods.records import KeptPod
from files.record_keeper import ReadRecords, RecordsAre
from kernel import PooledActor
from messages.node import FollowNode, NodeFact, NodeIs, NodeIsGone
from messages.pod_lives import (
    DescribePodLives,
    KillPod,
    PodLivesDescribed,
    PodLivesMessage,
    RepeatPodStatuses,
)
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.pod_runtime import ListRuntimePods, PodsObserved
from messages.pods import PodUid
from messages.units import Seconds

LIST_EVERY: Final = Seconds(60.0)
"""Between two questions to the runtime for pods that nobody knows."""
LIST_AGAIN: Final = Seconds(5.0)
"""The same, before the first answer: the question may have been lost with a life of the runtime."""
LIST_SOON: Final = Seconds(1.0)
"""The same, while a pod is being replaced and others wait for their turn."""
RECORDS_AGAIN: Final = Seconds(5.0)
"""Between two questions for what was kept: an answer may be lost in a crash."""
RECORDS_ASKED: Final = 6
"""So often the disk is asked. Then a pod is rather started without what was kept of it."""
NODE_WITHIN: Final = Seconds(60.0)
"""How long pods that the Node's labels decide on wait until the cluster shows the Node."""


class PodKeeper(PooledActor[PodKeeperMessage]):
    """Keeps a worker for each pod that this node has, and none for any other.

    Owns: which pods have workers, the lines for static names, the sums of admission, and what is known of
    pods that only the runtime has.
    Hears: ``PodFact``, ``NodeFact``; ``PodsObserved`` of the runtime; ``LifeIs`` and ``WorkerGone`` of
    workers; ``RecordsAre``; ``KillPod``, ``RepeatPodStatuses``, ``DescribePodLives``.
    Tells: PodManager ``Subscribe``, the Node's keeper ``FollowNode`` and the runtime ``ListRuntimePods``
    when it starts; the supervisor of workers ``StartChild`` and ``StopChild``; workers ``PodWish``, and
    ``CommandAgain`` in each new life of the runtime; the keeper of statuses ``PodStatusIs`` of pods that
    are refused, and ``ForgetPodStatus``; the keeper of records ``ReadRecords`` and ``KeepRecords``; the
    keeper of volumes ``ReleaseOtherVolumes`` once all sources have listed.
    Fails when: it has a bug. The next life knows the same pods, hears all listings again, and repeats to
    every worker what is wished of it.

    Order: facts are carried out in the order in which they are told, 64 pods in a turn, and no pod is started
    before the runtime has said what it has. At most 64 workers are being started or stopped at a time.
    A pod that its source tells removed is stopped at once, whatever other sources do. One that only the
    runtime has is stopped when its source has listed, and for good. Mirror pods have no workers.
    """

    def __init__(self, ports: PodKeeperPorts, memory: PodKeeperMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._pod_workers = PodWorkers(
            memory.admission, memory.sources, memory.pod_workers, self._kept_of
        )
        self._is_going_on = False
        self._lists_soon = False
        self._asked_for_records = 0
        self._has_runtime_answered = False
        """In this life: what it has is taken before everything that waits."""

    @override
    def started(self) -> None:
        ports = self._ports
        self._next_list = self.alarm(self._list)
        self._launcher = WorkerLauncher(ports, self._memory, self._pod_workers, self)
        self._work = KeeperWork(ports, self._memory, self._pod_workers, self._launcher)
        ports.pod_manager.tell(Subscribe(subscriber=ports.me))
        if ports.node is not None:
            ports.node.tell(FollowNode(subscriber=ports.me))
            self._await_node()
        self._work.repeat()
        self._list()
        self._read_records()
        self._go_on_later()

    @override
    def receive(self, message: PodKeeperMessage, /) -> None:
        match message:
            case PodsAre() | PodsChanged() | PodsObserved() | NodeIs() | NodeIsGone():
                self._note(message)
            case RecordsAre(records=pods):
                self._note_records(pods)
            case LifeIs(uid=uid, wish=wish, life=life):
                self._launcher.note_up(uid)
                self._pod_workers.note_life(uid, wish, life)
                self._memory.times.note_life(uid, wish, life, self.clock.monotonic())
            case WorkerGone(uid=uid):
                self._launcher.note_gone(uid)
            case NextPortion():
                self._is_going_on = False
                self._work.carry_on()
                self._list_soon()
            case _:
                self._serve(message)
        self._go_on()

    def _go_on(self) -> None:
        self._launcher.carry_out()
        self._go_on_later()

    def _note(self, fact: PodFact | PodsObserved | NodeFact) -> None:
        match fact:
            case PodsAre():
                self._work.replace(fact)
            case PodsChanged():
                self._work.change(fact)
            case PodsObserved():
                self._note_runtime_life(fact.life)
                self._work.take_runtime_pods(fact)
                self._list_later()
            case NodeIs():
                node = view_of(fact, self._memory.configured)
                self._memory.admission.note_node(node)
                self._end_wait_for_node()
                self._pod_workers.note_node()
            case NodeIsGone():
                pass  # changes nothing about pods that run
            case _:
                assert_never(fact)

    def _note_runtime_life(self, life: int) -> None:
        before, self._memory.runtime_life = self._memory.runtime_life, life
        self._has_runtime_answered = True
        if before not in {None, life}:
            self._work.command_again()

    def _serve(self, message: PodLivesMessage) -> None:
        match message:
            case KillPod():
                self._pod_workers.kill(message)
            case RepeatPodStatuses():
                self._work.repeat_statuses()
            case DescribePodLives(reply_to=reply_to):
                reply_to.tell(self._described())
            case _:
                assert_never(message)

    @property
    def _knows_runtime(self) -> bool:
        return self._has_runtime_answered or self._memory.has_runtime_listed

    # --- in portions -----------------------------------------------------------------------------------

    def _go_on_later(self) -> None:
        memory = self._memory
        may_begin = self._knows_runtime and memory.kept is not None
        if self._work.is_there and may_begin and not self._is_going_on:
            self._is_going_on = True
            self.me.tell(NextPortion())

    # --- the Node --------------------------------------------------------------------------------------

    def _await_node(self) -> None:
        """Have pods wait for labels that only the cluster knows, for a while."""
        self._memory.pod_workers.awaits_node = not self._memory.has_node
        if not self._memory.has_node:
            self._memory.pod_workers.lacks_node = True
            self.later(NODE_WITHIN, self._note_late_node)

    def _note_late_node(self) -> None:
        """Go on without the labels of the Node: pods are compared with what is configured."""
        self._end_wait_for_node()
        self._go_on()

    def _end_wait_for_node(self) -> None:
        if not self._memory.has_node:
            self._memory.has_node = True
            self._pod_workers.end_wait_for_node()

    # --- what it asks and answers ----------------------------------------------------------------------

    def _read_records(self) -> None:
        """Ask for what an earlier process has kept, unless that is known or was asked for often enough."""
        if self._ports.records is None or self._asked_for_records == RECORDS_ASKED:
            self._note_records({})
        elif self._memory.kept is None:
            self._asked_for_records += 1
            self._ports.records.tell(ReadRecords(reply_to=self._ports.me))
            self.later(RECORDS_AGAIN, self._note_late_records)

    def _note_late_records(self) -> None:
        """Ask once more, or start pods without what was kept of them: the disk has not answered."""
        self._read_records()
        self._go_on()

    def _kept_of(self, uid: PodUid) -> KeptPod | None:
        return (self._memory.kept or {}).get(uid)

    def _note_records(self, pods: Mapping[PodUid, KeptPod]) -> None:
        if self._memory.kept is None:
            self._memory.kept = dict(pods)

    def _list(self) -> None:
        self._ports.runtime.tell(ListRuntimePods(reply_to=self._ports.me))
        self._list_later()

    def _list_soon(self) -> None:
        if self._pod_workers.is_replacing and not self._lists_soon:
            self._list_later()

    def _list_later(self) -> None:
        self._lists_soon = self._pod_workers.is_replacing
        pause = LIST_EVERY if self._knows_runtime else LIST_AGAIN
        if self._lists_soon:
            pause = LIST_SOON
        self._next_list.after(pause)

    def _described(self) -> PodLivesDescribed:
        counts = self._memory.pod_workers.counts
        lives = {uid: life_of(record) for uid, record in self._memory.pod_workers.records.items()}
        return PodLivesDescribed(
            lives=lives,
            started=counts.started,
            refused=dict(counts.refused),
            restarted_static=counts.restarted_static,
            restarted=counts.restarted,
            preempted=counts.preempted,
            working=working_pods(self._memory.pod_workers.records.values(), lives.values()),
            orphans=counts.orphans,
            operations=self._memory.times.described(),
        )
