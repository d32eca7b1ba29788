"""How long things take with pods, since the process began. Knows no actors.

That is until a pod runs, until the API server shows that it runs, and until what is wished of it is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from manifests.restart_rules import is_sidecar
from manifests.times import moment_of
from messages.pod_lives import PodLife
from messages.pods import CONFIG_SEEN, TERMINAL_PHASES, JsonObject, Pod, PodPhase, PodUid
from messages.statuses import SLI_BOUNDS, START_BOUNDS, PodStatus, StartLatencies
from messages.units import DURATION_BOUNDS, Seconds, TimesCounted, Timestamp
from stores.histograms import TimesCounter
from stores.statuses.shown import histories, init_containers


class StartTimesMemory:
    """How long pods take from when the node first sees them until they run."""

    def __init__(self) -> None:
        self._times = TimesCounter(START_BOUNDS)

    def note(self, pod: Pod, before: PodStatus | None, status: PodStatus, now: Timestamp) -> None:
        """Count ``pod`` if ``status`` is the first by which it runs, and it did not run before that."""
        seen = moment_of(pod.annotations.get(CONFIG_SEEN))
        if seen is not None and is_first_run(before, status) and not _ran_before(status, seen):
            self._times.note(now - seen)

    def described(self) -> TimesCounted:
        """Return what was counted."""
        return self._times.described()


def is_first_run(before: PodStatus | None, status: PodStatus) -> bool:
    """Return whether a pod has begun to run by now, or has ended as one that ran.

    ``before`` is its last status: None if this one is the first, as of a pod that starts at once.
    """
    return (
        (before is None or before.phase is PodPhase.PENDING)
        and status.phase in {PodPhase.RUNNING, *TERMINAL_PHASES}
        and status.observed is not None
    )


def _ran_before(status: PodStatus, seen: Timestamp) -> bool:
    """Return whether a container started before the pod was ``seen``: an earlier life of the agent ran it."""
    histories = status.observed.containers.values() if status.observed is not None else ()
    instances = (each for history in histories for each in (history.current, history.last))
    starts = (each.started_at for each in instances if each is not None)
    return any(started is not None and started < seen for started in starts)


class StartupLatencies:
    """How long API pods take from their creation until the API server shows that all their containers run.

    That is the indicator by which people judge clusters. A kubelet counts it too, of pods that it saw before
    they had begun. Static pods were not created at an API server.
    """

    def __init__(self) -> None:
        self._awaited: dict[PodUid, None] = {}
        self._has_network = False
        """A pod with a network of its own has started. The first one shows how slow networks begin."""
        self._of_first = (TimesCounter(SLI_BOUNDS), TimesCounter(SLI_BOUNDS))
        self._of_others = (TimesCounter(SLI_BOUNDS), TimesCounter(SLI_BOUNDS))

    def note_shown(self, pod: Pod, status: PodStatus | None, now: Timestamp) -> None:
        """Take a pod as the API server shows it; ``status`` is what this node knows of it."""
        shown: JsonObject = pod.document.get("status") or {}
        if pod.is_terminal or pod.is_deleting:
            self.forget(pod.uid)
        elif not shown.get("startTime"):
            self._awaited[pod.uid] = None
        elif pod.uid in self._awaited and status is not None and _has_started(shown):
            self.forget(pod.uid)
            created = moment_of((pod.document.get("metadata") or {}).get("creationTimestamp"))
            if created is not None:
                self._count(pod, now - created, _spent_on_preparations(pod, status))

    def forget(self, uid: PodUid) -> None:
        """Forget a pod: it is gone, or will not be counted."""
        self._awaited.pop(uid, None)

    def described(self) -> StartLatencies:
        """Return what was counted."""
        first, others = self._of_first, self._of_others
        return StartLatencies(
            sli={"true": first[0].described(), "": others[0].described()},
            total={"true": first[1].described(), "": others[1].described()},
        )

    def _count(self, pod: Pod, took: float, prepared: Seconds) -> None:
        is_first = not self._has_network and not pod.document["spec"].get("hostNetwork")
        self._has_network |= is_first
        sli, total = self._of_first if is_first else self._of_others
        sli.note(took - prepared)
        total.note(took)


def _has_started(shown: JsonObject) -> bool:
    """Return whether each container of a shown status runs."""
    states: list[Mapping[str, Any]] = shown.get("containerStatuses") or []
    return bool(states) and all((each.get("state") or {}).get("running") for each in states)


def _spent_on_preparations(pod: Pod, status: PodStatus) -> Seconds:
    """Return how long images were pulled and init containers ran, which is nobody's slowness."""
    if status.observed is None:
        return Seconds(0.0)
    spent, seen = status.observed.pulling, histories(status.observed)
    for each in init_containers(pod):
        history = seen.get(each["name"])
        one = None if history is None else history.current
        if one is not None and not is_sidecar(each) and one.started_at and one.finished_at:
            spent = Seconds(spent + one.finished_at - one.started_at)
    return spent


class Operation(StrEnum):
    """What is wished, in a kubelet's words. There is no ``sync``: no loop goes over all pods."""

    CREATE = "create"
    """It is to run, and had no worker: done when its worker is up."""
    UPDATE = "update"
    """Another version of it: done when its worker has taken it."""
    KILL = "kill"
    """It is to end: done when nothing of it runs."""


class _Begun(NamedTuple):
    operation: Operation
    wish: int
    at: Seconds


class WorkTimes:
    """How long it takes until what is wished of a pod is carried out, by kind of operation."""

    def __init__(self) -> None:
        self._begun: dict[PodUid, _Begun] = {}
        self._times = {each: TimesCounter(DURATION_BOUNDS) for each in Operation}

    def note_wish(self, uid: PodUid, operation: Operation, wish: int, now: Seconds) -> None:
        """Note that a wish was told. While an operation is under way, only an end begins another one."""
        before = self._begun.get(uid)
        is_end = operation is Operation.KILL
        if before is None or (is_end and before.operation is not Operation.KILL):
            self._begun[uid] = _Begun(operation, wish, now)

    def note_life(self, uid: PodUid, wish: int, life: PodLife, now: Seconds) -> None:
        """Note what a worker told of its pod: the ``wish`` that it took last, and where the pod is."""
        begun = self._begun.get(uid)
        if begun is None or wish < begun.wish:
            return
        if begun.operation is Operation.KILL and not life.is_stopped:
            return
        del self._begun[uid]
        self._times[begun.operation].note(now - begun.at)

    def forget(self, uid: PodUid) -> None:
        """Forget a pod that is no more."""
        self._begun.pop(uid, None)

    def described(self) -> dict[str, TimesCounted]:
        """Return the times by kind of operation."""
        return {each.value: times.described() for each, times in self._times.items()}
