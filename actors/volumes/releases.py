"""Taking the volumes of pods away. A part of the keeper of volumes."""

from __future__ import annotations

from typing import Final

import structlog

from actors.volumes.following import ObjectsOfVolumes, TokensOfVolumes
from actors.volumes.keeper_parts import VolumeKeeperMemory
from actors.volumes.kept_volumes import Releasing, VolumesOfPod
from actors.volumes.looks import DueTimes
from actors.volumes.making.foreign import ForeignVolume
from actors.volumes.making.jobs import (
    VolumeJobFailure,
    VolumeLane,
    VolumeOutcome,
    VolumesLeftBehind,
    VolumesTornDown,
)
from actors.volumes.plan import retry_pause
from actors.volumes.work import VolumeWork
from messages.pods import PodUid
from messages.units import Seconds
from messages.volumes import ReleaseVolumes, VolumesGone, VolumesStay, WantVolumes

HELD_PAUSE: Final = Seconds(10.0)
"""Between two looks whether somebody has dealt with the volumes of somebody else."""

_log = structlog.get_logger("volumes")


class VolumeReleases:
    """Sees to it that nothing is left, for one life of the keeper."""

    def __init__(
        self,
        memory: VolumeKeeperMemory,
        following: ObjectsOfVolumes,
        tokens: TokensOfVolumes,
        work: VolumeWork,
        times: DueTimes,
    ) -> None:
        self._memory = memory
        self._following = following
        self._tokens = tokens
        self._work = work
        self._times = times

    def take(self, wanted: ReleaseVolumes) -> None:
        """Note that the volumes of a pod are to go, and let go of what they showed."""
        uid, pods = wanted.uid, self._memory.pods
        kept = pods.get(uid)
        if wanted.unless_wanted and kept is not None:
            return  # it is there, or somebody else has them taken away already
        if kept is None:
            kept = pods[uid] = VolumesOfPod(pod=None)
        if kept.releasing is None:
            kept.releasing = Releasing(reply_to=wanted.reply_to)
            self._following.let_go(uid, kept.objects)
            self._tokens.release(uid, kept)
        kept.releasing.reply_to, kept.releasing.next = wanted.reply_to, None
        self._tell(uid, kept.releasing)

    def take_left_behind(self, found: VolumesLeftBehind) -> list[PodUid]:
        """Note that the volumes of pods are to go that nobody has wanted meanwhile. Return these pods."""
        pods = [uid for uid in found.pods if uid not in self._memory.pods]
        for uid in pods:
            releasing = Releasing(reply_to=None)
            self._memory.pods[uid] = VolumesOfPod(pod=None, releasing=releasing)
            _log.info("volumes of a pod that is gone are taken away", uid=uid)
        return pods

    def go_on(self, uid: PodUid, kept: VolumesOfPod, now: Seconds) -> None:
        """Begin to tear down, as soon as nothing is written to the pod's directory any more."""
        releasing = kept.releasing
        if releasing is None or releasing.job is not None or self._is_written(kept):
            return
        pause = HELD_PAUSE if releasing.held else retry_pause(releasing.attempts)
        if releasing.reasons and releasing.began is not None:
            at = Seconds(releasing.began + pause)
            if at > now:
                self._times.add(at, uid)
                return
        self._work.tear_down(uid, kept, now)

    def note_torn_down(
        self, uid: PodUid, releasing: Releasing, outcome: VolumeOutcome
    ) -> WantVolumes | None:
        """Note what came of it. Return what somebody wants for the same UID now."""
        releasing.job = None
        match outcome:
            case VolumesTornDown(trouble=trouble, held=held, notes=notes):
                for note in notes:
                    _log.warning("volumes of a pod were in use", uid=uid, note=note)
            case VolumeJobFailure(message=trouble):
                held = releasing.held
            case _:
                trouble, held = "nothing was torn down", releasing.held
        if trouble or held:
            self._fail(uid, releasing, trouble, held)
            return None
        del self._memory.pods[uid]
        if releasing.reply_to is not None:
            releasing.reply_to.tell(VolumesGone(uid=uid))
        return releasing.next

    def _is_written(self, kept: VolumesOfPod) -> bool:
        """Return whether a thread may still make something in the pod's directory."""
        jobs = (each.job for each in kept.volumes.values())
        return any(
            job is not None
            and job in self._memory.jobs
            and job.lane is not VolumeLane.NODE
            and not job.is_hanging
            for job in jobs
        )

    def _fail(
        self, uid: PodUid, releasing: Releasing, trouble: str, held: tuple[ForeignVolume, ...]
    ) -> None:
        before = releasing.reasons
        releasing.trouble, releasing.held = trouble, held
        releasing.attempts = 0 if held else releasing.attempts + 1
        if releasing.reasons != before:
            for reason in releasing.reasons:
                if reason not in before:
                    self._say("volumes of a pod cannot be taken away", uid, reason=reason)
            self._tell(uid, releasing)

    def _say(self, what: str, uid: PodUid, **fields: str) -> None:
        pod = self._memory.pods[uid].pod
        about = {"uid": uid} if pod is None else {"pod": pod.display_name, "uid": uid}
        _log.warning(what, **about, **fields)

    @staticmethod
    def _tell(uid: PodUid, releasing: Releasing) -> None:
        if releasing.reasons and releasing.reply_to is not None:
            releasing.reply_to.tell(VolumesStay(uid=uid, reasons=releasing.reasons))
