"""What MirrorKeeper knows of each name: its static pod, its mirrors, their pace, and what the watch lacks.

There are two channels. The watch, through PodManager, is complete but late. Answers to the keeper's own
calls are exact and ahead of the watch. So an answer counts until the watch has caught up. A mirror that
an answer showed is believed for a while without the watch. A UID that an answer called gone stays gone
whatever the watch shows, since UIDs never return. An answer that the watch has overtaken counts for
nothing: what is being deleted stays so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from actors.mirrors.plan import (
    CREATION_LIMIT,
    CREATION_WINDOW,
    CreateMirror,
    DeleteMirror,
    creation_delay,
    edit_delay,
    is_replacement,
)
from actors.mirrors.pod import can_be_shown, is_mirror_of_node, version_of
from kernel import Timer
from messages.changes import Op, PodChange
from messages.pods import FullName, Pod, PodUid, SourceName
from messages.units import Seconds, Timestamp

_GONE_LEN = 8
"""How many gone UIDs of one name are remembered: more than a watch is ever behind."""

EDITED = "its manifest changes again and again: this version is shown at"
DELETED = (
    f"it was made {CREATION_LIMIT} times within {CREATION_WINDOW:g} s, since somebody deletes or changes "
    "it: it is made again at"
)

Touched: TypeAlias = dict[FullName, bool]
"""Names of which something changed; True if it is their static pod, or whoever else had the name went."""


@dataclass(slots=True)
class MirrorRecord:
    """One name: what is known of it, what is in flight, and what went wrong."""

    full_name: FullName
    static: Pod | None = None
    mirrors: dict[PodUid, Pod] = field(default_factory=dict)
    """Mirrors of this node that are believed to exist. Two are a contradiction, which a look resolves."""
    shown: set[PodUid] = field(default_factory=set)
    """UIDs of mirrors that the watch shows at present, believed or not."""
    gone: deque[PodUid] = field(default_factory=lambda: deque(maxlen=_GONE_LEN))
    unseen: PodUid | None = None
    """UID of a mirror that an answer showed and the watch has not shown yet."""
    departing: PodUid | None = None
    """UID of a mirror that an answer called gone and the watch still shows. Never set with ``unseen``."""
    lag_timer: Timer | None = None
    """Ends the time for which that is believed; then a look follows."""
    confirmations: int = 0
    """How often looks confirmed what the watch has not shown."""
    is_in_doubt: bool = False
    collisions: int = 0
    """How often a creation found the name taken since a pod of this name was seen last."""
    origin: tuple[PodUid, str] | None = None
    """UID of a mirror, and the source that its annotation at the API server names."""
    is_asking: bool = False
    """A call about the name is in flight. There is never a second one."""
    retry_timer: Timer | None = None
    """Set while the next attempt waits."""
    failures: int = 0
    """How many attempts in a row were refused."""
    outages: int = 0
    """How many attempts in a row did not reach the API server."""
    trouble: str = ""
    """Why there is no right mirror, as a sentence."""
    creations: deque[Seconds] = field(default_factory=lambda: deque(maxlen=CREATION_LIMIT))
    """When the mirror was created first, and when again though its manifest was not edited."""
    version_made: tuple[str, str | None] | None = None
    """The version that was created last; None once it was deleted to show another one."""
    edit_shown: Seconds | None = None
    """When an edited manifest was shown last."""
    said_until: Timestamp | None = None
    """The end of the wait that the log was told of last."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is worth remembering."""
        return (
            self.static is None
            and not self.mirrors
            and not self.is_asking
            and self.departing is None
        )

    @property
    def wants_mirror(self) -> bool:
        """Whether there is a static pod whose mirror can be created."""
        return self.static is not None and can_be_shown(self.static)

    @property
    def lagging(self) -> PodUid | None:
        """UID of the mirror about which the watch is behind an answer; None if it has caught up."""
        return self.unseen if self.unseen is not None else self.departing

    def origin_of_mirror(self) -> str | None:
        """Return the source that the mirror names at the API server; None if no look asked yet."""
        return (
            self.origin[1] if self.origin is not None and self.origin[0] in self.mirrors else None
        )

    def believe(self, pod: Pod) -> None:
        """Note that an answer showed ``pod``, so no other pod has this name."""
        self.collisions = 0
        if self.departing is not None:
            self.caught_up()  # of one name there is one pod
        if pod.uid == self.unseen:
            self.confirmations += 1
        elif pod.uid not in self.mirrors and pod.uid not in self.shown:
            self.unseen = pod.uid
        for uid in tuple(self.mirrors):
            if uid != pod.uid:
                self.drop(uid)
        known = self.mirrors.get(pod.uid)
        if known is None or not known.is_deleting:  # that is for good: the answer is older
            self.mirrors[pod.uid] = pod

    def drop(self, uid: PodUid) -> None:
        """Note that the pod of this UID is gone for good."""
        self.mirrors.pop(uid, None)
        if uid not in self.gone:
            self.gone.append(uid)
        if uid == self.lagging:
            self.caught_up()

    def depart(self, uid: PodUid) -> None:
        """Note that an answer called the pod of this UID gone. The watch still has to show that.

        An API server that has just started answers so about pods that it has not read yet.
        """
        was_there = uid in self.mirrors
        self.drop(uid)
        if was_there:
            self.departing = uid

    def clear(self) -> None:
        """Note that no mirror of this node has the name."""
        for uid in tuple(self.mirrors):
            self.drop(uid)
        if self.departing is not None:
            self.caught_up()

    def disbelieve(self) -> None:
        """Note that only the watch can show this name: stop believing answers."""
        if self.unseen is not None:
            self.mirrors.pop(self.unseen, None)
        if self.lagging is not None:
            self.caught_up()
        for uid in self.mirrors:
            self.origin = (uid, "")

    def show(self, pod: Pod) -> None:
        """Note that the watch shows ``pod``. It is not believed if an answer called its UID gone."""
        self.shown.add(pod.uid)
        if pod.uid in self.gone:
            return
        self.collisions = 0
        self.mirrors[pod.uid] = pod
        if pod.uid == self.unseen:
            self.caught_up()

    def caught_up(self) -> None:
        """Stop waiting for the watch: it has caught up, or never will."""
        if self.lag_timer is not None:
            self.lag_timer.cancel()
        self.unseen = self.departing = self.lag_timer = None
        self.confirmations = 0

    def stop_waiting(self) -> None:
        """End the wait, so that the next attempt is made at once."""
        if self.retry_timer is not None:
            self.retry_timer.cancel()
            self.retry_timer = None


class MirrorIndex:
    """The records of all names, kept up to date by the facts of PodManager."""

    def __init__(self, node_name: str) -> None:
        self._node_name = node_name
        self._records: dict[FullName, MirrorRecord] = {}
        self._places: dict[PodUid, tuple[SourceName, FullName]] = {}
        """Source and name of each static pod and mirror by UID: all three can change."""

    def records(self) -> Iterable[MirrorRecord]:
        """Return the records of all names."""
        return self._records.values()

    def get(self, full_name: FullName) -> MirrorRecord | None:
        """Return the record of a name; None if there is none."""
        return self._records.get(full_name)

    def forget_if_empty(self, record: MirrorRecord) -> None:
        """Remove the record of a name that has neither pod nor mirror."""
        if record.is_empty:
            record.stop_waiting()
            record.caught_up()
            self._records.pop(record.full_name, None)

    def replace(self, source: SourceName, pods: Sequence[Pod]) -> Touched:
        """Take ``pods`` as all pods of ``source``. Return the names that this touches."""
        listed = {pod.uid for pod in pods}
        touched: Touched = {}
        for uid, (keeper, _) in tuple(self._places.items()):
            if keeper == source and uid not in listed:
                self._remove(uid, touched)
        for pod in pods:
            self._put(pod, touched)
        return touched

    def apply(self, changes: Iterable[PodChange]) -> Touched:
        """Apply ``changes``. Return the names that this touches."""
        touched: Touched = {}
        for change in changes:
            if change.op is Op.REMOVE:
                self._free(change.pod, touched)
                self._remove(change.pod.uid, touched)
            else:
                self._put(change.pod, touched)
        return touched

    def _free(self, pod: Pod, touched: Touched) -> None:
        """Note that an ordinary pod went: a mirror that waits for its name need not wait any longer."""
        if pod.uid not in self._places and pod.full_name in self._records:
            touched[pod.full_name] = True

    def _put(self, pod: Pod, touched: Touched) -> None:
        is_mirror = not pod.is_static and is_mirror_of_node(pod, self._node_name)
        known = self._places.get(pod.uid)
        if known is not None and (known[1] != pod.full_name or not (is_mirror or pod.is_static)):
            # It still exists, under another name or as an ordinary pod (fixes K13).
            self._leave(pod.uid, touched)
        if not is_mirror and not pod.is_static:
            return
        self._places[pod.uid] = (SourceName(pod.source), pod.full_name)
        record = self._records.setdefault(pod.full_name, MirrorRecord(pod.full_name))
        if is_mirror:
            record.show(pod)
            touched.setdefault(pod.full_name, False)
        else:
            touched[pod.full_name] = touched.get(pod.full_name, False) or record.static != pod
            record.static = pod

    def _remove(self, uid: PodUid, touched: Touched) -> None:
        record = self._leave(uid, touched)
        if record is not None:
            record.drop(uid)

    def _leave(self, uid: PodUid, touched: Touched) -> MirrorRecord | None:
        """Remove a pod from its record, and return the record."""
        _, full_name = self._places.pop(uid, ("", FullName("")))
        record = self._records.get(full_name)
        if record is None:
            return None
        record.mirrors.pop(uid, None)
        record.shown.discard(uid)
        is_static = record.static is not None and record.static.uid == uid
        if is_static:
            record.static = None
        touched[full_name] = touched.get(full_name, False) or is_static
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A step has to wait, and why. The sentence ends before the moment at which the wait ends."""

    delay: Seconds
    sentence: str


def pace(record: MirrorRecord, step: CreateMirror | DeleteMirror, now: Seconds) -> Pause | None:
    """Return how long ``step`` has to wait. Return None if it is to be made now, and note that it is.

    Somebody who edits a manifest has the last version shown soon, and the old mirror stays in its place while
    edits go on. Somebody who deletes a mirror again and again, or writes over it, has it made again a few
    times, and then after pauses.
    """
    if isinstance(step, CreateMirror):
        return _pace_creation(record, step.static, now)
    static = record.static
    if static is None or not is_replacement(record.mirrors.values(), static):
        return None
    if record.version_made == version_of(static):
        return None  # nobody edited the manifest: its next creation is limited
    pause = _pace_edit(record, now)
    if pause is None:
        record.version_made = (
            None  # the deletion is a part of showing the edit, and so is the creation
        )
    return pause


def _pace_creation(record: MirrorRecord, static: Pod, now: Seconds) -> Pause | None:
    version = version_of(static)
    pause = None
    if record.version_made is None:
        if not record.creations:
            record.creations.append(now)
    elif record.version_made != version:
        pause = _pace_edit(record, now)
    else:
        delay = creation_delay(record.creations, now)
        if delay:
            return Pause(delay=delay, sentence=DELETED)
        record.creations.append(now)
    if pause is None:
        record.version_made = version
    return pause


def _pace_edit(record: MirrorRecord, now: Seconds) -> Pause | None:
    delay = edit_delay(record.edit_shown, now)
    if delay:
        return Pause(delay=delay, sentence=EDITED)
    record.edit_shown = now
    return None
