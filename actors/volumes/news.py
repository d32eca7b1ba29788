"""Taking in what is told of what volumes show. A part of the keeper of volumes."""

from __future__ import annotations

from collections.abc import Iterable

from actors.volumes.keeper_parts import VolumeKeeperMemory
from actors.volumes.kept_volumes import KeptVolume
from actors.volumes.reading import ObjectsOfVolumes
from messages.objects import ObjectChanged, ObjectRead
from messages.pods import PodUid
from messages.tokens import TokensAre
from messages.units import Seconds


class NewsOfVolumes:
    """Has the volumes written again that show something else now, for one life of the keeper."""

    def __init__(self, memory: VolumeKeeperMemory, reading: ObjectsOfVolumes) -> None:
        self._memory = memory
        self._reading = reading

    def note_change(self, changed: ObjectChanged, now: Seconds) -> None:
        """Have an object read that has changed. The volumes that show it are late from now on."""
        known = self._memory.objects.get(changed.object)
        for uid in known.pods if known is not None else ():
            for volume in self._volumes_of(uid):
                if changed.object in volume.objects and volume.changed_at is None:
                    volume.changed_at = now
        self._reading.note_change(changed.object)

    def note_read(self, read: ObjectRead) -> list[PodUid]:
        """Take what an object is. Return the pods that are to be looked at."""
        noted = self._reading.note_read(read)
        if noted is None:
            return []
        wanted, is_news, waited = noted
        known = self._memory.objects.get(wanted)
        if known is None or not is_news:
            return list(waited)
        for uid in known.pods:
            for volume in self._volumes_of(uid):
                volume.is_stale |= wanted in volume.objects
        return list(known.pods)

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
