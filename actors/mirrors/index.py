"""What MirrorKeeper knows, name by name: static pods, mirrors, and how far answers are ahead.

Two voices tell of mirrors. The watch, by way of PodManager, is complete and late; answers to the
keeper's own calls are true at their time and ahead of it. So an answer counts until the watch has
caught up: what it showed is believed without the watch for a while, and a UID that it called gone is
not believed to the watch, since a UID never returns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from actors.mirrors.plan import CREATION_LIMIT
from actors.mirrors.pod import can_be_shown, is_mirror_of_node
from kernel import Timer
from messages.changes import Op, PodChange
from messages.pods import FullName, Pod, PodUid, SourceName
from messages.units import Seconds

_GONE_LEN = 8
"""UIDs of one name remembered as gone: far more than a watch is ever behind with."""

Touched: TypeAlias = dict[FullName, bool]
"""Names of which something changed, and whether it is their static pod."""


@dataclass(slots=True)
class MirrorRecord:
    """One name: what is known, what is under way, and what went wrong."""

    full_name: FullName
    static: Pod | None = None
    mirrors: dict[PodUid, Pod] = field(default_factory=dict)
    """Those of this node that are believed to exist; two only until somebody looks."""
    shown: set[PodUid] = field(default_factory=set)
    """Those that the watch shows at present, believed or not."""
    gone: deque[PodUid] = field(default_factory=lambda: deque(maxlen=_GONE_LEN))
    unseen: PodUid | None = None
    """A mirror that an answer showed and the watch did not."""
    departing: PodUid | None = None
    """A mirror that an answer called gone, and the watch did not. Never together with an unseen one."""
    lag_timer: Timer | None = None
    """When to look whether that is still so."""
    confirmations: int = 0
    """How often looks confirmed what no watch showed."""
    is_in_doubt: bool = False
    collisions: int = 0
    """How often creation found the name taken since a pod of this name was last seen."""
    origin: tuple[PodUid, str] | None = None
    """A mirror, and of which source it says at the API server that it came."""
    is_asking: bool = False
    """A call about it is in flight; there is never a second one."""
    retry_timer: Timer | None = None
    """Set while nothing is to be tried before a certain time."""
    failures: int = 0
    """How many tries were refused in a row."""
    outages: int = 0
    """How many tries in a row did not get as far as that."""
    trouble: str = ""
    """Why there is no right mirror, as a sentence."""
    creations: deque[Seconds] = field(default_factory=lambda: deque(maxlen=CREATION_LIMIT))

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
        """Return of whom an answer said what the watch has not shown yet."""
        return self.unseen if self.unseen is not None else self.departing

    def origin_of_mirror(self) -> str | None:
        """Return the source that its mirror names at the API server; None if nobody asked."""
        return (
            self.origin[1] if self.origin is not None and self.origin[0] in self.mirrors else None
        )

    def believe(self, pod: Pod) -> None:
        """Note that an answer showed ``pod``, and so nothing else, under this name."""
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
        self.mirrors[pod.uid] = pod

    def drop(self, uid: PodUid) -> None:
        """Note that the pod of this UID is gone for good."""
        self.mirrors.pop(uid, None)
        if uid not in self.gone:
            self.gone.append(uid)
        if uid == self.lagging:
            self.caught_up()

    def depart(self, uid: PodUid) -> None:
        """Note that an answer called the pod of this UID gone. The watch has to show that too.

        An API server that has just started says so of pods that it has not read yet.
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
        """Note that nobody can say more about this name than the watch does."""
        if self.unseen is not None:
            self.mirrors.pop(self.unseen, None)
        if self.lagging is not None:
            self.caught_up()
        for uid in self.mirrors:
            self.origin = (uid, "")

    def show(self, pod: Pod) -> None:
        """Note that the watch shows ``pod``. Mostly it is late if that is gone: only looks can tell."""
        self.shown.add(pod.uid)
        if pod.uid in self.gone:
            return
        self.collisions = 0
        self.mirrors[pod.uid] = pod
        if pod.uid == self.unseen:
            self.caught_up()

    def caught_up(self) -> None:
        """Stop waiting for the watch: it has caught up, or will never show it."""
        if self.lag_timer is not None:
            self.lag_timer.cancel()
        self.unseen = self.departing = self.lag_timer = None
        self.confirmations = 0

    def stop_waiting(self) -> None:
        """Let the next try be made at once."""
        if self.retry_timer is not None:
            self.retry_timer.cancel()
            self.retry_timer = None


class MirrorIndex:
    """The records of all names, kept by the facts of PodManager."""

    def __init__(self, node_name: str) -> None:
        self._node_name = node_name
        self._records: dict[FullName, MirrorRecord] = {}
        self._places: dict[PodUid, tuple[SourceName, FullName]] = {}
        """Where the pods that matter stand: a UID may change its name, its source and its class."""

    def records(self) -> Iterable[MirrorRecord]:
        """Return what is known of every name of which something is known."""
        return self._records.values()

    def get(self, full_name: FullName) -> MirrorRecord | None:
        """Return what is known of a name, None if nothing is."""
        return self._records.get(full_name)

    def forget_if_empty(self, record: MirrorRecord) -> None:
        """Let go of a name that has neither pod nor mirror."""
        if record.is_empty:
            record.stop_waiting()
            record.caught_up()
            self._records.pop(record.full_name, None)

    def replace(self, source: SourceName, pods: Sequence[Pod]) -> Touched:
        """Take ``pods`` as all that ``source`` has, and return the names that this touches."""
        listed = {pod.uid for pod in pods}
        touched: Touched = {}
        for uid, (keeper, _) in tuple(self._places.items()):
            if keeper == source and uid not in listed:
                self._remove(uid, touched)
        for pod in pods:
            self._put(pod, touched)
        return touched

    def apply(self, changes: Iterable[PodChange]) -> Touched:
        """Take ``changes`` in, and return the names that this touches."""
        touched: Touched = {}
        for change in changes:
            if change.op is Op.REMOVE:
                self._remove(change.pod.uid, touched)
            else:
                self._put(change.pod, touched)
        return touched

    def _put(self, pod: Pod, touched: Touched) -> None:
        is_mirror = not pod.is_static and is_mirror_of_node(pod, self._node_name)
        known = self._places.get(pod.uid)
        if known is not None and (known[1] != pod.full_name or not (is_mirror or pod.is_static)):
            # It is alive, under another name or as an ordinary pod (fixes K13).
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
        """Take a pod from where it stands, and return that record."""
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
