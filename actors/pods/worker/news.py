"""What the worker of a pod tells others: its status, where it is in its life, events and lines of the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from actors.pods.admission import DEFERRED, INFEASIBLE
from actors.pods.orders import LifeIs
from actors.pods.records import conditions_kept
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.volumes import FAILED_MOUNT, FAILED_UNMOUNT, UNSUPPORTED_VOLUME
from manifests.container_hashes import container_digests, has_digest
from messages.events import EventType, ObjectReference, PostEvent
from messages.pod_lives import PodLife
from messages.pod_runtime import (
    NO_MARK,
    ContainerState,
    PodObserved,
    PodTrouble,
    ProbeVerdict,
    SandboxObserved,
    SandboxState,
)
from messages.pods import CONTENT_DIGEST, TERMINAL_PHASES, JsonObject, Pod, PodPhase, PodUid
from messages.statuses import PodFailure, PodStatus, PodStatusIs
from messages.units import Timestamp
from stores.statuses.completion import completed
from stores.statuses.reading import status_of
from stores.statuses.shown import restart_policy
from stores.statuses.status import StatusSituation, shows_same, status_after

_OWN: Final = frozenset({FAILED_MOUNT, FAILED_UNMOUNT, UNSUPPORTED_VOLUME, DEFERRED, INFEASIBLE})
"""Reasons of troubles that the runtime does not tell, so that they are not kept when they are over."""

EDIT_UNKNOWN: Final = "EditUnknown"
_MAY_BE_OLD: Final = (
    "The manifest was edited since the pod began, and container {} does not tell whether it was made before "
    "that, as an earlier version of the agent made it: it runs on, and its next start is as the manifest says"
)


class WorkerNews:
    """Tells what becomes of one pod, for one life of its worker."""

    def __init__(self, ports: WorkerPorts, memory: WorkerMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._volumes: tuple[PodTrouble, ...] = ()

    def begin(self, now: Timestamp) -> None:
        """Go on from what was shown of the pod before: by an earlier life of the agent, or nothing.

        An earlier life of the worker may have crashed before it told the last status.
        """
        memory = self._memory
        if memory.status is not None:
            if memory.status.conditions and not memory.wish.is_removed:
                self.tell_status()
            return
        kept = memory.kept.start_time if memory.kept is not None else None
        began = kept or Timestamp(int(now))
        shown = self._shown_before()
        if shown is None:
            memory.status = PodStatus(
                phase=PodPhase.PENDING, conditions=(), observed=None, start_time=began
            )
        else:
            memory.status = replace(shown, start_time=shown.start_time or began)
        if memory.life.ended_as is not None:
            self.tell_status()  # the process that saw the end may have told nobody
        elif memory.kept is not None:
            memory.shown_before = conditions_kept(memory.kept)

    def _shown_before(self) -> PodStatus | None:
        """Return what was shown of the pod before, as its document and its record say."""
        kept, pod = self._memory.kept, self._memory.wish.pod
        shown = status_of(pod.document)
        if kept is None or pod.is_terminal:
            return shown
        if kept.ended is not None:
            return status_of({"metadata": {"uid": pod.uid}, "status": kept.ended})
        return _with_running(pod.uid, kept.running, shown) if kept.running else shown

    def say_unknown_edits(self, observed: PodObserved) -> None:
        """Say once which containers may be older than an edit of the manifest that nobody here has seen."""
        memory = self._memory
        if not memory.is_new_here:
            return
        memory.is_new_here = False
        for name in edited_before(memory.wish.pod, observed):
            message = _MAY_BE_OLD.format(name)
            self._ports.log.warning(message, pod=memory.wish.pod.display_name, container=name)
            self.post(PodFailure(reason=EDIT_UNKNOWN, message=message), EventType.WARNING)

    def note_mirror(self) -> None:
        """Count restarts on from those that the mirror shows of an earlier process.

        A container that is always restarted has lost nothing but its count. What ended for good there runs
        again here, so its end is not shown.
        """
        memory = self._memory
        mirror, before = memory.wish.mirror, memory.status
        if mirror is None or before is None or memory.has_seen_mirror:
            return
        memory.has_seen_mirror = True
        shown, pod = status_of(mirror.document), memory.wish.pod
        if shown is None or shown.phase in TERMINAL_PHASES or restart_policy(pod) != "Always":
            return
        observed = completed(pod, before.observed, shown.observed)
        memory.status = replace(before, observed=observed)
        if before.observed is not None and not shows_same(before, memory.status):
            self.tell_status()

    def note_status(self, observed: PodObserved | None, now: Timestamp) -> None:
        """Tell the status that follows, if people see another one. Of a removed pod nobody sees any."""
        memory = self._memory
        if memory.wish.is_removed:
            return
        observed = self._with_troubles(observed)
        memory.status = self._with_what_was_kept(observed)
        status = status_after(
            StatusSituation(
                pod=memory.wish.pod,
                observed=observed,
                verdicts=self._verdicts(observed),
                previous=memory.status,
                failure=memory.life.failure,
                is_ended=memory.life.is_stopped,
                host_ips=self._ports.host_ips(),
                now=now,
            )
        )
        before, memory.status = memory.status, status
        if before is None or not shows_same(before, status):
            self.tell_status()

    def _with_what_was_kept(self, observed: PodObserved | None) -> PodStatus | None:
        """Return the last status with what an earlier process kept of a static pod.

        Its conditions are gone on from once the runtime has told how the pod is.
        """
        memory, before = self._memory, self._memory.status
        if before is None or memory.kept is None:
            return before
        if memory.shown_before and observed is not None and observed.mark != NO_MARK:
            before = replace(before, conditions=memory.shown_before)
            memory.shown_before = ()
        return _with_addresses(before, memory.kept.ips, memory.wish.pod.uid)

    def note_volumes(self, troubles: tuple[PodTrouble, ...], now: Timestamp) -> None:
        """Note the troubles of volumes, and tell the status if people see another one.

        Those of taking them away are events as well. Who makes volumes says the others.
        """
        if troubles == self._volumes:
            return
        for each in troubles:
            if each.reason == FAILED_UNMOUNT and each not in self._volumes:
                self.post(PodFailure(reason=each.reason, message=each.message), EventType.WARNING)
        self._volumes = troubles
        self.note_verdicts(now)

    def note_verdicts(self, now: Timestamp) -> None:
        """Tell the status that follows of what was observed last, if people see another one."""
        self.note_status(self._memory.observed, now)

    def _with_troubles(self, observed: PodObserved | None) -> PodObserved | None:
        """Return what is observed, with the troubles that the runtime knows nothing of."""
        resize, volumes = self._memory.wish.resize, self._volumes
        own = (*((resize,) if resize is not None else ()), *volumes)
        if observed is None:
            uid = self._memory.wish.pod.uid
            return PodObserved(uid=uid, mark=NO_MARK, troubles=volumes) if volumes else None
        kept = tuple(each for each in observed.troubles if each.reason not in _OWN)
        troubles = (*kept, *own)
        return observed if troubles == observed.troubles else replace(observed, troubles=troubles)

    def tell_status(self) -> None:
        """Tell the status, whether or not it was told before."""
        memory = self._memory
        if memory.status is not None and not memory.wish.has_no_document:
            is_finished = memory.life.stage is PodLife.FINISHED
            pod = memory.wish.pod
            told = PodStatusIs(pod=pod, status=memory.status, is_finished=is_finished)
            self._ports.statuses.tell(told)

    def tell_life(self) -> None:
        """Tell the keeper where the pod is in its life."""
        memory = self._memory
        uid, wish = memory.wish.pod.uid, memory.wish.number
        self._ports.keeper.tell(LifeIs(uid=uid, wish=wish, life=memory.life.stage))

    def reason(self) -> str:
        """Return in a word why it is stopped."""
        life, wish = self._memory.life, self._memory.wish
        if life.failure is not None:
            return life.failure.reason
        if wish.is_removed:
            return "removed"
        return "deleted" if life.is_leaving else "ended"

    def say(self, step: str, **fields: object) -> None:
        """Log a step of the pod's life."""
        log = self._ports.log
        emit = log.info if self._ports.logs_steps else log.debug
        emit(step, pod=self._memory.wish.pod.display_name, **fields)

    def post(self, what: PodFailure, kind: EventType = EventType.NORMAL) -> None:
        """Post an event about the pod, if there is anybody to post it."""
        if self._ports.events is not None:
            self._ports.events.tell(pod_event(self._memory.wish.pod, kind, what))

    def _verdicts(self, observed: PodObserved | None) -> Mapping[str, ProbeVerdict] | None:
        memory = self._memory
        if memory.probes is None:
            return None
        return memory.probes.verdicts(memory.wish.pod, observed or memory.observed)


def pod_event(pod: Pod, kind: EventType, failure: PodFailure) -> PostEvent:
    """Return the event that ``failure`` happened to ``pod``."""
    about, reason = ObjectReference.of_pod(pod), failure.reason
    return PostEvent(regarding=about, type=kind, reason=reason, message=failure.message)


def edited_before(pod: Pod, observed: PodObserved) -> list[str]:
    """Return which containers run of which nobody knows whether an edit of the manifest is about them."""
    known, sandbox = container_digests(pod), observed.sandbox
    begun_with = sandbox.content_digest if sandbox is not None else ""
    if begun_with in {"", pod.annotations.get(CONTENT_DIGEST)}:
        return []
    current = {name: history.current for name, history in observed.containers.items()}
    return [
        name
        for name, one in current.items()
        if one is not None and name in known and one.state is ContainerState.RUNNING
        if not has_digest(one.spec_hash)
    ]


def _with_running(
    uid: PodUid, running: Sequence[JsonObject], shown: PodStatus | None
) -> PodStatus | None:
    """Return what is ``shown``, with the containers that ran before if it shows none."""
    if shown is not None and shown.observed is not None:
        return shown
    status = {"phase": PodPhase.RUNNING.value, "containerStatuses": list(running)}
    known = status_of({"metadata": {"uid": uid}, "status": status})
    if shown is None or known is None:
        return known
    return replace(shown, phase=known.phase, observed=known.observed)


def _with_addresses(status: PodStatus, ips: tuple[str, ...], uid: PodUid) -> PodStatus:
    """Return the status with the addresses that were kept, if it shows no sandbox."""
    observed = status.observed or PodObserved(uid=uid, mark=NO_MARK)
    if not ips or observed.sandbox is not None:
        return status
    sandbox = SandboxObserved(
        id="", attempt=0, state=SandboxState.NOT_READY, created_at=Timestamp(0.0), ips=ips
    )
    return replace(status, observed=replace(observed, sandbox=sandbox))
