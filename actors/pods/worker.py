"""PodWorker: carries one pod through its life. It tells the runtime what should be, and hears what is."""

from __future__ import annotations

from typing import Final, assert_never

import structlog
from typing_extensions import override

from actors.pods.hook_memory import HooksMemory
from actors.pods.lifecycle import (
    FORGET,
    RUN,
    LifeEvent,
    LifeStep,
    RunStep,
    StopStep,
    active_deadline,
)
from actors.pods.orders import (
    CommandAgain,
    DeadlineDue,
    HooksDue,
    ObjectsDue,
    PodWish,
    PodWorkerMessage,
    ProbesDue,
    RepeatStatus,
    ServicesDue,
    VolumesOverdue,
    WorkerGone,
)
from actors.pods.worker_hooks import WorkerHooks
from actors.pods.worker_keeping import WorkerKeeping
from actors.pods.worker_needs import NO_SUPPLIES, NeedFact, Supplies, WorkerNeeds, needs_anything
from actors.pods.worker_news import WorkerNews
from actors.pods.worker_parts import WorkerMemory, WorkerPorts
from actors.pods.worker_probing import WorkerProbing, worker_probing
from actors.pods.worker_volumes import WorkerVolumes
from kernel import PooledActor, Port, Timer
from messages.change_hooks import RolloutGranted
from messages.objects import ChangeDecided, ObjectChanged, ObjectRead
from messages.pod_lives import PodLife
from messages.pod_runtime import ContainersSignalled, ForgetPod, Mark, PodObserved, RunPod, StopPod
from messages.pods import TERMINAL_PHASES, Pod
from messages.probing import ProbesAgain, ProbesSay
from messages.services import ServicesAre
from messages.statuses import PodFailure
from messages.units import Seconds
from messages.volumes import VolumesAre, VolumesGone
from stores.statuses.phase import phase_of

OVERDUE: Final = PodFailure(
    reason="DeadlineExceeded",
    message="Pod was active on the node longer than the specified deadline",
)
"""The failure of a pod that was active for longer than ``activeDeadlineSeconds``."""

_LONGEST_TIMER: Final = Seconds(86_400.0)
"""A deadline that is further away is looked at once a day: absurd numbers are no timers."""

_log = structlog.get_logger("pods")


class PodWorker(PooledActor[PodWorkerMessage]):
    """Carries one pod through its life, as ``actors/pods/lifecycle.py`` has it.

    | stage | it tells the runtime | what it hears | and then |
    |---|---|---|---|
    | sync | ``RunPod``, once its volumes are there | a terminal phase | stops it |
    | sync | ``RunPod`` | a trouble that is for good | fails and stops it |
    | sync | ``RunPod`` again | an object or a Service of its variables changed | new containers see it |
    | sync | ``RunPod`` again | a startup or liveness probe decided | it goes on, or starts again |
    | terminating | ``StopPod`` | the mark of that command | its end is told |
    | terminated | ``ForgetPod``, if it is to go | the mark of that command | it is finished |
    | terminated | nothing until its volumes are gone | ``VolumesGone`` | goes on |
    | any | the last command, with a greater mark | nothing: this life has just begun | goes on |
    | any | the last command, with a greater mark | ``CommandAgain``: the runtime's has | goes on |

    Owns: the life of one pod, and its last status.
    Hears: ``PodWish`` and ``CommandAgain`` of its keeper; ``PodObserved``; ``ObjectRead``, ``ObjectFact``,
    ``ServicesAre``; ``VolumesAre``, ``VolumesGone``; ``ProbesSay``; ``ContainersSignalled``,
    ``RolloutGranted``; its own timers.
    Tells: the runtime as above; the keeper of statuses ``PodStatusIs`` when the status is another one;
    its keeper ``LifeIs``, and ``WorkerGone`` when it is finished and stops; the managers of objects
    ``RegisterPod``, ``FollowObjects``, ``GetObject`` and ``ChangeMissed`` for a pod that references any;
    the keeper of Services ``FollowServices``, if the runtime uses them; the keeper of volumes ``WantVolumes``
    and ``ReleaseVolumes``, if there is one; the keeper of probes ``WantProbes`` and ``ReleaseProbes`` for a
    pod that has any; the keeper of records ``KeepPod``; the runtime ``SignalContainers``, and the keeper of
    rollouts ``RolloutMessage``, when an object has changed that the pod acts on.
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
        self._keeping = WorkerKeeping(ports, memory)
        self._commands = 0
        self._told: LifeStep | None = None
        """The last step that the runtime was told in this life."""
        self._supplied: Supplies = NO_SUPPLIES
        """What the runtime was told with that."""
        self._needs: WorkerNeeds | None = None
        self._volumes = WorkerVolumes(ports.volumes, memory, me, self.after)
        self._probing: WorkerProbing | None = None
        """None for a pod without probes."""
        self._hooks: WorkerHooks | None = None
        """None until the first change that something is to be done about."""
        self._was_compared = False
        """What is read now was compared with what the pod has acted on."""
        self._waits_for: list[str] = []
        self._deadline: Timer | None = None

    @override
    def started(self) -> None:
        memory = self._memory
        self._news.begin(self.clock.wall())
        self._probing = worker_probing(self._ports, memory, self._address, self.after)
        if memory.hooks is None and memory.kept is not None and memory.kept.outdated:
            memory.hooks = HooksMemory(outdated=memory.kept.outdated)
        if memory.hooks is not None:
            self._make_hooks().resume()
        if memory.life.is_stopped:
            self._let_go()  # the life before may have crashed over it
        self._take(memory.wish)

    @override
    def stopping(self) -> None:
        if self._memory.life.stage is PodLife.FINISHED:
            self._ports.keeper.tell(WorkerGone(uid=self._pod.uid))

    @override
    def receive(self, message: PodWorkerMessage, /) -> None:
        match message:
            case PodWish():
                self._take(message)
            case PodObserved():
                self._observe(message)
            case ObjectRead() | ObjectChanged() | ObjectsDue() | ServicesAre() | ServicesDue():
                self._take_need(message)
            case VolumesAre() | VolumesGone() | VolumesOverdue():
                self._take_volumes(message)
            case ProbesSay() | ProbesAgain() | ProbesDue():
                self._take_probes(message)
            case ChangeDecided() | ContainersSignalled() | RolloutGranted() | HooksDue():
                self._take_hook(message)
            case _:
                self._do_again(message)

    def _do_again(self, message: DeadlineDue | CommandAgain | RepeatStatus) -> None:
        match message:
            case DeadlineDue():
                self._go_on()
                self._news.tell_life()
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
        self._volumes.note_wish(wish)
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
        if self._memory.life.stage is PodLife.SYNC:
            self._watch_deadline()
        has_volumes = self._memory.has_volumes
        step = self._memory.life.next_step(self._pod, has_volumes=has_volumes)
        match step:
            case RunStep():
                self._run()
            case StopStep(grace=grace):
                if self._hooks is not None:
                    self._hooks.cancel()
                if step != self._told:
                    self._told = step
                    self._command(StopStep(self._keeping.left_of(grace, self.clock.wall())))
            case _:
                if step is FORGET and self._told is not FORGET:
                    self._command(step)
                self._told = step
        self._want_probes()

    def _command_again(self) -> None:
        if self._told is not None:
            self._told = None
            self._go_on()

    def _run(self) -> None:
        """Have it run, as soon as what it needs is there."""
        if self._needs is None and needs_anything(self._pod, self._ports):
            self._needs = WorkerNeeds(self._ports, self._address, self.after)
            self._memory.has_needs = True
        if self._needs is not None:
            self._needs.begin(self._pod)
        self._volumes.begin(self._pod)
        self._run_if_ready()

    def _run_if_ready(self) -> None:
        needs, volumes = self._needs, self._volumes
        if not volumes.is_settled or (needs is not None and not needs.is_settled):
            return
        if not self._memory.has_begun:
            missing = needs.missing_files() if needs is not None else []
            if missing or (missing := volumes.missing()):
                self._wait_for(missing)
                return
        if needs is not None:
            self._compare(needs)
        self._waits_for = []
        self._told = RUN
        self._command(RUN)
        self._keep()

    def _compare(self, needs: WorkerNeeds) -> None:
        """Have decided what is to be done about changes that no agent or life of this worker heard of."""
        memory = self._memory
        if self._was_compared:
            return
        is_later_life, self._was_compared, memory.was_compared = memory.was_compared, True, True
        if memory.kept is None or not (is_later_life or memory.wish.was_there):
            return  # what it is started with now is the newest
        pending = memory.hooks.unsettled() if memory.hooks is not None else {}
        missed = needs.tell_missed(memory.kept.objects, pending)
        for changed in () if is_later_life else missed:
            wanted = changed.object
            self._news.say("an object changed while no agent was there", object=wanted.display_name)
            message = f'{wanted.kind} "{wanted.name}" changed while the agent was not running'
            self._news.post(PodFailure(reason="ReferenceChanged", message=message))

    def _keep(self) -> None:
        if self._memory.life.stage is PodLife.SYNC and self._told is RUN:
            self._keeping.keep(self._needs.versions() if self._needs is not None else {})

    def _command(self, step: LifeStep) -> None:
        self._commands += 1
        mark = Mark(self.incarnation, self._commands)
        pod, me, runtime, memory = self._pod, self._address, self._ports.runtime, self._memory
        if isinstance(step, RunStep):
            memory.has_begun = True
            supplies = self._supplied = self._supplies()
            verdicts = self._probing.verdicts() if self._probing is not None else {}
            outdated = frozenset[str]() if memory.hooks is None else memory.hooks.outdated
            runtime.tell(
                RunPod(
                    pod=pod,
                    mark=mark,
                    reply_to=me,
                    verdicts=verdicts,
                    outdated=outdated,
                    **supplies._asdict(),
                )
            )
        elif isinstance(step, StopStep):
            self._news.say("stopping a pod", grace=round(step.grace, 3), reason=self._news.reason())
            known = None if self._memory.wish.has_no_document else pod
            runtime.tell(StopPod(uid=pod.uid, mark=mark, reply_to=me, grace=step.grace, pod=known))
        else:
            runtime.tell(ForgetPod(uid=pod.uid, mark=mark, reply_to=me))

    def _supplies(self) -> Supplies:
        """Return what the runtime is to be told with the pod."""
        supplies = self._needs.supplies() if self._needs is not None else NO_SUPPLIES
        return supplies._replace(volumes=self._volumes.volumes)

    def _let_go(self) -> None:
        """Let go of what it needed to run."""
        self._volumes.end(self._pod.uid)
        if not self._memory.has_needs:
            return
        needs = self._needs or WorkerNeeds(self._ports, self._address, self.after)
        needs.end(self._pod)
        self._needs, self._waits_for, self._memory.has_needs = None, [], False

    # --- what is ---------------------------------------------------------------------------------------

    def _observe(self, observed: PodObserved) -> None:
        life, before = self._memory.life, self._memory.life.stage
        if before is not PodLife.TERMINATED:
            if observed.mark >= Mark(self.incarnation, self._commands):
                self._learn(observed)
            self._news.note_status(observed, self.clock.wall())
        elif self._told is FORGET and observed.mark >= Mark(self.incarnation, self._commands):
            life.note(LifeEvent.FORGOTTEN)  # its status stays that of its end
        if life.stage is not before:
            self._move()
        if self._probing is not None:
            self._probing.note_observed()
            self._want_probes()
        if self._hooks is not None:
            self._hooks.note_observed(observed)
            self._hook_on()

    def _learn(self, observed: PodObserved) -> None:
        """Learn from an observation that includes the effect of the last command."""
        life = self._memory.life
        if isinstance(self._told, StopStep):
            life.note(LifeEvent.STOPPED)
        elif self._told is RUN:
            for trouble in observed.troubles:
                if trouble.is_for_good:
                    life.end(PodFailure(reason=trouble.reason, message=trouble.message))
            if phase_of(self._pod, observed) in TERMINAL_PHASES:
                life.end()

    def _move(self) -> None:
        """Go on in a new stage."""
        life = self._memory.life
        if life.is_stopped:
            self._let_go()
        self._go_on()
        if life.stage is PodLife.FINISHED and not self._memory.wish.is_removed:
            self._news.tell_status()  # that of a pod that was removed is about to be forgotten
        self._news.tell_life()

    def _take_need(self, fact: NeedFact) -> None:
        """Run the pod if what it waited for is there now, or if other variables are to be set from now on."""
        needs = self._needs
        if needs is None:
            return
        needs.take(fact)
        if self._memory.life.stage is PodLife.SYNC and (
            self._told is not RUN or self._supplies() != self._supplied
        ):
            self._run_if_ready()
        self._keep()
        self._want_probes()
        self._hook_on()

    def _take_volumes(self, fact: VolumesAre | VolumesGone | VolumesOverdue) -> None:
        """Run the pod once its volumes are there, and let it go once nothing of them is left."""
        match fact:
            case VolumesAre():
                self._volumes.note(fact)
                self._news.note_volumes(self._volumes.troubles(), self.clock.wall())
                if self._memory.life.stage is PodLife.SYNC and (
                    self._told is not RUN or self._supplies() != self._supplied
                ):
                    self._run_if_ready()
                self._hook_on()
            case VolumesGone():
                if self._memory.life.is_stopped:
                    self._volumes.note_gone()
                    self._go_on()
            case VolumesOverdue():
                self._volumes.ask_again(self._pod.uid)
            case _:
                assert_never(fact)

    def _wait_for(self, missing: list[str]) -> None:
        """Say that the pod waits, once for each list of what is ``missing``."""
        if missing != self._waits_for:
            self._waits_for = missing
            self._news.say("a pod waits for what its volumes need", missing=missing)
            self._news.note_status(None, self.clock.wall())

    # --- what its probes say ---------------------------------------------------------------------------

    def _want_probes(self) -> None:
        if self._probing is not None:
            needs = self._needs
            is_known = needs is not None and needs.is_settled
            self._probing.want(needs.supplies().objects if needs is not None and is_known else None)

    def _take_probes(self, fact: ProbesSay | ProbesAgain | ProbesDue) -> None:
        """Show what the probes say, and tell the runtime if that changes what it has to do."""
        if self._probing is None:
            return
        if not isinstance(fact, ProbesSay):
            self._probing.again()
        elif self._probing.take(fact):
            self._news.note_verdicts(self.clock.wall())
            if self._told is RUN and self._probing.has_commands:
                self._command(RUN)
            self._keep()
            self._note_readiness()

    # --- what is done about changes --------------------------------------------------------------------

    def _make_hooks(self) -> WorkerHooks:
        ports, memory, me = self._ports, self._memory, self._address
        self._hooks = WorkerHooks(ports, memory, me, self.after, self._restart_outdated)
        return self._hooks

    def _take_hook(
        self, fact: ChangeDecided | ContainersSignalled | RolloutGranted | HooksDue
    ) -> None:
        memory = self._memory
        if isinstance(fact, ChangeDecided) and fact.pod != self._pod.uid:
            return  # it is told to whoever follows the object
        hooks = self._hooks or self._make_hooks()
        match fact:
            case ChangeDecided():
                if memory.life.stage is PodLife.SYNC:
                    hooks.decide(fact, self.clock.monotonic())
            case ContainersSignalled():
                hooks.take_answer(fact)
            case RolloutGranted():
                hooks.take_turn(fact)
            case HooksDue():
                pass
            case _:
                assert_never(fact)
        self._hook_on()
        self._keep()

    def _hook_on(self) -> None:
        """Do what can be done now about changes."""
        if self._hooks is not None and self._memory.life.stage is PodLife.SYNC:
            versions = self._needs.versions() if self._needs is not None else {}
            self._hooks.go_on(self._volumes.told, versions, self.clock.monotonic())

    def _note_readiness(self) -> None:
        """Let the next one of a group go on if a container that was restarted is ready now."""
        status = self._memory.status
        if self._hooks is not None and status is not None and status.observed is not None:
            self._hooks.note_observed(status.observed)

    def _restart_outdated(self) -> None:
        if self._told is RUN:
            self._keep()  # before anything ends: whoever goes on knows then what is to start again
            self._command(RUN)

    # --- how long it may be active ---------------------------------------------------------------------

    def _watch_deadline(self) -> None:
        """End a pod that was active for as long as it may be; else look again when that is due."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        limit, status = active_deadline(self._pod.document), self._memory.status
        if limit is None or status is None or status.start_time is None:
            return
        left = status.start_time + limit - self.clock.wall()
        if left > 0:
            self._deadline = self.after(Seconds(min(left, _LONGEST_TIMER)), DeadlineDue())
        else:
            self._memory.life.end(OVERDUE)
            self._news.post(OVERDUE)
