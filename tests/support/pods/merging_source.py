"""A source and the memory of it, for tests that talk to the merge in listings."""

from __future__ import annotations

from functools import partial

from messages.pods import FILE, Pod, PodUid, SourceName
from messages.units import Timestamp
from stores.pods.merge import Merged, SourceMemory, merge
from stores.pods.served_pods import FirstSeen


class MergingSource:
    """Merges one listing after the other, as the owner of a source's memory does."""

    def __init__(self, name: SourceName = FILE) -> None:
        self.now = Timestamp(1_900_000_000.0)
        self.memory = SourceMemory(source=name)
        self.first_seen = FirstSeen()

    def merges(self, *pods: Pod) -> Merged:
        """List ``pods`` and return everything that came of it."""
        seen_at = partial(self.first_seen.seen_at, self.memory.source, now=self.now)
        merged = merge(self.memory, pods, seen_at)
        self.memory = merged.memory
        self.first_seen.retain(self.memory.source, self.memory.kept.keys())
        return merged

    def lists(self, *pods: Pod) -> list[str]:
        """List ``pods`` and return the changes, as in ``["REMOVE default/a", "ADD default/b"]``."""
        return spoken(self.merges(*pods))

    def forgets(self) -> None:
        """Lose the memory as a crash does; the first-seen times outlive it."""
        self.memory = SourceMemory(source=self.memory.source)

    def kept(self, uid: str) -> Pod:
        """Return the kept pod of this UID."""
        return self.memory.kept[PodUid(uid)].pod


def spoken(merged: Merged) -> list[str]:
    """Return the changes of a merge as words."""
    return [f"{change.op} {change.pod.display_name}" for change in merged.changes]
