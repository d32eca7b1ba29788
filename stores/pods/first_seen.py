"""When each pod was first seen: the times behind the annotation ``kubernetes.io/config.seen``.

It is kept apart from the merge, and outlives the actor that merges: a pod keeps its time as long as
its source lists it, whatever crashes meanwhile (rules C8 and C23). A new process starts anew.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from messages.pods import PodUid, SourceName
from messages.units import Timestamp


class FirstSeen:
    """First-seen times per source and UID. Holds no more than what the sources list at present."""

    def __init__(self) -> None:
        self._times: dict[SourceName, dict[PodUid, Timestamp]] = {}

    def seen_at(self, source: SourceName, uid: PodUid, now: Timestamp) -> Timestamp:
        """Return when ``source`` first told of ``uid``: a time on record, else ``now``, recorded."""
        return self._times.setdefault(source, {}).setdefault(uid, now)

    def retain(self, source: SourceName, uids: AbstractSet[PodUid]) -> None:
        """Forget every UID of ``source`` but ``uids``: the ones of its newest listing."""
        times = self._times.get(source, {})
        for uid in times.keys() - uids:
            del times[uid]
