"""A pod in the words that ``kubectl get pods`` has for it: its state, its readiness, its restarts. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from command.reading import Document, count, flag, part, parts, text, value
from command.wording import ago

SEEN = "kubernetes.io/config.seen"
SOURCE = "kubernetes.io/config.source"
VOLUMES_RELEASED = "actorlet/VolumesReleased"


def pod_name(pod: Document) -> str:
    """Return ``NAMESPACE/NAME``, by which every subcommand knows the pod."""
    return f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"


def source_of(pod: Document) -> str:
    """Return where the pod comes from: ``file``, ``http`` or ``api``."""
    return text(pod, "metadata", "annotations", SOURCE)


def since(pod: Document) -> str:
    """Return the time from which the pod's age counts; empty if nobody knows.

    When a source was seen to tell it is new in each life of the agent, so that comes last.
    """
    made = text(pod, "metadata", "creationTimestamp") or text(pod, "status", "startTime")
    return made or text(pod, "metadata", "annotations", SEEN)


def readiness(pod: Document) -> str:
    """Return how many of the containers that run on are ready: ``1/2``."""
    shown = [*sidecars(pod), *parts(pod, "status", "containerStatuses")]
    wanted = len(parts(pod, "spec", "containers")) + len(_sidecar_names(pod))
    return f"{sum(flag(each, 'ready') for each in shown)}/{wanted}"


def is_ready(pod: Document) -> bool:
    """Return whether the pod's condition says so."""
    return any(
        text(each, "type") == "Ready" and text(each, "status") == "True"
        for each in parts(pod, "status", "conditions")
    )


def is_well(pod: Document) -> bool:
    """Return whether nobody has to look at the pod: it is ready, or has succeeded, and nothing holds it."""
    is_held = any(
        text(each, "type") == VOLUMES_RELEASED and text(each, "status") == "False"
        for each in parts(pod, "status", "conditions")
    )
    return not is_held and (is_ready(pod) or text(pod, "status", "phase") == "Succeeded")


def restarts(pod: Document, now: float) -> str:
    """Return how often containers were started again, and how long ago one ended last."""
    shown = _with_restarts(pod)
    total = sum(count(each, "restartCount") for each in shown)
    ends = [text(each, "lastState", "terminated", "finishedAt") for each in shown]
    last = ago(max(ends, default=""), now)
    return f"{total} ({last})" if total and last else str(total)


def _with_restarts(pod: Document) -> list[Document]:
    inits = parts(pod, "status", "initContainerStatuses")
    is_initialized = any(_has_begun(each) for each in parts(pod, "status", "containerStatuses"))
    main = [*sidecars(pod), *parts(pod, "status", "containerStatuses")]
    return main if is_initialized else inits or main


def _has_begun(container: Document) -> bool:
    return bool(part(container, "state", "running") or part(container, "lastState", "terminated"))


def state(pod: Document) -> str:
    """Return the state of the pod in one word: ``Running``, ``Init:1/2``, ``CrashLoopBackOff``."""
    if "deletionTimestamp" in part(pod, "metadata"):
        return "Terminating"
    own = text(pod, "status", "reason")
    phase = text(pod, "status", "phase") or "unknown"
    if own or phase in {"Succeeded", "Failed"}:
        return own or _ended(pod, phase)
    return _initializing(pod) or _running(pod, phase)


def _ended(pod: Document, phase: str) -> str:
    if phase == "Succeeded":
        return "Completed"
    reasons = [_reason(each) for each in parts(pod, "status", "containerStatuses")]
    bad = [each for each in reasons if each and each != "Completed"]
    return bad[0] if bad else phase


def _initializing(pod: Document) -> str:
    """Return how far the init containers are; empty once they have done their work."""
    restartable = _sidecar_names(pod)
    shown = parts(pod, "status", "initContainerStatuses")
    for place, each in enumerate(shown):
        is_sidecar = text(each, "name") in restartable
        if _has_succeeded(each) or (is_sidecar and flag(each, "started")):
            continue
        reason = _reason(each)
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{place}/{len(shown)}"
    return ""


def _running(pod: Document, phase: str) -> str:
    shown = parts(pod, "status", "containerStatuses")
    reasons = [each for each in map(_reason, reversed(shown)) if each]
    runs = any(part(each, "state", "running") for each in shown)
    if reasons and not (runs and set(reasons) == {"Completed"}):
        return reasons[-1]
    return "NotReady" if runs and reasons and not is_ready(pod) else phase


def _reason(container: Document) -> str:
    """Return why a container does not run; empty if it does."""
    waiting = text(container, "state", "waiting", "reason")
    ended = part(container, "state", "terminated")
    if waiting or not ended:
        return waiting
    signal = count(ended, "signal")
    by_number = f"Signal:{signal}" if signal else f"ExitCode:{count(ended, 'exitCode')}"
    return text(ended, "reason") or by_number


def _has_succeeded(container: Document) -> bool:
    return value(container, "state", "terminated", "exitCode") == 0


def sidecars(pod: Document) -> list[Document]:
    """Return the statuses of init containers that run on."""
    names = _sidecar_names(pod)
    shown = parts(pod, "status", "initContainerStatuses")
    return [each for each in shown if text(each, "name") in names]


def _sidecar_names(pod: Document) -> set[str]:
    inits = parts(pod, "spec", "initContainers")
    return {text(each, "name") for each in inits if text(each, "restartPolicy") == "Always"}


def statuses(pod: Document) -> Iterator[tuple[str, Document]]:
    """Yield the status of each container, in the order in which they start, and of which kind it is."""
    for kind, name in (
        ("init", "initContainerStatuses"),
        ("", "containerStatuses"),
        ("ephemeral", "ephemeralContainerStatuses"),
    ):
        for each in parts(pod, "status", name):
            is_sidecar = kind == "init" and text(each, "name") in _sidecar_names(pod)
            yield "sidecar" if is_sidecar else kind, each
