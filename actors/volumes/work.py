"""Starting jobs about volumes, and taking in what came of them. A part of the keeper of volumes."""

from __future__ import annotations

from functools import partial
from typing import Final, assert_never

from actors.volumes.content.making import VolumeSituation
from actors.volumes.events import VolumeEvents
from actors.volumes.keeper_parts import (
    ALL_VOLUMES,
    NO_POD,
    JobOf,
    VolumeJobsEnded,
    VolumeKeeperMemory,
    VolumeKeeperPorts,
)
from actors.volumes.kept_volumes import NO_VERSIONS, KeptVolume, Version, VolumesOfPod
from actors.volumes.making.forms import (
    ContentForm,
    EmptyDirForm,
    HostPathForm,
    ImageForm,
    Medium,
    RefusedForm,
    VolumeForm,
    VolumePlugin,
)
from actors.volumes.making.jobs import (
    VolumeJob,
    VolumeJobFailure,
    VolumeLane,
    VolumeMade,
    VolumeOutcome,
)
from manifests.references import object_of, volume_references
from messages.objects import ObjectId
from messages.pods import Pod, PodUid
from messages.units import Seconds
from messages.volumes import PodVolume, VolumeTrouble

DETACH_AFTER: Final = 2
"""Attempts to unmount, before what is in use is detached."""


class VolumeWork:
    """Starts and ends jobs, for one life of the keeper."""

    def __init__(
        self, ports: VolumeKeeperPorts, memory: VolumeKeeperMemory, volume_events: VolumeEvents
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._volume_events = volume_events

    # --- beginning -------------------------------------------------------------------------------------

    def make(self, kept: VolumesOfPod, pod: Pod, name: str) -> None:
        """Begin to make a volume, or to write its files."""
        volume = kept.volumes[name]
        volume.is_stale = False
        maker = self._ports.maker
        match volume.form:
            case ContentForm() as form:
                self._write(kept, pod, name, form)
            case EmptyDirForm() as form:
                is_disk = form.medium is Medium.DISK
                lane = VolumeLane.DISK if is_disk else VolumeLane.MEMORY
                job = VolumeJob(lane, partial(maker.make_empty_dir, pod, name, form))
                self._start(volume, JobOf(pod.uid, name), job)
            case HostPathForm() as form:
                job = VolumeJob(VolumeLane.NODE, partial(maker.check_host_path, form))
                self._start(volume, JobOf(pod.uid, name), job)
            case ImageForm():
                volume.volume = PodVolume(path="", read_only=True)
            case RefusedForm():
                pass
            case _:
                assert_never(volume.form)

    def _write(self, kept: VolumesOfPod, pod: Pod, name: str, form: ContentForm) -> None:
        volume = kept.volumes[name]
        if volume.shown is None:
            volume.shown = self._ports.maker.shown_directory(pod.uid, name, form)
        situation, volume.job_shows = self._situation(kept, pod, volume)
        lane = VolumeLane.MEMORY if form.is_in_memory else VolumeLane.DISK
        work = partial(self._ports.maker.write, volume.shown, form, volume.source, situation)
        self._start(volume, JobOf(pod.uid, name), VolumeJob(lane, work))

    def tidy(self, uid: PodUid, name: str, volume: KeptVolume) -> None:
        """Remove old files of a volume."""
        leaving, volume.leaving, volume.left_at = volume.leaving, (), None
        if volume.shown is None or not isinstance(volume.form, ContentForm):
            return
        lane = VolumeLane.MEMORY if volume.form.is_in_memory else VolumeLane.DISK
        work = partial(self._ports.maker.tidy, volume.shown, leaving)
        self._start(volume, JobOf(uid, name), VolumeJob(lane, work))

    def tear_down(self, uid: PodUid, kept: VolumesOfPod, now: Seconds) -> None:
        """Begin to take the volumes of a pod away."""
        releasing = kept.releasing
        if releasing is None:
            return
        detach = releasing.attempts >= DETACH_AFTER
        job = VolumeJob(VolumeLane.REMOVALS, self._ports.teardowns.job(uid, detach=detach))
        releasing.job, releasing.began = job, now
        self._begin(JobOf(uid, ""), job)

    def look(self, job: VolumeJob) -> None:
        """Begin to look at the volumes of all pods, unless somebody does that already."""
        if ALL_VOLUMES not in self._memory.jobs.values():
            self._begin(ALL_VOLUMES, job)

    def look_for_left_behind(self, known: frozenset[PodUid]) -> None:
        """Begin to look for volumes that earlier processes left, of pods that nobody knows."""
        work = partial(self._ports.teardowns.left_behind, known)
        self._begin(NO_POD, VolumeJob(VolumeLane.REMOVALS, work))

    def _start(self, volume: KeptVolume, whose: JobOf, job: VolumeJob) -> None:
        volume.job = job
        self._begin(whose, job)

    def _begin(self, whose: JobOf, job: VolumeJob) -> None:
        self._memory.jobs[job] = whose
        ended, me = self._memory.ended, self._ports.me

        def done(outcome: object) -> None:
            job.note(outcome)
            ended.append(job)
            me.tell(VolumeJobsEnded())

        job.in_flight = self._ports.lanes[job.lane].start(job.work, done)

    def _situation(
        self, kept: VolumesOfPod, pod: Pod, volume: KeptVolume
    ) -> tuple[VolumeSituation, dict[ObjectId, Version]]:
        found, unread, versions = {}, {}, {}
        for wanted in volume.objects:
            known = self._memory.objects.get(wanted)
            if known is None or known.version is None:
                unread[wanted] = "is not read yet"
                continue
            if known.value is not None:
                found[wanted] = known.value
            elif known.trouble:
                unread[wanted] = known.trouble
            if not known.trouble:
                versions[wanted] = known.version
        tokens = kept.tokens
        situation = VolumeSituation(
            pod=pod,
            objects=found,
            unread=unread,
            allocatable=self._ports.allocatable,
            tokens={} if tokens is None else tokens.tokens,
            token_troubles={} if tokens is None else tokens.troubles,
        )
        return situation, versions

    # --- ending ----------------------------------------------------------------------------------------

    def note_made(
        self, pod: Pod, name: str, volume: KeptVolume, outcome: VolumeOutcome, now: Seconds
    ) -> None:
        """Note what came of a job about a volume."""
        shows = volume.job_shows
        match outcome:
            case VolumeMade():
                self._note(pod, name, volume, outcome)
                if not outcome.is_missing:
                    volume.tried_at = now
                if not outcome.trouble:
                    volume.versions = shows
                    self._note_seen(volume, outcome, now)
            case VolumeJobFailure(message=message):
                volume.tried_at = now
                self._fail(volume, message)
                self._volume_events.say(pod, name, volume)
            case _:
                pass  # old files are gone, or the next write removes them
        volume.job, volume.job_shows = None, NO_VERSIONS  # the last, so that no crash leaves a half

    def _note(self, pod: Pod, name: str, volume: KeptVolume, made: VolumeMade) -> None:
        if made.is_there:
            volume.volume = self._pod_volume(pod.uid, name, volume.form)
        if not made.trouble:
            volume.failures, volume.trouble = 0, None
        elif made.is_missing or made.is_for_good:
            volume.trouble = VolumeTrouble(message=made.trouble, is_for_good=made.is_for_good)
        else:
            self._fail(volume, made.trouble)
        is_unread = any(
            known is not None and known.trouble
            for known in map(self._memory.objects.get, volume.objects)
        )
        quietly = made.is_missing and made.is_there and is_unread
        has_line = made.is_missing and self._lacks_object(pod, volume)
        self._volume_events.say(pod, name, volume, quietly=quietly, has_line=has_line)
        self._volume_events.note(pod, name, made.notes)

    def _lacks_object(self, pod: Pod, volume: KeptVolume) -> bool:
        """Return whether an object that has to be there is not, or cannot be read."""
        required = (
            object_of(pod, each.kind, each.name)
            for each in volume_references(volume.source)
            if not each.is_optional
        )
        found = map(self._memory.objects.get, required)
        return any(known is not None and known.is_missing for known in found)

    def _note_seen(self, volume: KeptVolume, made: VolumeMade, now: Seconds) -> None:
        counts = self._memory.counts
        if made.is_written:
            counts.writes += 1
            counts.written_bytes += made.written_bytes
            if volume.changed_at is not None:
                counts.delays.note(now - volume.changed_at)
        if not volume.is_stale:
            volume.changed_at = None
        if made.leaving:
            volume.leaving, volume.left_at = made.leaving, now

    def _fail(self, volume: KeptVolume, message: str) -> None:
        """Note that it did not work, and is tried again."""
        self._memory.counts.errors += 1
        volume.failures += 1
        volume.is_stale = True
        volume.trouble = VolumeTrouble(message=message)

    def _pod_volume(self, uid: PodUid, name: str, form: VolumeForm) -> PodVolume:
        match form:
            case ContentForm(plugin=plugin):
                path = self._ports.maker.path_of(uid, plugin, name)
                return PodVolume(path=path, read_only=True, is_own=True)
            case EmptyDirForm():
                path = self._ports.maker.path_of(uid, VolumePlugin.EMPTY_DIR, name)
                return PodVolume(path=path, is_own=True)
            case HostPathForm(path=path):
                return PodVolume(path=path)
            case _:
                return PodVolume(path="", read_only=True)
