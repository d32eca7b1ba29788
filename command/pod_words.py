"""A pod in words: its name, state and age, why it does not run, and which objects it names. Pure.

The agent decides how a pod is, in the ``summary`` of each pod. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from command.failures import StrangeAnswerError
from command.reading import Document, count, flag, part, parts, text, value
from command.wording import ago, moment, span

SEEN = "kubernetes.io/config.seen"
SOURCE = "kubernetes.io/config.source"

SIGNALS = {1: "SIGHUP", 2: "SIGINT", 6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def pod_name(pod: Document) -> str:
    """Return ``NAMESPACE/NAME``, by which every subcommand knows the pod."""
    return f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"


def source_of(pod: Document) -> str:
    """Return where the pod comes from: ``file``, ``http`` or ``api``."""
    return text(pod, "metadata", "annotations", SOURCE)


def since(pod: Document) -> str:
    """Return the time from which the pod's age counts; empty if it is not known.

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
    """Return whether the agent says that the pod needs no attention."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEvidence:
    """What the endpoints say about one pod."""

    pod: Document
    manifests: list[Document] = field(default_factory=list)
    objects: list[Document] = field(default_factory=list)
    story: Document = field(default_factory=dict)
    """What the agent tells of the pod alone: its summary, its probes, its old variables."""
    volumes: Sequence[Document] = ()
    events: Sequence[Document] = ()
    """What the agent remembers of it, the oldest first."""
    why: Sequence[WhyNot] = ()
    """Why it is not as it should be."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """One cause in a sentence, and what to do about it if that is known."""

    text: str
    advice: str = ""
    at: str = ""
    """When that comes which ``text`` ends with; empty if it ends with nothing of the kind."""

    def told(self, now: float) -> str:
        """Return the sentence with the time that is left: ``... and will be again in 3m12s``."""
        due = moment(self.at)
        if due is None:
            return self.text
        return f"{self.text} in {span(due - now)}" if due - now >= 1 else f"{self.text} in a moment"


def reasons(told: Document) -> list[WhyNot]:
    """Return the causes that the agent tells of a pod. Raises ``StrangeAnswerError`` if it tells none."""
    if not isinstance(told.get("why"), list):
        raise StrangeAnswerError(
            "the agent does not say why pods do not run: it is of another version"
        )
    return [
        WhyNot(text(each, "text"), text(each, "advice"), text(each, "at"))
        for each in parts(told, "why")
    ]


def ending(terminated: Document, now: float | None = None) -> str:
    """Return how a container ended: ``ended with 3 (Error) 20s ago: what it said last``.

    When it ended is left out without ``now``.
    """
    code, reason = value(terminated, "exitCode"), text(terminated, "reason")
    number = count(terminated, "signal")
    if reason == "OOMKilled":
        said = "was killed for its memory (OOMKilled)"
    elif number:
        said = f"was ended by {SIGNALS.get(number, f'signal {number}')}{reason and f' ({reason})'}"
    else:
        said = f"ended with {code}{reason and f' ({reason})'}"
    message = " ".join(text(terminated, "message").split())
    when = "" if now is None else ago(text(terminated, "finishedAt"), now)
    return f"{said}{when and f' {when}'}{message and f': {message}'}"


class PlacedReference(NamedTuple):
    """One place of a pod that names an object."""

    kind: str
    name: str
    is_optional: bool
    place: str
    """The part that needs it, in words: ``volume config``, ``container web``."""


def references(pod: Document) -> Iterator[PlacedReference]:
    """Yield what the pod names, in the order of its document."""
    for each in parts(pod, "spec", "imagePullSecrets"):
        yield PlacedReference(
            "Secret", text(each, "name"), is_optional=True, place="pulling images"
        )
    for volume in parts(pod, "spec", "volumes"):
        place = f"volume {text(volume, 'name')}"
        yield from _of_volume(volume, place)
        for source in parts(volume, "projected", "sources"):
            yield from _of_volume(source, place)
    for group in CONTAINERS:
        for container in parts(pod, "spec", group):
            yield from _of_container(container, f"container {text(container, 'name')}")


def _of_volume(volume: Document, place: str) -> Iterator[PlacedReference]:
    for key, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
        found = part(volume, key)
        name = text(found, "secretName") or text(found, "name")
        if name:
            yield PlacedReference(kind, name, flag(found, "optional"), place)


def _of_container(container: Document, place: str) -> Iterator[PlacedReference]:
    for key, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
        for each in parts(container, "envFrom"):
            if name := text(each, key, "name"):
                yield PlacedReference(kind, name, flag(each, key, "optional"), place)
    for key, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
        for each in parts(container, "env"):
            if name := text(each, "valueFrom", key, "name"):
                yield PlacedReference(kind, name, flag(each, "valueFrom", key, "optional"), place)
