"""Whether two versions of one pod differ, and what a subscriber of PodManager has seen of the served pods.

Compares decoded documents (rules C15 to C19). A missing map and an empty one mean the same to every reader of
a pod, so they are equal here. In a kubelet they are equal for annotations and differ for labels.

PodManager tells a whole listing when it cannot know what a subscriber knows: to a new one, for the first
listing of a source, and again after a crash. Compared with what was seen before, a listing becomes the
changes that were missed, so a subscriber takes each change once. The listings of the state at the beginning
are no changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from messages.changes import Op, PodChange
from messages.pods import CONFIG_SEEN, CONFIG_SOURCE, JsonObject, Pod, PodUid, SourceName

LOCAL_ANNOTATIONS = frozenset({CONFIG_SOURCE, CONFIG_SEEN})
"""Annotations that this node writes itself, whatever the source says. ``config.mirror`` is none of them: it
decides whether a pod is a mirror, and of which pod, so a change of it has to be seen (fixes K13)."""


def difference(old: Pod, new: Pod) -> Op | None:
    """Return the operation that leads from ``old`` to ``new``, two versions of one UID.

    ``None`` if nobody needs to be told: then only fields differ that the API server keeps for itself, such
    as ``resourceVersion`` and ``managedFields``.
    """
    if _differs_in_meaning(old, new):
        return Op.DELETE if new.is_deleting else Op.UPDATE
    if _map(old.document, "status") != _map(new.document, "status"):
        return Op.RECONCILE
    return None


def _differs_in_meaning(old: Pod, new: Pod) -> bool:
    old_metadata, new_metadata = _map(old.document, "metadata"), _map(new.document, "metadata")
    return (
        # Only a manifest that fixes its UID can keep it under another name.
        (old.name, old.namespace) != (new.name, new.namespace)
        or _map(old.document, "spec") != _map(new.document, "spec")
        or _map(old_metadata, "labels") != _map(new_metadata, "labels")
        or _told(old.annotations) != _told(new.annotations)
        or _deletion(old_metadata) != _deletion(new_metadata)
    )


def _told(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key not in LOCAL_ANNOTATIONS}


def _deletion(metadata: JsonObject) -> tuple[str, int | None]:
    return metadata.get("deletionTimestamp") or "", metadata.get("deletionGracePeriodSeconds")


def _map(document: JsonObject, key: str) -> JsonObject:
    return document.get(key) or {}


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
