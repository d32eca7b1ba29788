"""PodWorker: carries one pod through its life. It tells the runtime what should be, and hears what is."""

from __future__ import annotations

from functools import partial
from typing import Final, assert_never

from typing_extensions import override

from actors.pods.lifecycle import (
    FORGET,
    OVERDUE,
    LifeEvent,
    RunStep,
    StopStep,
    active_deadline,
)
from actors.pods.orders import (
    CommandAgain,
    HooksDue,
    KeepingOverdue,
    ObjectsDue,
    PodWish,
    PodWorkerMessage,
    ProbesDue,
    RepeatStatus,
    ServicesDue,
    VolumesOverdue,
    WorkerGone,
)
from actors.pods.worker.commands import WorkerCommands
from actors.pods.worker.hooks import HookFact, WorkerChanges, WorkerHooks
from actors.pods.worker.keeping import WorkerKeeping
from actors.pods.worker.news import WorkerNews
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.probes import WorkerProbes, worker_probes
from actors.pods.worker.supply import NeedFact, WorkerSupply
from files.record_keeper import RecordsKept
from kernel import LevelIs, PooledActor, Port, Timer
from messages.change_hooks import RolloutGranted
from messages.objects import ChangeDecided, ObjectChanged
from messages.pod_lives import PodLife
from messages.pod_runtime import ContainersSignalled, PodObserved
from messages.pods import TERMINAL_PHASES, Pod, PodPhase
from messages.probing import ProbesAgain, ProbesSay
from messages.units import Seconds, Timestamp
from messages.volumes import ReleaseAnswer, VolumesAre, VolumesGone, VolumesStay
from stores.statuses.phase import phase_of
from stores.statuses.status import final_failure

LONGEST_TIMER: Final = Seconds(86_400.0)
"""A deadline that is further away is looked at once a day: absurd numbers are no timers."""


class PodWorker(PooledActor[PodWorkerMessage]):
    """Carries one pod through its life, as ``actors/pods/lifecycle.py`` has it.

    | stage | it tells the runtime | what it hears | and then |
    |---|---|---|---|
    | sync | ``RunPod``, once its volumes are there | a terminal phase | has its end kept |
    | terminating | nothing before its end is kept | ``RecordsKept`` | stops it |
    | sync | ``RunPod`` | a trouble that is for good | fails and stops it |
    | sync | ``RunPod`` again | an object or a Service of its variables changed | new containers see it |
    | sync | ``RunPod`` again | a startup or liveness probe decided | it goes on, or starts again |
    | terminating | ``StopPod`` | the mark of that command | its end is told |
    | terminated | ``ForgetPod``, if it is to go | the mark of that command | it is finished |
    | terminated | nothing until its volumes are gone | ``VolumesGone`` | goes on |
    | terminated | nothing | ``VolumesStay`` | shows and says why it stays |
    | any | the last command, with a greater mark | nothing: this life has just begun | goes on |
    | any | the last command, with a greater mark | ``CommandAgain``: the runtime's has | goes on |

    Owns: the life of one pod, and its last status.
    Hears: ``PodWish`` and ``CommandAgain`` of its keeper; ``PodObserved``; ``ObjectFact``; objects and
    Services (``LevelIs``); ``VolumesAre``, ``ReleaseAnswer``; ``ProbesSay``; ``ContainersSignalled``,
    ``RolloutGranted``; ``RecordsKept``; its own timers.
    Tells: the runtime as above; the keeper of statuses ``PodStatusIs`` when the status is another one;
    its keeper ``LifeIs``, and ``WorkerGone`` when it is finished and stops; the managers of objects
    ``RegisterPod``, ``FollowObjects``, ``UnprovenTaken`` and ``ChangeMissed`` for a pod that references any
    (it follows objects, and Services if the runtime uses them); the keeper of volumes ``WantVolumes``
    and ``ReleaseVolumes``, if there is one; the keeper of probes ``WantProbes`` and ``ReleaseProbes`` for a
    pod that has any; the keeper of records ``KeepRecords``, for the end of a pod before it stops the rest;
    the runtime ``SignalContainers``, and the keeper of rollouts ``RolloutMessage``, when an object has
    changed that the pod acts on.
    Fails when: it has a bug. The next life tells everything again.

    Order: of the wishes and of the observations only the newest counts. An observation with a smaller mark
    than the last command of this life moves nothing forward. Repetition: every message may repeat. A pod
    without references, deadline and troubles has no timer and asks nobody.
    """

    def __init__(
        self,
        ports: WorkerPorts,
        memory: WorkerMemory,
        me: Port[PodWorkerMessage],
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._address = me
        self._news = WorkerNews(ports, memory)
        self._keeping = WorkerKeeping(ports, memory, me, self.after)
        self._commands = WorkerCommands(ports, memory, me, self._news)
        self._supply = WorkerSupply(ports, memory, me, self.after)
        self._deadline: Timer | None = None
        self._probes: WorkerProbes | None = None
        """None for a pod without probes."""
        make_hooks = partial(WorkerHooks, ports, memory, me, self.after, self._restart_outdated)
        self._changes = WorkerChanges(memory, make_hooks)
        self._waits_for: list[str] = []

    @override
    def started(self) -> None:
        memory = self._memory
        self._keeping.begin()
        self._news.begin(self.clock.wall())
        self._probes = worker_probes(self._ports, memory, self._address, self.after)
        self._changes.begin()
        if memory.life.is_stopped:
            self._supply.end(self._pod)  # the life before may have crashed over it
        self._take(memory.wish)

    @override
    def stopping(self) -> None:
        if self._memory.life.stage is PodLife.FINISHED:
            self._ports.keeper.tell(WorkerGone(uid=self._pod.uid))

    @override
    def let_go(self) -> None:
        del self._keeping, self._supply, self._deadline, self._probes, self._changes

    @override
    def receive(self, message: PodWorkerMessage, /) -> None:
        match message:
            case PodWish():
                self._take(message)
            case PodObserved():
                self._observe(message)
            case LevelIs() | ObjectChanged() | ObjectsDue() | ServicesDue():
                self._take_need(message)
            case VolumesAre() | VolumesGone() | VolumesStay() | VolumesOverdue():
                self._take_volumes(message)
            case ProbesSay() | ProbesAgain() | ProbesDue():
                self._take_probes(message)
            case ChangeDecided() | ContainersSignalled() | RolloutGranted() | HooksDue():
                self._take_change(message)
            case _:
                self._do_again(message)

    def _do_again(
        self, message: CommandAgain | RepeatStatus | RecordsKept | KeepingOverdue
    ) -> None:
        match message:
            case RecordsKept() | KeepingOverdue():
                self._memory.is_end_kept = True
                self._go_on()
            case CommandAgain():
                self._command_again()
            case RepeatStatus():
                self._news.tell_status()
            case _:
                assert_never(message)

    @property
    def _pod(self) -> Pod:
        return self._memory.wish.pod

    # --- what is wished --------------------------------------------------------------------------------

    def _take(self, wish: PodWish) -> None:
        memory, life = self._memory, self._memory.life
        if wish.since != memory.wish.since or wish.number < memory.wish.number:
            return
        memory.wish = wish
        memory.has_begun |= wish.was_there
        self._supply.volumes.note_wish(wish)
        if wish.is_killed or wish.grace is not None:
            life.end(wish.failure, wish.grace)
        if wish.is_removed:
            life.leave()
        life.note_pod(wish.pod)
        self._news.note_mirror()
        self._go_on()
        self._news.tell_life()

    def _go_on(self) -> None:
        """Tell the runtime what is to be done in this stage, unless it was told."""
        life, now = self._memory.life, self.clock.wall()
        if life.stage is PodLife.SYNC and self._is_overdue(now):
            life.end_by_itself(PodPhase.FAILED, OVERDUE)
            self._news.post(OVERDUE)
        step = life.next_step(self._pod, has_volumes=self._memory.has_volumes)
        match step:
            case RunStep():
                self._supply.begin(self._pod)
                self._run_if_ready()
            case StopStep(grace=grace):
                self._changes.cancel()
                if step != self._commands.told and self._keeping.has_kept_end():
                    left = StopStep(self._keeping.left_of(grace, now))
                    self._commands.stop(self.incarnation, step, left)
            case _:
                self._commands.take_step(step, self.incarnation)
        self._want_probes()

    def _is_overdue(self, now: Timestamp) -> bool:
        """Return whether the pod was active for as long as it may be; else look again when that is due."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        limit, status = active_deadline(self._pod.document), self._memory.status
        if limit is None or status is None or status.start_time is None:
            return False
        left = status.start_time + limit - now
        if left > 0:
            delay = Seconds(min(left, LONGEST_TIMER))
            self._deadline = self.later(delay, self._look_at_deadline)
        return left <= 0

    def _look_at_deadline(self) -> None:
        self._go_on()
        self._news.tell_life()

    def _command_again(self) -> None:
        if self._commands.told is not None:
            self._commands.told = None
            self._go_on()

    def _run_if_ready(self) -> None:
        supply = self._supply
        if not supply.is_settled:
            return
        if not self._memory.has_begun and (missing := supply.missing()):
            self._wait_for(missing)
            return
        supply.compare(self._news)
        self._waits_for = []
        self._run()
        self._keep()

    def _run(self) -> None:
        self._commands.run(self.incarnation, self._supply.supplies(), self._probes)

    def _keep(self) -> None:
        stage = self._memory.life.stage
        if stage is PodLife.SYNC and self._commands.is_told_to_run:
            self._keeping.keep(self._supply.needed.decided_versions())
        elif stage is not PodLife.SYNC:
            self._keeping.keep_addresses()

    # --- what is ---------------------------------------------------------------------------------------

    def _observe(self, observed: PodObserved) -> None:
        life, before = self._memory.life, self._memory.life.stage
        if before is not PodLife.TERMINATED:
            if self._commands.is_included_in(observed, self.incarnation):
                self._learn(observed)
                self._news.say_unknown_edits(observed)
            self._news.note_status(observed, self.clock.wall())
            if self._pod.is_static:
                self._keep()  # its addresses, and when its conditions became what they are
        elif self._commands.told is FORGET and self._commands.is_included_in(
            observed, self.incarnation
        ):
            life.note(LifeEvent.FORGOTTEN)  # its status stays that of its end
        if life.stage is not before:
            self._move()
        if self._probes is not None:
            self._probes.note_observed()
            self._want_probes()
        if self._ports.keeps_starts:
            self._keep()
        self._changes.note_observed(observed)
        self._act_on_changes()

    def _learn(self, observed: PodObserved) -> None:
        """Learn from an observation that includes the effect of the last command."""
        life = self._memory.life
        if isinstance(self._commands.told, StopStep):
            life.note(LifeEvent.STOPPED)
        elif self._commands.is_told_to_run:
            phase, failure = phase_of(self._pod, observed), final_failure(observed)
            if phase in TERMINAL_PHASES:
                # First: an end that has a reason is to be kept, too. Such an end is never a success.
                life.end_by_itself(phase if failure is None else PodPhase.FAILED)
            if failure is not None:
                life.end(failure)

    def _move(self) -> None:
        """Go on in a new stage."""
        life = self._memory.life
        if life.is_stopped:
            self._supply.end(self._pod)
            self._waits_for = []
        self._go_on()
        if life.stage is PodLife.FINISHED and not self._memory.wish.is_removed:
            self._news.tell_status()  # that of a pod that was removed is about to be forgotten
        self._news.tell_life()

    def _take_need(self, fact: NeedFact) -> None:
        """Run the pod if what it waited for is there now, or if other variables are to be set from now on."""
        if self._supply.take_need(fact):
            self._run_if_changed()
            self._keep()
            self._want_probes()
            self._act_on_changes()

    def _take_volumes(self, fact: VolumesAre | ReleaseAnswer | VolumesOverdue) -> None:
        """Run the pod once its volumes are there, and let it go once nothing of them is left."""
        is_end = isinstance(fact, VolumesGone | VolumesStay)
        if is_end and not self._memory.life.is_stopped:
            return
        self._supply.volumes.take(fact)
        if not isinstance(fact, VolumesOverdue):
            self._news.note_volumes(self._supply.volumes.troubles(), self.clock.wall())
        if isinstance(fact, VolumesGone):
            self._go_on()
        elif isinstance(fact, VolumesAre):
            self._run_if_changed()
            self._act_on_changes()

    def _run_if_changed(self) -> None:
        is_other = self._commands.is_other(self._supply.supplies())
        if self._memory.life.stage is PodLife.SYNC and is_other:
            self._run_if_ready()

    def _wait_for(self, missing: list[str]) -> None:
        """Say that the pod waits, once for each list of what is ``missing``."""
        if missing != self._waits_for:
            self._waits_for = missing
            self._news.say("a pod waits for what its volumes need", missing=missing)
            self._news.note_status(None, self.clock.wall())

    # --- what its probes say ---------------------------------------------------------------------------

    def _want_probes(self) -> None:
        if self._probes is not None:
            self._probes.want(self._supply.objects)

    def _take_probes(self, fact: ProbesSay | ProbesAgain | ProbesDue) -> None:
        """Show what the probes say, and tell the runtime if that changes what it has to do."""
        if self._probes is None:
            return
        if not isinstance(fact, ProbesSay):
            self._probes.again()
        elif self._probes.take(fact):
            self._news.note_verdicts(self.clock.wall())
            if self._commands.is_told_to_run and self._probes.has_commands:
                self._run()
            self._keep()
            self._changes.note_observed(self._memory.observed)

    # --- what is done about changes --------------------------------------------------------------------

    def _take_change(self, fact: HookFact) -> None:
        self._changes.take(fact, self.clock.monotonic())
        self._act_on_changes()
        self._keep()

    def _act_on_changes(self) -> None:
        self._changes.go_on(self._supply, self.clock.monotonic(), self.clock.wall())

    def _restart_outdated(self) -> None:
        if self._commands.is_told_to_run:
            self._keep()  # before anything ends: whoever goes on knows then what is to start again
            self._run()
