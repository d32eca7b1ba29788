"""VolumeKeeper: makes the volumes of pods, keeps their files current, and takes them away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, assert_never

import structlog
from typing_extensions import override

from actors.volumes.described import volumes_described
from actors.volumes.events import VolumeEvents
from actors.volumes.following import NewsOfVolumes, ObjectsOfVolumes, TokensOfVolumes
from actors.volumes.keeper_parts import (
    VOLUME_KEEPER,
    HangingDue,
    JobOf,
    LostFilesDue,
    MoreVolumesDue,
    VolumeJobsEnded,
    VolumeKeeperMemory,
    VolumeKeeperMessage,
    VolumeKeeperPorts,
    VolumesDue,
    VolumeTurn,
)
from actors.volumes.kept_volumes import (
    VolumesOfPod,
    answer_of,
    held_troubles,
    kept_volume,
    sources_of,
)
from actors.volumes.looks import DueTimes, HangingJobs, LostFiles
from actors.volumes.making.jobs import VolumeJob, VolumeOutcome, VolumesLeftBehind, VolumesLookedAt
from actors.volumes.plan import VolumeStep, VolumeWaits, next_step, volume_now
from actors.volumes.releases import VolumeReleases
from actors.volumes.work import VolumeWork
from kernel import LevelIs, PooledActor
from messages.objects import HeldObject, ObjectId
from messages.pods import Pod, PodUid
from messages.tokens import TokensAre
from messages.volumes import (
    DescribeVolumes,
    ReleaseOtherVolumes,
    ReleaseVolumes,
    VolumeTrouble,
    VolumeTroublesAre,
    WantVolumes,
)

__all__ = ["VOLUME_KEEPER", "VolumeKeeper", "VolumeKeeperMemory", "VolumeKeeperPorts"]

AT_ONCE: Final = 64
"""Pods that are looked at in one turn, and jobs that are taken in. Many pods may show one object."""

_log = structlog.get_logger("volumes")


class VolumeKeeper(PooledActor[VolumeKeeperMessage]):
    """Makes the volumes of each pod that wants any, and keeps their files current until they are released.

    Owns: which volumes there are, what each shows, and the jobs about them; what is below ``volumes``,
    ``volume-subpaths`` and ``plugins`` in the directories of pods, but for those with a volume of others.
    Hears: ``WantVolumes``, ``ReleaseVolumes``, ``ReleaseOtherVolumes``, ``DescribeVolumes``; what objects are
    (``LevelIs``); ``TokensAre``; ``VolumeJobsEnded`` of threads; its own timers.
    Tells: whoever wants volumes ``VolumesAre``, at once and when that changes; whoever releases them
    ``VolumesStay`` and ``VolumesGone``; the managers of objects ``RegisterPod`` and ``UnregisterPod``, and
    ``UnprovenTaken`` for a new pod that has waited in vain for a fresh value of an object, which it follows
    once for all pods; the keeper of tokens ``WantTokens`` and ``ReleaseTokens``; who posts events
    ``PostEvent``.
    Fails when: it has a bug. The next life knows the same volumes, takes in the jobs that ended meanwhile,
    does again those whose outcome the crash lost, and is told again what all objects are.

    Order: one job about a volume at a time; what changes meanwhile is shown by the next one, and the newest
    wins. Volumes are taken away once no job writes them, and whatever is wanted for the same UID meanwhile
    is made after that. Some pods have their turn together, and others after the messages that came
    meanwhile. Repetition: every message may repeat. Volumes that need nothing have one timer together:
    files that somebody removed are found by it, and written again.
    """

    def __init__(self, ports: VolumeKeeperPorts, memory: VolumeKeeperMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._volume_events = VolumeEvents(ports, memory.notices)
        self._work = VolumeWork(ports, memory, self._volume_events)
        self._following = ObjectsOfVolumes(ports, memory.objects, lambda: self.clock, self._look_at)
        self._news = NewsOfVolumes(memory, self._following)
        self._times = DueTimes(lambda: self.clock, self.after)
        self._tokens = TokensOfVolumes(ports, lambda: self.clock, self._times)
        self._releases = VolumeReleases(
            memory, self._following, self._tokens, self._work, self._times
        )
        self._lost = LostFiles(ports, memory, self.after)
        self._hanging = HangingJobs(memory, self.after)
        self._beginning: Iterator[None] = iter(())
        """What this life does first, a step for each pod and object."""
        self._to_look_at: dict[PodUid, None] = {}
        self._more_is_due = False

    @override
    def started(self) -> None:
        self._following.begin(self.alarm)
        self._beginning = self._begin()
        self._do_more()

    def _begin(self) -> Iterator[None]:
        """Ask once more for what the life before may have waited for. What ended meanwhile is remembered."""
        memory = self._memory
        for uid in list(memory.pods):
            kept = memory.pods.get(uid)
            if kept is not None:
                kept.note_lost_jobs(memory.jobs)
            if kept is not None and kept.pod is not None and kept.releasing is None:
                self._tokens.want(kept.pod, kept)
                self._following.register(kept.pod, kept.objects)
                yield
        self._to_look_at.update(dict.fromkeys(memory.pods))

    @override
    def receive(self, message: VolumeKeeperMessage, /) -> None:
        match message:
            case WantVolumes():
                self._want(message)
            case ReleaseVolumes(uid=uid):
                self._releases.take(message)
                self._go_on(uid)
            case ReleaseOtherVolumes(known=known):
                self._work.look_for_left_behind(known)
                self._hanging.watch()
            case LevelIs() | TokensAre():
                self._note(message)
            case DescribeVolumes(reply_to=reply_to, in_detail=in_detail):
                reply_to.tell(volumes_described(self._memory, in_detail=in_detail))
            case VolumeJobsEnded():
                self._do_more()
            case _:
                self._take_turn(message)

    def _note(self, fact: LevelIs[ObjectId, HeldObject] | TokensAre) -> None:
        if isinstance(fact, LevelIs):
            self._look_at(self._news.note_held(fact, self.clock.monotonic()))
        elif self._news.note_tokens(fact):
            self._go_on(fact.uid)

    def _take_turn(self, turn: VolumeTurn) -> None:
        match turn:
            case VolumesDue():
                self._look_at(self._times.take())
            case MoreVolumesDue():
                self._more_is_due = False
                self._do_more()
            case HangingDue():
                self._look_for_hanging()
            case LostFilesDue():
                self._look_for_lost_files()
            case _:
                assert_never(turn)

    # --- what is wanted --------------------------------------------------------------------------------

    def _want(self, wanted: WantVolumes) -> None:
        pod, memory = wanted.pod, self._memory
        kept = memory.pods.get(pod.uid)
        if kept is not None and kept.releasing is not None:
            kept.releasing.next = wanted
            return
        if kept is None:
            kept = memory.pods[pod.uid] = VolumesOfPod(pod=None)
        kept.reply_to, kept.told = wanted.reply_to, None
        if kept.pod is not pod:
            self._take_version(kept, pod)
        self._go_on(pod.uid)

    def _take_version(self, kept: VolumesOfPod, pod: Pod) -> None:
        before, shown = kept.volumes, kept.objects
        kept.volumes = {}
        for name, source in sources_of(pod):
            kept.volumes[name] = kept_volume(pod, source, before.get(name))
        self._tokens.want(pod, kept)
        self._following.take(pod, shown, kept.objects)
        for name, volume in kept.volumes.items():
            self._volume_events.say(pod, name, volume)
        kept.pod = pod

    # --- what is done ----------------------------------------------------------------------------------

    def _look_at(self, pods: Iterable[PodUid]) -> None:
        """Have pods looked at: some now, unless others wait already, and the rest in later turns."""
        is_idle = not self._to_look_at
        self._to_look_at.update(dict.fromkeys(pods))
        if is_idle:
            self._do_more()

    def _do_more(self) -> None:
        """Do as much of what waits as one turn takes."""
        if self._more_is_due:
            return
        has_begun = sum(1 for _ in islice(self._beginning, AT_ONCE)) < AT_ONCE
        self._take_ended()
        for uid in list(islice(self._to_look_at, AT_ONCE)):
            del self._to_look_at[uid]
            self._go_on(uid)
        if not has_begun or self._to_look_at or self._memory.ended:
            self._more_is_due = True
            self._ports.me.tell(MoreVolumesDue())

    def _go_on(self, uid: PodUid) -> None:
        """Do what is to be done now about the volumes of a pod, and tell how they are."""
        kept = self._memory.pods.get(uid)
        if kept is None:
            return
        if kept.releasing is not None:
            self._tell_people(kept, held_troubles(kept.releasing))
            self._releases.go_on(uid, kept, self.clock.monotonic())
        elif kept.pod is not None:
            self._tokens.want_again(kept.pod, kept)
            for name in kept.volumes:
                self._step(kept, kept.pod, name)
            answer = answer_of(uid, kept)
            if answer != kept.told and kept.reply_to is not None:
                kept.told = answer
                kept.reply_to.tell(answer)
            self._tell_people(kept, answer.troubles)
        self._hanging.watch()
        self._lost.watch()

    def _tell_people(self, kept: VolumesOfPod, troubles: Mapping[str, VolumeTrouble]) -> None:
        if self._ports.people is not None and kept.pod is not None and troubles != kept.said:
            kept.said = troubles
            self._ports.people.tell(VolumeTroublesAre(pod=kept.pod, troubles=troubles))

    def _step(self, kept: VolumesOfPod, pod: Pod, name: str) -> None:
        volume, now = kept.volumes[name], self.clock.monotonic()
        step = next_step(volume_now(pod.uid, kept, volume, self._memory.objects), now)
        match step:
            case VolumeStep.MAKE:
                self._work.make(kept, pod, name)
            case VolumeStep.TIDY:
                self._work.tidy(pod.uid, name, volume)
            case VolumeStep.NOTHING:
                pass
            case VolumeWaits(at=at):
                self._times.add(at, pod.uid)
            case _:
                assert_never(step)

    # --- jobs ------------------------------------------------------------------------------------------

    def _take_ended(self) -> None:
        ended = self._memory.ended
        for _ in range(min(len(ended), AT_ONCE)):
            self._take_outcome(ended.popleft())

    def _take_outcome(self, job: VolumeJob) -> None:
        whose, outcome = self._memory.jobs.pop(job, None), job.outcome
        match outcome:
            case VolumesLookedAt():
                self._to_look_at.update(dict.fromkeys(self._lost.note(outcome)))
            case VolumesLeftBehind():
                self._to_look_at.update(dict.fromkeys(self._releases.take_left_behind(outcome)))
            case _:
                self._take_outcome_of_pod(job, whose, outcome)

    def _take_outcome_of_pod(
        self, job: VolumeJob, whose: JobOf | None, outcome: VolumeOutcome | None
    ) -> None:
        kept = self._memory.pods.get(whose.uid) if whose is not None else None
        if whose is None or kept is None or outcome is None:
            return
        volume = kept.volumes.get(whose.volume)
        if kept.releasing is not None and kept.releasing.job is job:
            wanted = self._releases.note_torn_down(whose.uid, kept.releasing, outcome)
            if whose.uid not in self._memory.pods:
                self._tell_people(kept, {})
            if wanted is not None:
                self._want(wanted)
        elif volume is not None and volume.job is job and kept.pod is not None:
            now = self.clock.monotonic()
            self._work.note_made(kept.pod, whose.volume, volume, outcome, now)
        self._go_on(whose.uid)

    def _look_for_lost_files(self) -> None:
        job = self._lost.job()
        if job is not None:
            self._work.look(job)
        self._hanging.watch()
        self._lost.watch()

    def _look_for_hanging(self) -> None:
        for whose in self._hanging.give_up(self.clock.monotonic()):
            self._note_hanging(whose)
        self._hanging.watch()

    def _note_hanging(self, whose: JobOf) -> None:
        kept = self._memory.pods.get(whose.uid)
        volume = kept.volumes.get(whose.volume) if kept is not None else None
        if kept is None or kept.pod is None or volume is None:
            _log.warning("a job about volumes hangs", uid=whose.uid, volume=whose.volume)
            return
        volume.trouble = VolumeTrouble(message="the file system does not answer")
        self._volume_events.say(kept.pod, whose.volume, volume)
        self._go_on(whose.uid)
