"""What the runtime remembers of one pod, and how commands, observations and answers change it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from messages.objects import ObjectId, ObjectValue
from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerState,
    ForgetPod,
    Mark,
    PodObserved,
    PodTrouble,
    RunPod,
    RuntimePod,
    SandboxObserved,
    SandboxState,
    StopPod,
)
from messages.pods import JsonObject, Pod, PodPhase, PodUid
from messages.units import Seconds, Timestamp
from runtimes.virtual.provider import PodReport
from runtimes.virtual.reports import (
    FollowedPod,
    Nonsense,
    ended_unseen,
    followed,
    phase_of_report,
    waiting_containers,
)
from runtimes.virtual.texts import without_values

SHORTEST_GRACE: Final = Seconds(1.0)


UNFOLLOWED: Final = "NotSupported"


class Method(StrEnum):
    """What a provider is called for."""

    RUN = "run"
    STOP = "stop"
    UPDATE = "update"
    FORGET = "forget"
    OBSERVE = "observe"
    NODE = "node"


@dataclass(slots=True)
class VirtualPod:
    """One pod, as its runtime remembers it over crashes. Times are those of the monotonic clock."""

    uid: PodUid
    command: RunPod | StopPod | ForgetPod
    pod: Pod | None = None
    """None while nobody has said whose it is."""
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    effective: Mark = NO_MARK
    """The mark of the last command that had its effect."""

    # Calls.
    calls: dict[int, Method] = field(default_factory=dict)
    """Under way, within their deadlines."""
    hung: dict[int, Method] = field(default_factory=dict)
    """Given up, and still not returned."""
    may_be_there: bool = False
    """``run`` was called. Whatever it answered, it may have begun."""
    was_run: bool = False
    """The last ``run`` returned without an error."""
    spec_run: JsonObject | None = None
    """The specification that was run, or updated to."""
    stop_by: float | None = None
    """When the grace of the command ends."""
    stopping_by: float | None = None
    """When the grace of the last call of ``stop`` ends."""
    was_stopped: bool = False
    """The last ``stop`` returned without an error."""
    was_forgotten: bool = False
    failures: int = 0
    retry_at: float | None = None
    trouble: PodTrouble | None = None
    """What went wrong in the last call."""

    # Observations.
    fresh_from: int = 1
    """The number of the first observation that shows the effect of all calls."""
    looked: int = 0
    """The number of the last observation that was taken."""
    is_told: bool = False
    """The last observation told of it."""
    missing_since: float | None = None
    is_new_run: bool = False
    """Its UID was forgotten before: what is told as ended, until ``run`` has returned, is the former pod."""
    state: FollowedPod | None = None
    restarts_before: int = 0
    """Restarts that the provider does not know of: it was lost, and run again."""
    unfollowed: tuple[str, ...] = ()
    """What its command wants and the provider cannot do."""
    said: frozenset[str] = frozenset()
    """What was wrong in its last report, and was said."""
    last_told: PodObserved | None = None

    @property
    def lives(self) -> bool:
        """Whether the last observation told of it as one that has not ended."""
        return self.is_told and self.state is not None and not self.state.has_ended

    @property
    def display_name(self) -> str:
        """``<namespace>/<name>``, or the UID if that is all that is known."""
        return self.pod.display_name if self.pod is not None and self.pod.name else self.uid


# Commands.


def is_obsolete(it: VirtualPod, command: RunPod | StopPod | ForgetPod) -> bool:
    """Whether ``command`` says nothing new: a smaller mark, or a run of what is being stopped."""
    if command.mark < it.command.mark:
        return True
    return isinstance(command, RunPod) and not isinstance(it.command, RunPod)


def take_command(it: VirtualPod, command: RunPod | StopPod | ForgetPod, now: float) -> None:
    """Note ``command``, which is not obsolete. Its effect is told, whether or not it was told before."""
    is_news = command.mark != it.command.mark
    it.command, it.last_told = command, None
    if isinstance(command, RunPod):
        it.pod, it.objects = command.pod, command.objects
        if is_news:
            it.retry_at, it.failures = None, 0
        return
    grace = command.grace if isinstance(command, StopPod) else SHORTEST_GRACE
    stop_by = now + max(grace, SHORTEST_GRACE)
    # It may be shortened, never extended (rule X8).
    it.stop_by = stop_by if it.stop_by is None else min(it.stop_by, stop_by)
    if is_news:
        it.retry_at = None


# Observations.


@dataclass(frozen=True, slots=True)
class ReportNews:
    """What an observation brought."""

    complaints: tuple[str, ...] = ()
    """What is wrong with the report, and was not said before."""
    started: tuple[str, ...] = ()
    """Containers that run now, and did not when they were observed before."""
    ended: tuple[str, ...] = ()
    """The same of those that have ended."""

    def without_steps(self) -> ReportNews:
        """Return what is wrong alone."""
        return ReportNews(self.complaints)


def take_report(
    it: VirtualPod, report: PodReport | Nonsense | None, now: Timestamp, moment: float
) -> ReportNews:
    """Note what the newest observation says of it. None: nothing."""
    if isinstance(report, PodReport) and it.is_new_run and _has_ended(report):
        report = None
    it.is_told = report is not None
    if report is None:
        it.missing_since = moment if it.missing_since is None else it.missing_since
        return ReportNews()
    it.missing_since = None
    if isinstance(report, Nonsense):
        return ReportNews(_not_said(it, (report.sentence,)))
    it.is_new_run = False
    if it.pod is None:
        it.pod = pod_of_report(it.uid, report)
    before = it.state
    result = followed(it.pod, _hidden(report, it.objects), before, now, it.restarts_before)
    it.state = result.pod
    return ReportNews(
        _not_said(it, result.complaints),
        _newly(ContainerState.RUNNING, before, it.state),
        _newly(ContainerState.EXITED, before, it.state),
    )


def note_lost(it: VirtualPod, now: Timestamp) -> None:
    """Note that it was there and is not any more, and that nobody knows how it ended."""
    if it.state is None or it.state.has_ended:
        return
    is_restarted = restart_policy_of(it.command) != "Never" and isinstance(it.command, RunPod)
    attempts = (each.current.attempt for each in it.state.containers.values() if each.current)
    it.restarts_before = max(attempts, default=-1) + 1
    phase = it.state.phase if is_restarted else PodPhase.FAILED
    it.state = ended_unseen(it.state, now, phase)


def note_unfollowed(it: VirtualPod, *, has_update: bool) -> tuple[str, ...]:
    """Note which of the wishes of its command cannot be followed. Return those that were not told before."""
    if not isinstance(it.command, RunPod):
        return ()
    found = []
    spec = it.command.pod.document.get("spec")
    if not has_update and it.spec_run is not None and it.spec_run != spec:
        found.append("the class has no update(pod): the pod runs on as it was")
    if any(not verdict.is_alive for verdict in it.command.verdicts.values()):
        found.append("a liveness probe failed, and this runtime cannot restart containers")
    before, it.unfollowed = it.unfollowed, tuple(found)
    return tuple(each for each in found if each not in before)


# Calls.


def note_call(it: VirtualPod, method: Method, ends_by: float, now: Timestamp) -> None:
    """Note that the provider is called."""
    if method is Method.RUN:
        note_lost(it, now)
        it.may_be_there, it.was_run = True, False
    elif method is Method.STOP:
        it.stopping_by, it.was_stopped = ends_by, False


def note_success(it: VirtualPod, method: Method, spec: JsonObject | None) -> None:
    """Note that a call returned. ``spec`` is what the pod was run with."""
    it.failures, it.retry_at, it.trouble = 0, None, None
    if method is Method.STOP:
        it.was_stopped = True
    elif method is Method.FORGET:
        it.was_forgotten = True
    else:
        it.was_run, it.is_new_run, it.spec_run = True, False, spec


def note_failure(it: VirtualPod, retry_at: float) -> None:
    """Note that a call failed, or was given up."""
    it.failures += 1
    it.retry_at = retry_at


def restart_policy_of(command: RunPod | StopPod | ForgetPod) -> str:
    """Return ``Always``, ``OnFailure`` or ``Never``."""
    spec = command.pod.document.get("spec") or {} if isinstance(command, RunPod) else {}
    return str(spec.get("restartPolicy") or "Always")


def pod_of_report(uid: PodUid, report: PodReport) -> Pod:
    """Return what is known of a pod that the provider alone knows."""
    metadata = {"uid": uid, "namespace": report.namespace, "name": report.name}
    pod = Pod.of({"metadata": metadata, "spec": {}})
    return replace(pod, source=report.source)


def runtime_pod(uid: PodUid, report: PodReport, it: VirtualPod | None) -> RuntimePod:
    """Return the entry of a pod in the list of all pods."""
    pod = it.pod if it is not None and it.pod is not None else pod_of_report(uid, report)
    state = it.state if it is not None else None
    running = running_containers(state)
    return RuntimePod(
        uid=uid,
        namespace=pod.namespace,
        name=pod.name,
        source=pod.source,
        is_running=not _has_ended(report),
        started_at=state.since if state is not None else None,
        running_containers=running,
    )


def running_containers(state: FollowedPod | None) -> int:
    """Return how many containers run."""
    if state is None:
        return 0
    return sum(
        each.current is not None and each.current.state is ContainerState.RUNNING
        for each in state.containers.values()
    )


def _has_ended(report: PodReport) -> bool:
    return phase_of_report(report) in {PodPhase.SUCCEEDED, PodPhase.FAILED}


def _not_said(it: VirtualPod, complaints: tuple[str, ...]) -> tuple[str, ...]:
    """Return the complaints that were not in the last report, and remember all of this one."""
    news = tuple(each for each in complaints if each not in it.said)
    it.said = frozenset(complaints)
    return news


def _hidden(report: PodReport, objects: Mapping[ObjectId, ObjectValue]) -> PodReport:
    if not objects:
        return report
    containers = {
        name: replace(each, message=without_values(each.message, objects))
        for name, each in report.containers.items()
    }
    message = without_values(report.message, objects)
    return replace(report, message=message, containers=containers)


def _newly(
    wanted: ContainerState, before: FollowedPod | None, after: FollowedPod
) -> tuple[str, ...]:
    def instance(state: FollowedPod | None, name: str) -> tuple[int, ContainerState] | None:
        history = state.containers.get(name) if state is not None else None
        current = history.current if history is not None else None
        return (current.attempt, current.state) if current is not None else None

    return tuple(
        name
        for name in after.containers
        if (found := instance(after, name)) != instance(before, name)
        and found is not None
        and found[1] is wanted
    )


# What is told.


def observation(it: VirtualPod, more: tuple[PodTrouble, ...]) -> PodObserved:
    """Return all that is known of it. ``more`` are troubles that concern all pods."""
    state = it.state
    own = (it.trouble, state.trouble if state is not None else None)
    cannot = (PodTrouble(reason=UNFOLLOWED, message=each) for each in it.unfollowed)
    return PodObserved(
        uid=it.uid,
        mark=it.effective,
        sandbox=_sandbox(it, state) if state is not None else None,
        containers=state.containers if state is not None else _not_started(it),
        troubles=(*(each for each in own if each is not None), *cannot, *more),
        phase=state.phase if state is not None else PodPhase.PENDING,
    )


def nothing_left(command: ForgetPod) -> PodObserved:
    """Return what is told once a pod was forgotten."""
    return PodObserved(uid=command.uid, mark=command.mark)


def _not_started(it: VirtualPod) -> Mapping[str, ContainerHistory]:
    return waiting_containers(it.pod) if it.pod is not None else {}


def _sandbox(it: VirtualPod, state: FollowedPod) -> SandboxObserved:
    return SandboxObserved(
        id=f"virtual://{it.uid}",
        attempt=0,
        state=SandboxState.NOT_READY if state.has_ended else SandboxState.READY,
        created_at=state.since,
        ips=(state.ip,) if state.ip else (),
    )
