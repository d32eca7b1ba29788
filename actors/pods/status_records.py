"""What StatusKeeper remembers of each pod: its status, and what became of writing it. Knows no actors."""

from __future__ import annotations

from dataclasses import dataclass

from actors.pods.status_writes import Accepted, WriteSituation
from kernel import Timer
from messages.pods import Pod, PodUid
from messages.statuses import PodStatus
from messages.units import Seconds

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


def version(pod: Pod) -> int:
    """Return the resourceVersion as a number; 0 for one that is none."""
    text = str((pod.document.get("metadata") or {}).get("resourceVersion") or "")
    return int(text) if text.isdecimal() else 0
