"""Health, in the words of Kubernetes' own health endpoints: ``[+]name ok``, ``[-]name failed: ...``. Pure.

*Healthy* is about the agent's loops: the tree answers, PodManager answers, no actor has failed so often that
it is only restarted at long intervals, and what changes in a container runtime is seen. Dynamic actors, such
as one for each Secret, count as one loop together, which fails if most of them do: one bad object is no
reason to restart the agent. *Ready* is about sources, each by itself: a dead source does not make the others
unready. And it is about a container runtime, without which no pod starts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kernel import ActorDescription, DynamicSummary, TreeSummary
from messages.api import CallsDescribed
from messages.container_runtime_health import ContainerRuntimeDescribed
from messages.pod_runtime import RuntimeDescribed
from messages.pods import API, LOCAL_FILES, JsonObject
from messages.sources import SourceDescribed
from messages.statuses import StatusesDescribed
from messages.units import Seconds, Timestamp
from messages.watches import WatchDescribed
from server.questions import ClusterState, Unanswered

HOLLOW = "hollow"
PRETENDS = "hollow: nothing really runs"

_SOURCE = "source/"

_MOST_ERRORS = 5
"""How many errors are shown. Thousands of watches fail for a few reasons; each is shown once."""

LONGEST_SILENCE: Final = Seconds(180.0)
"""So long a kubelet is healthy without having looked at everything in its runtime."""


def runtime_shown(
    kind: str,
    runtime: RuntimeDescribed | Unanswered | None,
    containers: ContainerRuntimeDescribed | Unanswered | None,
) -> JsonObject | None:
    """Return what the command and the page show of the runtime of this ``kind``; None without one."""
    if kind == HOLLOW:
        return {"kind": kind, "text": PRETENDS, "ok": True}
    told = containers or runtime
    if told is None:
        return None
    if isinstance(told, Unanswered):
        return {"kind": kind, "text": told.reason, "ok": False}
    name = named(told)
    text = ": ".join(filter(None, (name, told.trouble)))
    return {"kind": kind, "text": text, "ok": not told.trouble}


def named(runtime: ContainerRuntimeDescribed | RuntimeDescribed) -> str:
    """Return which runtime it is, and where; empty while that is not known."""
    endpoint = runtime.endpoint if isinstance(runtime, ContainerRuntimeDescribed) else ""
    at = f"at {endpoint}" if endpoint and runtime.name else ""
    return " ".join(filter(None, (runtime.name, runtime.version, at)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """One thing that is well or not."""

    name: str
    ok: bool
    text: str = ""
    is_outdated: bool = False
    """What it knows is not current. It is shown as failed, and makes nothing unready or unhealthy."""


def answers(name: str, answer: object) -> HealthCheck:
    """Return a check of whether ``answer`` is one."""
    reason = answer.reason if isinstance(answer, Unanswered) else ""
    return HealthCheck(name=f"{name}/answers", ok=not reason, text=reason)


def loops(tree: TreeSummary) -> list[HealthCheck]:
    """Return a check for each loop. A loop that is being restarted is well."""
    return [
        *(_actor(actor) for actor in tree.loops),
        *(_dynamic(group) for group in tree.dynamic if group.states),
    ]


def members(tree: TreeSummary) -> list[HealthCheck]:
    """Return a check for some dynamic actors that do not run. They are shown and change no verdict."""
    return [_actor(actor) for group in tree.dynamic for actor in group.not_running]


def _actor(actor: ActorDescription) -> HealthCheck:
    return HealthCheck(name=actor.name, ok=actor.state != "failed", text=_text(actor))


def _dynamic(group: DynamicSummary) -> HealthCheck:
    counts = (f"{count:,} {state}" for state, count in group.states.items())
    return HealthCheck(name=group.name, ok=not group.is_failing, text=", ".join(counts))


def _text(actor: ActorDescription) -> str:
    if actor.state == "running":
        return ""
    return f"{actor.state}: {actor.last_error}" if actor.last_error else actor.state


def readiness(sources: Iterable[SourceDescribed | Unanswered], now: Timestamp) -> list[HealthCheck]:
    """Return a check for each source: whether it has listed, and how long ago it looked."""
    return [_readiness(source, now) for source in sources]


def _readiness(source: SourceDescribed | Unanswered, now: Timestamp) -> HealthCheck:
    name = _SOURCE + source.name
    if isinstance(source, Unanswered):
        return HealthCheck(name=name, ok=False, text=source.reason)
    if source.last_listed is not None:
        seen = f"seen {max(0.0, now - source.last_listed):.1f} s ago"
    else:
        seen = "" if source.ready else "not seen yet"
    text = ", ".join(filter(None, (seen, source.error)))
    # Its pods are kept, and may have changed since. Files and URLs that cannot be read say so in words.
    is_outdated = source.name == API and bool(source.error)
    return HealthCheck(name=name, ok=source.ready, text=text, is_outdated=is_outdated)


def api_server(state: ClusterState) -> HealthCheck:
    """Return a check of the API server: its URL, the user, and what is wrong.

    Credentials that cannot be read again are mentioned. They fail nothing while the last ones are good.
    """
    errors = _grouped(_errors(state))
    shown, left = errors[:_MOST_ERRORS], len(errors) - _MOST_ERRORS
    shown += [f"and {left:,} more reasons"] if left > 0 else []
    if not isinstance(state.calls, Unanswered):
        shown = shown or _whom(state.calls)
        trouble = state.calls.credentials_trouble
        if trouble and not any(trouble in text for text in shown):
            shown.append(f"credentials cannot be read again: {trouble}")
    return HealthCheck(name="api-server", ok=not errors, text="; ".join(shown))


def pod_statuses(answer: StatusesDescribed | Unanswered) -> HealthCheck:
    """Return a check of the statuses of pods: how many the API server refuses, and one of them.

    It makes nothing unready: the pods run, and a status that is refused is mostly the fault of one pod, or
    of somebody's rights. A node that turns unready for it would have all its pods evicted.
    """
    name = "pod-statuses"
    if isinstance(answer, Unanswered):
        return HealthCheck(name=name, ok=True, text=answer.reason, is_outdated=True)
    troubles = answer.troubles or {}
    if not troubles:
        return HealthCheck(name=name, ok=True)
    text = f"{len(troubles):,} refused, one of them: {next(iter(troubles.values()))}"
    return HealthCheck(name=name, ok=True, text=text, is_outdated=True)


def pleg(answer: ContainerRuntimeDescribed | Unanswered) -> HealthCheck:
    """Return a check of whether everything in the runtime was looked at lately."""
    name = "pleg"
    if isinstance(answer, Unanswered):
        return HealthCheck(name=name, ok=False, text=answer.reason)
    silence, is_first = answer.pleg.silence, answer.pleg.last_seen is None
    seen = "not yet successful" if is_first else f"last seen active {silence:.1f} s ago"
    return HealthCheck(name=name, ok=silence <= LONGEST_SILENCE, text=seen)


def container_runtime(answer: ContainerRuntimeDescribed | Unanswered) -> list[HealthCheck]:
    """Return checks of the runtime, without which no pod starts, and of its network.

    The network makes nothing unready by itself: pods on the node's own network run without it.
    """
    name = "container-runtime"
    if isinstance(answer, Unanswered):
        return [HealthCheck(name=name, ok=False, text=answer.reason)]
    checks = [HealthCheck(name=name, ok=not answer.trouble, text=answer.trouble or named(answer))]
    if answer.network_trouble and not answer.trouble:
        text = answer.network_trouble
        checks.append(HealthCheck(name=f"{name}-network", ok=True, text=text, is_outdated=True))
    return checks


def _whom(calls: CallsDescribed) -> list[str]:
    return [f"{calls.server} as {calls.user}"] if calls.server else []


def _errors(state: ClusterState) -> Iterator[tuple[str, str]]:
    """Yield each error as the key by which it is grouped, and its sentence."""
    for silent in (state.calls, state.watches):
        if isinstance(silent, Unanswered):
            yield silent.reason, silent.reason
    if not isinstance(state.calls, Unanswered):
        yield from ((_reason_of_call(trouble), trouble) for trouble in state.calls.troubles)
    if not isinstance(state.watches, Unanswered):
        failing = (watch for watch in state.watches.watches if watch.error)
        yield from ((_reason_of_watch(watch), watch.error) for watch in failing)


def _reason_of_call(trouble: str) -> str:
    """Return the key of a failing call. Each kind of forbidden call is an error of its own."""
    reason = _reason(trouble)
    return trouble if reason.startswith("forbidden") else reason


def _reason_of_watch(watch: WatchDescribed) -> str:
    """Return the key of a failing watch: its reason without the name of the object."""
    name = watch.target.field_selector.rpartition("=")[2]
    return _reason(watch.error).replace(f'"{name}"', "")


def _reason(sentence: str) -> str:
    """Return the part behind ``cannot <what> at <server> as <user>: ``, as ``ApiFailure`` has it."""
    return sentence.partition(": ")[2] or sentence


def _grouped(errors: Iterable[tuple[str, str]]) -> list[str]:
    """Return the first sentence of each group, with how many more there are."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for reason, sentence in errors:
        first.setdefault(reason, sentence)
        counts[reason] += 1
    return [
        f"{sentence} (and {counts[reason] - 1:,} more)" if counts[reason] > 1 else sentence
        for reason, sentence in first.items()
    ]


def is_ready(checks: Sequence[HealthCheck]) -> bool:
    """Return whether a source has listed, or none is configured.

    The source of local objects counts only if there is no source of pods.
    """
    of_pods = [check for check in checks if check.name != _SOURCE + LOCAL_FILES]
    return not checks or any(check.ok for check in of_pods or checks)


def report(checks: Iterable[HealthCheck], name: str, *, ok: bool) -> str:
    """Return the text of a ``?verbose`` answer, and of every failed one."""
    lines = [
        f"[{'+' if _is_well(check) else '-'}]{check.name} {_verdict(check)}" for check in checks
    ]
    return "\n".join([*lines, f"{name} check {'passed' if ok else 'failed'}", ""])


def _is_well(check: HealthCheck) -> bool:
    return check.ok and not check.is_outdated


def _verdict(check: HealthCheck) -> str:
    word = "ok" if _is_well(check) else "failed"
    return f"{word}: {check.text}" if check.text else word
