"""What a subscriber of PodManager has seen of the served pods, so that it takes each change once.

PodManager tells a whole listing when it cannot know what a subscriber knows: to a new one, for the first
listing of a source, and again after a crash. Compared with what was seen before, a listing becomes the
changes that were missed. The listings of the state at the beginning are no changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from messages.changes import Op, PodChange
from messages.pods import Pod, PodUid, SourceName
from stores.pods.comparison import difference


class SeenPods:
    """The pods of all sources, as they were seen last."""

    def __init__(self) -> None:
        self._pods: dict[PodUid, Pod] = {}
        self._sources: set[SourceName] = set()
        self._has_seen_all = False

    def replace(self, source: SourceName, pods: Iterable[Pod]) -> tuple[PodChange, ...]:
        """Take a whole listing of ``source``; return what it changes, in the order of ``Op``.

        The first listing of a source changes nothing as long as the state at the beginning is incomplete.
        """
        listed = {pod.uid: pod for pod in pods}
        is_news = self._has_seen_all or source in self._sources
        changes = self._changes(source, listed) if is_news else ()
        self._sources.add(source)
        self._pods = {
            **{uid: pod for uid, pod in self._pods.items() if pod.source != source},
            **listed,
        }
        return changes

    def note_all(self, sources: AbstractSet[SourceName]) -> None:
        """Note that ``sources`` is all that had listed at the beginning; once seen, others are changes."""
        self._has_seen_all |= sources <= self._sources

    def apply(self, changes: Iterable[PodChange]) -> tuple[PodChange, ...]:
        """Take the changes of a listing; return those that were not seen yet."""
        return tuple(self._take(change) for change in changes if not self._is_known(change))

    def by_uid(self) -> Mapping[PodUid, Pod]:
        """Return the pods by UID, as they are now. The mapping is not changed later."""
        return dict(self._pods)

    def forget(self) -> None:
        """Forget everything, as if nothing had been seen yet."""
        self._pods.clear()
        self._sources.clear()
        self._has_seen_all = False

    def _changes(self, source: SourceName, listed: dict[PodUid, Pod]) -> tuple[PodChange, ...]:
        gone = [
            PodChange(op=Op.REMOVE, pod=pod)
            for uid, pod in self._pods.items()
            if pod.source == source and uid not in listed
        ]
        steps = ((self._step(pod), pod) for pod in listed.values())
        there = [PodChange(op=op, pod=pod) for op, pod in steps if op is not None]
        return tuple(sorted([*gone, *there], key=_turn))

    def _step(self, pod: Pod) -> Op | None:
        before = self._pods.get(pod.uid)
        if before is pod:
            return None
        return Op.ADD if before is None else difference(before, pod)

    def _is_known(self, change: PodChange) -> bool:
        """Whether a listing has said so before: a life of PodManager may reveal a pod once more."""
        return change.op is Op.ADD and self._pods.get(change.pod.uid) == change.pod

    def _take(self, change: PodChange) -> PodChange:
        if change.op is Op.REMOVE:
            self._pods.pop(change.pod.uid, None)
        else:
            self._pods[change.pod.uid] = change.pod
        return change


_TURNS = {op: turn for turn, op in enumerate(Op)}


def _turn(change: PodChange) -> int:
    return _TURNS[change.op]
