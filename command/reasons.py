"""Why a pod does not run, or is not ready, in sentences: what somebody can mend comes first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from command.health_checks import CheckLine
from command.pod_words import is_ready, statuses
from command.reading import Document, count, flag, part, parts, text, value
from command.references import references
from command.wording import ago

SIGNALS = {1: "SIGHUP", 2: "SIGINT", 6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
UNHELD = frozenset({"absent", "initialising"})
"""States of an object in which no pod can have it."""
QUIET = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons that say only that something else is waited for."""
AGGREGATES = frozenset({"ContainersNotReady", "ContainersNotInitialized", "PodCompleted"})
"""Reasons of conditions that only repeat what containers say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEvidence:
    """What the endpoints say about one pod."""

    pod: Document
    manifests: list[Document] = field(default_factory=list)
    objects: list[Document] = field(default_factory=list)
    probes: Document = field(default_factory=dict)
    volumes: Sequence[Document] = ()
    events: Sequence[Document] = ()
    """What the agent remembers of it, the oldest first."""
    checks: tuple[CheckLine, ...] = ()
    """The checks of the agent that fail."""


def reasons(known: PodEvidence, now: float) -> list[str]:
    """Return sentences that say why the pod is not ready, and what its manifest lacks.

    There is none for a pod that is well.
    """
    pod = known.pod
    found = [*_manifest(known.manifests), *_ending(pod, now)]
    if not is_ready(pod) and text(pod, "status", "phase") != "Succeeded":
        found += _own(pod)
        found += _objects(known)
        found += _volumes(known.volumes)
        found += _containers(pod, now)
        found += _probes(known)
        found += _conditions(pod)
        found = found or _quiet(pod)
        found += [f"The agent cannot start containers: {each}" for each in _runtime(known.checks)]
    return list(dict.fromkeys(found))


def _manifest(manifests: list[Document]) -> Iterator[str]:
    for each in manifests:
        verdict, path, reason = (text(each, name) for name in ("verdict", "path", "reason"))
        if verdict == "kept":
            yield f"{path} is broken, so what it said before is what runs: {reason}"
        elif verdict == "rejected":
            yield f"{path} is rejected: {reason}"
        elif verdict == "shadowed":
            yield f"{path} has no effect: {reason}"


def _ending(pod: Document, now: float) -> Iterator[str]:
    since = text(pod, "metadata", "deletionTimestamp")
    if since:
        grace = value(pod, "metadata", "deletionGracePeriodSeconds")
        within = f", with {grace} s of grace" if isinstance(grace, int) else ""
        yield f"It is being deleted{within}: {ago(since, now) or since}"


def _own(pod: Document) -> Iterator[str]:
    reason, message = text(pod, "status", "reason"), text(pod, "status", "message")
    if reason or message:
        yield f"The pod as a whole: {': '.join(filter(None, (reason, message)))}"


def _objects(known: PodEvidence) -> Iterator[str]:
    namespace = text(known.pod, "metadata", "namespace")
    held = {
        (text(each, "kind"), text(each, "namespace"), text(each, "name")): each
        for each in known.objects
    }
    wanted: dict[tuple[str, str], list[str]] = {}
    for each in references(known.pod):
        if not each.is_optional:
            wanted.setdefault((each.kind, each.name), []).append(each.place)
    for (kind, name), places in wanted.items():
        row = held.get((kind, namespace, name))
        if row is not None and text(row, "state") in UNHELD:
            yield _lacking(f"{kind} {namespace}/{name}", row, places)


def _lacking(name: str, row: Document, places: list[str]) -> str:
    said = "does not exist" if text(row, "state") == "absent" else "is not known yet"
    error = text(row, "lastError")
    needed = ", ".join(dict.fromkeys(places))
    return f"{name} {said}{error and f' ({error})'}; it is needed by {needed}"


def _volumes(volumes: Sequence[Document]) -> Iterator[str]:
    for each in volumes:
        if trouble := text(each, "trouble"):
            yield f"The volume {text(each, 'name')} has trouble: {trouble}"


def _containers(pod: Document, now: float) -> Iterator[str]:
    for kind, each in statuses(pod):
        if sentence := _container(kind, each, now):
            yield sentence
    for kind, each in statuses(pod):
        if kind == "init" and part(each, "state", "running"):
            since = ago(text(each, "state", "running", "startedAt"), now)
            yield f"Init container {text(each, 'name')} has not ended yet; it was started {since}"


def _container(kind: str, container: Document, now: float) -> str:
    who = f"{kind} container".strip().capitalize() + f" {text(container, 'name')}"
    waiting = part(container, "state", "waiting")
    reason, message = text(waiting, "reason"), text(waiting, "message")
    last = part(container, "lastState", "terminated")
    ended = part(container, "state", "terminated")
    if reason == "CrashLoopBackOff" and last:
        times = count(container, "restartCount")
        return f"{who} {ending(last, now)}, after {times} restarts; the next one waits: {message or reason}"
    if waiting and reason not in QUIET:
        return f"{who} waits: {': '.join(filter(None, (reason, message)))}"
    if ended and value(ended, "exitCode") != 0:
        return f"{who} {ending(ended, now)}"
    return ""


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


def _probes(known: PodEvidence) -> Iterator[str]:
    running = {
        text(each, "name") for _, each in statuses(known.pod) if part(each, "state", "running")
    }
    for each in parts(known.probes, "probes"):
        name, kind = text(each, "container"), text(each, "probe")
        if name in running and text(each, "result") != "success":
            said = text(each, "lastAnswer", "text") or text(each, "lastAnswer", "result")
            why = said or text(each, "waitsFor") or "it has not answered yet"
            yield f"The {kind} probe of container {name} does not succeed: {why}"


def _conditions(pod: Document) -> Iterator[str]:
    for each in parts(pod, "status", "conditions"):
        is_told = text(each, "reason") in AGGREGATES or not text(each, "message")
        if text(each, "status") == "False" and not is_told:
            yield f"{text(each, 'type')}: {text(each, 'message')}"


def _quiet(pod: Document) -> list[str]:
    """Return what is waited for if nobody complains."""
    names = [
        text(each, "name")
        for _, each in statuses(pod)
        if text(each, "state", "waiting", "reason") in QUIET
    ]
    if names:
        return [
            f"Nothing is wrong: {', '.join(names)} {'is' if len(names) == 1 else 'are'} being created"
        ]
    started = [each for _, each in statuses(pod) if part(each, "state", "running")]
    slow = [text(each, "name") for each in started if not flag(each, "ready")]
    return (
        [f"{', '.join(slow)} runs, and is not ready yet"]
        if slow
        else ["The agent has not begun with it"]
    )


def _runtime(checks: tuple[CheckLine, ...]) -> list[str]:
    return [each.text for each in checks if each.name.startswith("container-runtime")]
