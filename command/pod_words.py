"""A pod in the words of the tables: its name, its state, its restarts, its age. Pure.

How a pod is says the agent, in the ``summary`` of each pod that it tells: nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator

from command.reading import Document, count, flag, parts, text
from command.wording import ago

SEEN = "kubernetes.io/config.seen"
SOURCE = "kubernetes.io/config.source"


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


def state(pod: Document) -> str:
    """Return the state of the pod in one word: ``Running``, ``Init:1/2``, ``CrashLoopBackOff``."""
    return text(pod, "summary", "state") or "unknown"


def readiness(pod: Document) -> str:
    """Return how many of the containers that run on are ready: ``1/2``."""
    return text(pod, "summary", "ready")


def is_well(pod: Document) -> bool:
    """Return whether the agent says that nobody has to look at the pod."""
    return flag(pod, "summary", "isWell")


def restarts(pod: Document, now: float) -> str:
    """Return how often containers were started again, and how long ago one of them had ended last."""
    total = count(pod, "summary", "restarts")
    last = ago(text(pod, "summary", "lastEnd"), now)
    return f"{total} ({last})" if last else str(total)


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
