"""Taking in what is told of what volumes show. A part of the keeper of volumes."""

from __future__ import annotations

from collections.abc import Iterable

from actors.volumes.following import ObjectsOfVolumes
from actors.volumes.keeper_parts import VolumeKeeperMemory
from actors.volumes.kept_volumes import KeptVolume
from kernel import LevelIs
from messages.objects import HeldObject, ObjectId
from messages.pods import PodUid
from messages.tokens import TokensAre
from messages.units import Seconds


class NewsOfVolumes:
    """Has the volumes written again that show something else now, for one life of the keeper."""

    def __init__(self, memory: VolumeKeeperMemory, following: ObjectsOfVolumes) -> None:
        self._memory = memory
        self._following = following

    def note_held(self, told: LevelIs[ObjectId, HeldObject], now: Seconds) -> list[PodUid]:
        """Take what an object is. Return the pods that are to be looked at.

        Volumes that show something else now are late from now on.
        """
        known = self._memory.objects.get(told.key)
        is_first = known is None or known.version is None
        noted = self._following.note(told)
        if noted is None:
            return []
        for uid in noted.pods:
            for volume in self._volumes_of(uid):
                if told.key in volume.objects:
                    volume.is_stale = True
                    if volume.changed_at is None and volume.versions and not is_first:
                        volume.changed_at = now
        return list(dict.fromkeys((*noted.pods, *noted.ready)))

    def note_tokens(self, told: TokensAre) -> bool:
        """Take the tokens of a pod. Return whether any volume may show something else now."""
        kept = self._memory.pods.get(told.uid)
        if kept is None or kept.releasing is not None or kept.tokens == told:
            return False
        kept.tokens = told
        for volume in kept.volumes.values():
            volume.is_stale |= bool(volume.tokens)
        return True

    def _volumes_of(self, uid: PodUid) -> Iterable[KeptVolume]:
        kept = self._memory.pods.get(uid)
        return kept.volumes.values() if kept is not None else ()
