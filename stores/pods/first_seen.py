"""When each pod was first seen: the times in the annotation ``kubernetes.io/config.seen``.

They are kept apart from the merge and outlive the actor that merges. A pod keeps its time as long as its
source lists it, whatever crashes meanwhile (rules C8 and C23). A new process has no times.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from messages.pods import PodUid, SourceName
from messages.units import Timestamp


class FirstSeen:
    """First-seen times by source and UID, for the pods that the sources list at present."""

    def __init__(self) -> None:
        self._times: dict[SourceName, dict[PodUid, Timestamp]] = {}

    def seen_at(self, source: SourceName, uid: PodUid, now: Timestamp) -> Timestamp:
        """Return when ``source`` first told of ``uid``. Records ``now`` for a new one, and returns it."""
        return self._times.setdefault(source, {}).setdefault(uid, now)

    def retain(self, source: SourceName, uids: AbstractSet[PodUid]) -> None:
        """Forget all UIDs of ``source`` except ``uids``, which are those of its newest listing."""
        times = self._times.get(source, {})
        for uid in times.keys() - uids:
            del times[uid]
