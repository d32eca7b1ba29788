"""Draws one pod: first why it does not run, then everything that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from command.drawing import Drawing
from command.pod_words import (
    PodEvidence,
    ending,
    is_well,
    pod_name,
    readiness,
    references,
    since,
    source_of,
    state,
    statuses,
)
from command.reading import Document, count, flag, part, parts, text, value
from command.tables import BAD, DOUBTFUL, GOOD, Column, Sheet
from command.wording import age, ago

CONTAINERS = (
    Column(title="CONTAINER", is_folded=True),
    Column(title="STATE", is_toned=True),
    Column(title="READY", is_toned=True),
    Column(title="RESTARTS", is_right=True),
    Column(title="SINCE"),
    Column(title="LAST END", is_folded=True),
    Column(title="IMAGE", is_wide=True, is_folded=True),
    Column(title="ID", is_wide=True, is_folded=True),
)
CONDITIONS = (
    Column(title="CONDITION"),
    Column(title="IS", is_toned=True),
    Column(title="SINCE"),
    Column(title="REASON", is_folded=True),
    Column(title="MESSAGE", is_folded=True),
)
PROBES = (
    Column(title="PROBE"),
    Column(title="RESULT", is_toned=True),
    Column(title="IN A ROW", is_right=True),
    Column(title="LAST"),
    Column(title="SAYS", is_folded=True),
)
VOLUMES = (
    Column(title="VOLUME", is_folded=True),
    Column(title="KIND"),
    Column(title="STATE", is_toned=True),
    Column(title="TROUBLE", is_folded=True),
    Column(title="PATH", is_wide=True),
)
OBJECTS = (
    Column(title="NEEDS", is_folded=True),
    Column(title="STATE", is_toned=True),
    Column(title="BY", is_folded=True),
    Column(title="ERROR", is_folded=True),
)
EVENTS = (
    Column(title="WHEN"),
    Column(title="WHAT"),
    Column(title="HOW", is_folded=True),
)


def draw_pod(drawing: Drawing, known: PodEvidence, now: float, *, wide: bool) -> None:
    """Draw what is known of a pod."""
    pod = known.pod
    drawing.line(
        f"{pod_name(pod)}: {state(known.story)}, {readiness(known.story)} ready", style="bold"
    )
    for each in known.why:
        drawing.item(each.told(now), style=DOUBTFUL if is_well(known.story) else BAD)
        if each.advice:
            drawing.item(each.advice, mark=" ")
    if not known.why:
        drawing.line("It is well.", style=GOOD)
    drawing.line("")
    drawing.pairs(_facts(known, now, wide=wide))
    for title, sheet in (
        ("Containers", containers(pod, now)),
        ("Probes", probes(known.story, now)),
        ("Volumes", volumes(known.volumes)),
        ("Secrets and ConfigMaps", objects(known)),
        ("Conditions", conditions(pod, now)),
        ("What happened", events(known, now)),
    ):
        if sheet.rows:
            drawing.title(title)
            drawing.sheet(sheet, wide=wide)


def _facts(known: PodEvidence, now: float, *, wide: bool) -> list[tuple[str, str]]:
    pod = known.pod
    manifests = [f"{text(each, 'path')} ({text(each, 'verdict')})" for each in known.manifests]
    rows = [
        ("age", age(since(pod), now)),
        ("comes from", ", ".join(filter(None, (source_of(pod), *manifests)))),
        (
            "node",
            " ".join(filter(None, (text(pod, "spec", "nodeName"), text(pod, "status", "hostIP")))),
        ),
        ("address", text(pod, "status", "podIP")),
        ("old variables", old_variables(known.story)),
    ]
    if wide:
        labels = part(pod, "metadata", "labels")
        rows += [
            ("uid", text(pod, "metadata", "uid")),
            ("qos", text(pod, "status", "qosClass")),
            ("restarts", text(pod, "spec", "restartPolicy")),
            ("labels", ", ".join(f"{key}={each}" for key, each in labels.items())),
        ]
    return rows


def old_variables(told: Document) -> str:
    """Return which containers have variables of an earlier version of an object; empty if none has."""
    found = [
        f"{text(each, 'container')} (of an earlier {text(each, 'kind')} {text(each, 'name')})"
        for each in parts(told, "oldVariables")
    ]
    return f"container {', '.join(found)}: another start takes the present ones" if found else ""


def containers(pod: Document, now: float) -> Sheet:
    """Return the table of containers, in the order in which they start."""
    rows = [
        (
            " ".join(filter(None, (text(each, "name"), f"({kind})" if kind else ""))),
            container_state(each),
            _readiness(each),
            f"{count(each, 'restartCount'):,}",
            age(_began(each), now),
            _last_end(each, now),
            text(each, "image"),
            text(each, "containerID"),
        )
        for kind, each in statuses(pod)
    ]
    return Sheet(columns=CONTAINERS, rows=rows)


def _readiness(container: Document) -> str:
    """Return whether a container is ready; empty if it has done its work."""
    if value(container, "state", "terminated", "exitCode") == 0:
        return ""
    return "yes" if flag(container, "ready") else "no"


def container_state(container: Document) -> str:
    """Return the state of a container, or rather why it is not running."""
    if part(container, "state", "running"):
        return "running"
    waiting = text(container, "state", "waiting", "reason")
    return waiting or text(container, "state", "terminated", "reason") or "unknown"


def _began(container: Document) -> str:
    running = text(container, "state", "running", "startedAt")
    return running or text(container, "state", "terminated", "finishedAt")


def _last_end(container: Document, now: float) -> str:
    ended = part(container, "state", "terminated") or part(container, "lastState", "terminated")
    return ending(ended, now) if ended else ""


def conditions(pod: Document, now: float) -> Sheet:
    """Return the table of conditions."""
    words = {"True": "yes", "False": "no", "Unknown": "unknown"}
    rows = [
        (
            text(each, "type"),
            words.get(text(each, "status"), text(each, "status")),
            age(text(each, "lastTransitionTime"), now),
            text(each, "reason"),
            text(each, "message"),
        )
        for each in parts(pod, "status", "conditions")
    ]
    return Sheet(columns=CONDITIONS, rows=rows)


def probes(of_pod: Document, now: float) -> Sheet:
    """Return the table of probes."""
    rows = [
        (
            f"{text(each, 'container')} {text(each, 'probe')}",
            text(each, "result"),
            f"{count(each, 'inARow'):,}",
            ago(text(each, "lastAnswer", "at"), now),
            text(each, "lastAnswer", "text") or text(each, "waitsFor"),
        )
        for each in parts(of_pod, "probes")
    ]
    return Sheet(columns=PROBES, rows=rows)


def volumes(of_pod: Sequence[Document]) -> Sheet:
    """Return the table of the volumes that the agent makes."""
    rows = [
        tuple(text(each, name) for name in ("name", "plugin", "state", "trouble", "path"))
        for each in of_pod
    ]
    return Sheet(columns=VOLUMES, rows=rows)


def objects(known: PodEvidence) -> Sheet:
    """Return the table of the Secrets and ConfigMaps that the pod names."""
    namespace = text(known.pod, "metadata", "namespace")
    held = {
        (text(each, "kind"), text(each, "name")): each
        for each in known.objects
        if text(each, "namespace") == namespace
    }
    rows = []
    for each in references(known.pod):
        row = held.get((each.kind, each.name), {})
        wish = " (optional)" if each.is_optional else ""
        rows.append(
            (
                f"{each.kind} {each.name}{wish}",
                text(row, "state") or "unknown",
                each.place,
                text(row, "lastError"),
            )
        )
    return Sheet(columns=OBJECTS, rows=list(dict.fromkeys(rows)))


def events(known: PodEvidence, now: float) -> Sheet:
    """Return what happened to the pod, the oldest first: as the agent remembers, else by the pod's times."""
    if known.events:
        rows = [
            (ago(text(each, "at"), now), text(each, "word"), text(each, "text"))
            for each in known.events
        ]
    else:
        told = sorted(dict.fromkeys(_moments(known.pod)), key=lambda each: each[0])
        rows = [(ago(at, now), "", what) for at, what in told]
    return Sheet(columns=EVENTS, rows=rows)


def _moments(pod: Document) -> Iterator[tuple[str, str]]:
    """Yield when something happened, and what: of what came within a second, the earlier first."""
    yield from _told(pod, "metadata", "creationTimestamp", "created")
    yield from _told(pod, "status", "startTime", "taken by this node")
    for _, each in statuses(pod):
        name = f"container {text(each, 'name')}"
        for state_name in ("lastState", "state"):
            ended = part(each, state_name, "terminated")
            yield from _told(ended, "startedAt", f"{name} started")
            yield from _told(ended, "finishedAt", f"{name} {ending(ended)}")
        yield from _told(each, "state", "running", "startedAt", f"{name} started")


def _told(document: Document, *path_and_what: str) -> Iterator[tuple[str, str]]:
    *path, what = path_and_what
    if at := text(document, *path):
        yield at, what
