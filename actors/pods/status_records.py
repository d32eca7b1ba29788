"""What StatusKeeper remembers of pods: their status, what became of writing it, what the API server shows.

Knows no actors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from actors.pods.status_writes import Accepted, WriteSituation
from actors.pods.times import StartTimesMemory, StartupLatencies
from kernel import Port, Timer
from messages.changes import Op, PodChange
from messages.pods import FullName, Pod, PodUid
from messages.statuses import SYNC_BOUNDS, PodStatus, PodStatusChanged
from messages.units import Seconds
from stores.histograms import TimesCounter
from stores.pods.index import is_mirror_pod_of

ECHO_WITHIN = Seconds(10.0)
"""How long the answer to a write counts more than what the watch shows. The watch is late by less."""
ENDS_WITHIN = Seconds(1.0)
"""How long the end of a deleted pod is waited for once some of its containers have ended. Two writes for each
pod would let hundreds that are deleted together wait for the rate of calls."""


@dataclass(slots=True)
class StatusRecord:
    """One pod. Only the first fields mean something to a later life of the keeper: see ``begin_life``."""

    pod: Pod
    status: PodStatus
    is_finished: bool = False
    accepted: Accepted | None = None
    deleted: PodUid | None = None
    """UID of its object, once that was deleted."""
    answer: Pod | None = None
    """Its object as the last answer had it, until the watch shows the same or something newer."""
    answered_at: Seconds = Seconds(0.0)
    is_asking: bool = False
    """A call about it is in flight. There is never a second one."""
    is_waiting: bool = False
    """The API server does not have its status yet, as far as is known."""
    failures: int = 0
    """How many attempts in a row were refused."""
    outages: int = 0
    """How many attempts in a row did not reach the API server."""
    asked: AbstractSet[str] = frozenset()
    """What the patches asked for that the API server took of this status."""
    rewrites: int = 0
    """How often this status was written again, since somebody had written over it."""
    may_rewrite_at: Seconds = Seconds(0.0)
    changed_at: Seconds | None = None
    """Since when the API server lacks something of its status, as far as is known."""
    held_until: Seconds | None = None
    """When statuses before its end are written, should its end not be there. None if none was held back."""
    retry_timer: Timer | None = None
    """Set while the next attempt waits."""
    trouble: str = ""
    """Why the API server refuses its status, as a sentence."""
    is_trouble_said: bool = False
    """The log has the trouble at level warning, so it will have its end at level info."""

    def begin_life(self) -> None:
        """Forget what belonged to an earlier life of the keeper."""
        self.answer = self.retry_timer = None  # its timers ended with it
        self.is_asking = False
        self.begin_anew()

    def begin_anew(self) -> None:
        """Note that there is something new to write: earlier failures say nothing about it."""
        self.failures = self.outages = self.rewrites = 0
        self.asked = frozenset()
        self.may_rewrite_at = Seconds(0.0)
        self.stop_waiting()

    def held_for(self, now: Seconds) -> Seconds:
        """Return for how long a status is held back yet that is followed by that of the pod's end."""
        if self.held_until is None:
            self.held_until = Seconds(now + ENDS_WITHIN)
        return Seconds(max(0.0, self.held_until - now))

    @property
    def is_accepted(self) -> bool:
        """Whether the API server took just this status."""
        return self.accepted is not None and self.accepted.status is self.status

    def stop_waiting(self) -> None:
        """End the wait, so that the next attempt is made at once."""
        if self.retry_timer is not None:
            self.retry_timer.cancel()
            self.retry_timer = None

    def take(self, status: PodStatus, pod: Pod, *, is_finished: bool) -> None:
        """Take what was told, to be written."""
        self.accepted = None
        self.pod, self.status, self.is_finished = pod, status, is_finished

    def refresh(self, status: PodStatus) -> None:
        """Take a status that shows the same. The one before it, and what it was made of, can go."""
        if self.accepted is not None:
            self.accepted = Accepted(status=status, digest=self.accepted.digest)
        self.status = status

    def note_answer(self, shown: Pod, now: Seconds) -> None:
        """Note its object as an answer has it."""
        self.answer, self.answered_at = shown, now

    def object(self, watched: Pod | None, now: Seconds) -> Pod | None:
        """Return the newest of its object that is known; ``watched`` is what the watch shows."""
        answer = self.answer
        if answer is None:
            return watched
        if (
            watched is None
            or watched.uid != answer.uid
            or version(watched) >= version(answer)
            or now >= self.answered_at + ECHO_WITHIN
        ):
            self.answer = None
            return watched
        return answer

    def situation(self, shown: Pod | None) -> WriteSituation:
        """Return what the next write depends on."""
        return WriteSituation(
            pod=self.pod,
            status=self.status,
            is_finished=self.is_finished,
            object=shown,
            accepted=self.accepted,
            is_refused=self.failures > 1,
            is_deletion_asked=shown is not None and shown.uid == self.deleted,
        )


@dataclass(slots=True)
class StatusMemory:
    """What outlives a life of StatusKeeper."""

    records: dict[PodUid, StatusRecord] = field(default_factory=dict)
    followers: dict[Port[PodStatusChanged], None] = field(default_factory=dict)
    written: int = 0
    deleted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    starts: StartTimesMemory = field(default_factory=StartTimesMemory)
    latencies: StartupLatencies = field(default_factory=StartupLatencies)
    syncs: TimesCounter = field(default_factory=lambda: TimesCounter(SYNC_BOUNDS))


class ShownPods:
    """The pods of the API server, by what they show: API pods themselves, and mirrors.

    They come from the watch, through PodManager.
    """

    def __init__(self) -> None:
        self._pods: dict[PodUid, Pod] = {}
        """Each once, mirrors included."""
        self._mirrors: dict[FullName, dict[PodUid, Pod]] = {}

    def replace(self, pods: Sequence[Pod]) -> list[Pod]:
        """Take ``pods`` as all pods of the API server. Return those that came, changed or went."""
        listed = {pod.uid for pod in pods}
        touched = [pod for uid, pod in self._pods.items() if uid not in listed]
        for pod in touched:
            self._drop(pod.uid)
        for pod in pods:
            if self._pods.get(pod.uid) is not pod:
                self._put(pod)
                touched.append(pod)
        return touched

    def apply(self, changes: Iterable[PodChange]) -> list[Pod]:
        """Apply what changed. Return the API server's pods among them."""
        touched = []
        for change in changes:
            pod = change.pod
            if change.op is Op.REMOVE or pod.is_static:
                # A manifest may tell the UID of a pod that the API server told before.
                if self._drop(pod.uid):
                    touched.append(pod)
            else:
                self._put(pod)
                touched.append(pod)
        return touched

    def object_of(self, pod: Pod) -> Pod | None:
        """Return what shows ``pod``: itself, or the mirror of just this version of it (rule V6)."""
        if not pod.is_static:
            return self._pods.get(pod.uid)
        mirrors = self._mirrors.get(pod.full_name, {}).values()
        return next((each for each in mirrors if is_mirror_pod_of(each, pod)), None)

    def _put(self, pod: Pod) -> None:
        self._drop(pod.uid)
        self._pods[pod.uid] = pod
        if pod.is_mirror:
            self._mirrors.setdefault(pod.full_name, {})[pod.uid] = pod

    def _drop(self, uid: PodUid) -> bool:
        known = self._pods.pop(uid, None)
        if known is None:
            return False
        if known.is_mirror:
            of_name = self._mirrors[known.full_name]
            del of_name[uid]
            if not of_name:
                del self._mirrors[known.full_name]
        return True


def version(pod: Pod) -> int:
    """Return the resourceVersion as a number; 0 for one that is none."""
    text = str((pod.document.get("metadata") or {}).get("resourceVersion") or "")
    return int(text) if text.isdecimal() else 0
