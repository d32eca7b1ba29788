"""What observations say of one pod, what others are told of it, and the list of all pods. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from messages.objects import ObjectId, ObjectValue
from messages.pod_runtime import (
    ContainerHistory,
    ContainerState,
    ForgetPod,
    PodObserved,
    PodTrouble,
    RunPod,
    RuntimePod,
    SandboxObserved,
    SandboxState,
)
from messages.pods import Pod, PodPhase, PodUid
from messages.units import Timestamp
from runtimes.provider.following import (
    FollowedPod,
    followed,
    goes_back,
    phase_of_report,
    waiting_containers,
    with_variables,
)
from runtimes.provider.memory import ProviderMemory
from runtimes.provider.pod_provider import PodReport
from runtimes.provider.pods import UNFOLLOWED, ProviderPod
from runtimes.provider.reports import Nonsense, without_values


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
    it: ProviderPod, report: PodReport | Nonsense | None, now: Timestamp, moment: float
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
    if back := _is_older_than_shown(it, report):
        return ReportNews(_not_said(it, (back,)))
    it.is_new_run = False
    if it.pod is None:
        it.pod = pod_of_report(it.uid, report)
    before = it.state
    told = _hidden(report, it.objects)
    result = followed(it.pod, told, before, now, it.restarts_before, it.spec_run)
    it.state = with_variables(result.pod, before, it.used)
    return ReportNews(
        _not_said(it, result.complaints),
        _newly(ContainerState.RUNNING, before, it.state),
        _newly(ContainerState.EXITED, before, it.state),
    )


def _is_older_than_shown(it: ProviderPod, report: PodReport) -> str | None:
    """Return in words that the first report that an agent gets of a pod is older than what it shows."""
    if it.state is not None or it.may_be_there or not isinstance(it.command, RunPod):
        return None
    if not it.command.is_running:
        return None
    return goes_back(PodPhase.RUNNING, phase_of_report(report))


def observation(it: ProviderPod, more: tuple[PodTrouble, ...]) -> PodObserved:
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


def _not_started(it: ProviderPod) -> Mapping[str, ContainerHistory]:
    """Return the containers of a pod that is to run, and that nothing is known of."""
    return waiting_containers(it.command.pod) if isinstance(it.command, RunPod) else {}


def _sandbox(it: ProviderPod, state: FollowedPod) -> SandboxObserved:
    return SandboxObserved(
        id=f"virtual://{it.uid}",
        attempt=0,
        state=SandboxState.NOT_READY if state.has_ended else SandboxState.READY,
        created_at=state.since,
        ips=(state.ip,) if state.ip else (),
    )


def pod_of_report(uid: PodUid, report: PodReport) -> Pod:
    """Return what is known of a pod that the provider alone knows."""
    metadata = {"uid": uid, "namespace": report.namespace, "name": report.name}
    pod = Pod.of({"metadata": metadata, "spec": {}})
    return replace(pod, source=report.source)


def runtime_pod(uid: PodUid, report: PodReport, it: ProviderPod | None) -> RuntimePod:
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


def _not_said(it: ProviderPod, complaints: tuple[str, ...]) -> tuple[str, ...]:
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


def is_stranger(report: PodReport | Nonsense) -> bool:
    """Whether a pod that nobody commanded does not say whose it is. Else it may have outlived the agent."""
    return not isinstance(report, PodReport) or not (report.name and report.namespace)


def listed(memory: ProviderMemory) -> tuple[RuntimePod, ...]:
    """Return all pods that the last observation told of, without those that nobody knows."""
    return tuple(
        runtime_pod(uid, report, memory.pods.get(uid))
        for uid, report in memory.readings.items()
        if isinstance(report, PodReport)
        and (uid in memory.pods or not is_stranger(report))
        and uid not in memory.forgotten
    )


def counted(memory: ProviderMemory) -> Mapping[ContainerState, int]:
    """Return how many containers are in each state."""
    states: Counter[ContainerState] = Counter()
    for it in memory.pods.values():
        histories = it.state.containers.values() if it.state is not None else ()
        states.update(each.current.state for each in histories if each.current is not None)
    return states
