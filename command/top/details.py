"""One thing in full: what the agent is asked for it, and its lines. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias
from urllib.parse import quote, urlencode

from command.pod_drawing import conditions, containers, events, objects, old_variables, probes
from command.pod_words import (
    PodEvidence,
    is_well,
    pod_name,
    readiness,
    reasons,
    since,
    source_of,
    state,
)
from command.reading import Document, count, number, part, parts, text, texts, value
from command.tables import BAD, DOUBTFUL, FAINT, GOOD, tone
from command.top.lines import BOLD, Line, LinePiece, cut, filled, item, line, sheet_lines, wrapped
from command.top.lists import ACTORS, EVENTS, LISTS, OBJECTS, PODS, SOURCES
from command.top.pages import MOST, key_of
from command.top.state import DetailState, Subject, TopState
from command.wording import age, counted, local_time, span

Ask: TypeAlias = Callable[[str], Document | None]
"""Returns what the agent answers at a path; None where there is nothing."""
Found: TypeAlias = Mapping[str, Document]
"""Answers by what they are about."""

NAMES = 12
"""Cells of the names of facts, with the space behind them."""


def look(subject: Subject, ask: Ask) -> Found | None:
    """Return what the agent knows of ``subject``; None if it is gone. Raises ``StrangeAnswerError``."""
    if subject.kind == PODS.name:
        return _pod(subject, ask)
    if subject.kind == ACTORS.name:
        return _asked_actor(subject, ask)
    if subject.kind == OBJECTS.name:
        return _asked_object(subject, ask)
    if subject.kind == EVENTS.name:
        return {"row": subject.row}
    return _row(SOURCES.path, SOURCES.field, text(subject.row, "path"), subject.key, ask)


def _pod(subject: Subject, ask: Ask) -> Found | None:
    story = ask(f"{PODS.path}/{quote(subject.uid, safe='')}") if subject.uid else None
    if story is None:
        return None
    reasons(story)  # whether it has any, before somebody looks
    namespace = text(story, "pod", "metadata", "namespace")
    return {"story": story, "objects": _objects_of(namespace, ask)}


def _objects_of(namespace: str, ask: Ask) -> Document:
    """Return the objects of a namespace; if they are too many to be told, those that have trouble."""
    query = {"search": f"{namespace}/", "limit": str(MOST)}
    found = ask(f"{OBJECTS.path}?{urlencode(query)}") or {}
    if count(found, "matching") <= MOST:
        return found
    return ask(f"{OBJECTS.path}?{urlencode({**query, 'troubled': ''})}") or {}


def _asked_actor(subject: Subject, ask: Ask) -> Found | None:
    tree = ask(ACTORS.path) or {}
    shown = [each for group in parts(tree, "groups") for each in parts(group, "notRunning")]
    for row in (*parts(tree, "actors"), *shown):
        if text(row, "name") == text(subject.row, "name"):
            return {"row": row}
    name = text(subject.row, "name")
    return _row(ACTORS.path, ACTORS.field, name, name, ask)


def _asked_object(subject: Subject, ask: Ask) -> Found | None:
    kind, namespace, name = (text(subject.row, each) for each in ("kind", "namespace", "name"))
    found = _row(OBJECTS.path, OBJECTS.field, f"{kind} {namespace}/{name}", subject.key, ask)
    if found is None:
        return None
    query = urlencode({"uses": f"{kind}/{namespace}/{name}", "limit": str(MOST)})
    return {**found, "pods": ask(f"{PODS.path}?{query}") or {}}


def _row(path: str, field: str, search: str, key: str, ask: Ask) -> Found | None:
    query = urlencode({"search": search, "limit": str(MOST)})
    rows = parts(ask(f"{path}?{query}") or {}, field)
    found = next((row for row in rows if key in {key_of(row), text(row, "name")}), None)
    return None if found is None else {"row": found}


def detail_lines(state: TopState) -> list[Line]:
    """Return all lines of what somebody looks at; the screen may have room for some of them."""
    detail = state.detail
    if detail is None:
        return []
    now, width = state.now + state.skew, state.width
    lines = list(_of(detail, now, width))
    if detail.is_gone:
        gone = (
            f"This {LISTS[detail.subject.kind].noun} is gone. What is shown was last known of it."
        )
        return [*item(gone, width, DOUBTFUL, mark=""), *lines]
    return lines


def _of(detail: DetailState, now: float, width: int) -> Iterator[Line]:
    kind = detail.subject.kind
    if kind == PODS.name:
        story = detail.documents.get("story")
        if story is None:
            row = detail.subject.row
            yield from item(f"{pod_name(row)}: {state(row)}", width, BOLD, mark="")
            return
        yield from pod_lines(evidence(detail), now, width)
        return
    row = detail.documents.get("row", detail.subject.row)
    if kind == ACTORS.name:
        yield from _actor(row, width)
    elif kind == OBJECTS.name:
        yield from _object(row, detail.documents.get("pods"), width)
    elif kind == EVENTS.name:
        yield from _event(row, width)
    else:
        yield from _manifest(row, width)


def evidence(detail: DetailState) -> PodEvidence:
    """Return what the agent has answered about a pod."""
    story = detail.documents.get("story", {})
    manifest = part(story, "manifest")
    return PodEvidence(
        pod=part(story, "pod"),
        manifests=[manifest] if manifest else [],
        objects=parts(detail.documents.get("objects", {}), "objects"),
        story=story,
        volumes=parts(story, "volumeTroubles"),
        events=parts(story, "events"),
        why=reasons(story),
    )


def pod_lines(known: PodEvidence, now: float, width: int) -> Iterator[Line]:
    """Yield a pod: why it does not run, its containers, the last events, and what else is known."""
    pod = known.pod
    yield from item(
        f"{pod_name(pod)}: {state(known.story)}, {readiness(known.story)} ready",
        width,
        BOLD,
        mark="",
    )
    for each in known.why:
        yield from item(each.told(now), width, DOUBTFUL if is_well(known.story) else BAD)
        yield from item(each.advice, width, mark="  ") if each.advice else ()
    if not known.why:
        yield line("It is well.", GOOD)
    yield ()
    manifests = [f"{text(each, 'path')} ({text(each, 'verdict')})" for each in known.manifests]
    yield from _facts(
        [
            ("age", age(since(pod), now)),
            ("comes from", ", ".join(filter(None, (source_of(pod), *manifests)))),
            ("address", text(pod, "status", "podIP")),
            ("old variables", old_variables(known.story)),
            ("uid", text(pod, "metadata", "uid")),
        ],
        width,
    )
    for title, sheet in (
        ("Containers", containers(pod, now)),
        ("What happened", events(known, now)),
        ("Probes", probes(known.story, now)),
        ("Secrets and ConfigMaps", objects(known)),
        ("Conditions", conditions(pod, now)),
    ):
        if sheet.rows:
            yield ()
            yield line(title, BOLD)
            yield from sheet_lines(sheet, width)


def _actor(row: Document, width: int) -> Iterator[Line]:
    yield from item(text(row, "name"), width, BOLD, mark="")
    word = text(row, "state")
    yield (LinePiece(cut(word, width), tone(word)),)
    yield ()
    yield from _facts(
        [
            ("kind", text(row, "type")),
            ("parent", text(row, "parent")),
            ("restarts", f"{count(row, 'restarts'):,}"),
            ("mailbox", f"{counted(count(row, 'mailbox'), 'message')} that wait"),
            ("handled", counted(count(row, "handled"), "message")),
            ("too often", _exhausted(text(row, "onExhausted"))),
        ],
        width,
    )
    yield ()
    yield line("Last error", BOLD)
    error = text(row, "lastError")
    yield from item(error or "none", width, BAD if error else FAINT, mark="")


def _exhausted(word: str) -> str:
    said = {
        "isolate": "if it fails too often, it alone stands still (isolate)",
        "escalate": "if it fails too often, its supervisor fails (escalate)",
    }
    return said.get(word, word)


def _object(row: Document, pods: Document | None, width: int) -> Iterator[Line]:
    name = f"{text(row, 'kind')} {text(row, 'namespace')}/{text(row, 'name')}"
    yield from item(name, width, BOLD, mark="")
    word, error = text(row, "state"), text(row, "lastError")
    yield (LinePiece(cut(word, width), tone(word)),)
    if error:
        yield from item(error, width, BAD)
    yield ()
    yield from _facts(
        [
            ("current", _current(row)),
            ("from", text(row, "origin")),
            ("version", text(row, "resourceVersion")),
            ("reconnects", _whole(row, "reconnects")),
            ("references", _whole(row, "references")),
        ],
        width,
    )
    yield ()
    yield line("Pods that refer to it", BOLD)
    if pods is None:
        yield line("not known yet", FAINT)
        return
    for each in parts(pods, "pods"):
        said = state(each)
        name = f"{pod_name(each)}  "
        yield (
            LinePiece(cut(name, width)),
            LinePiece(cut(said, max(0, width - len(name))), tone(said)),
        )
    if more := count(pods, "matching") - len(parts(pods, "pods")):
        yield line(f"and {more:,} more", FAINT)
    if not parts(pods, "pods"):
        yield line("none", FAINT)


def _current(row: Document) -> str:
    seconds = number(row, "ageSeconds")
    if seconds is None:
        return "it was never known"
    return "as of now" if seconds < 1 else f"last known to be current {span(seconds)} ago"


def _whole(row: Document, name: str) -> str:
    found = value(row, name)
    return f"{found:,}" if isinstance(found, int) else "not known"


def _manifest(row: Document, width: int) -> Iterator[Line]:
    yield from item(text(row, "path"), width, BOLD, mark="")
    word, reason = text(row, "verdict"), text(row, "reason")
    yield (LinePiece(cut(word, width), tone(word)),)
    if reason:
        yield from item(reason, width, BAD if word == "rejected" else DOUBTFUL)
    for each in texts(row, "warnings"):
        yield from item(f"warning: {each}", width, DOUBTFUL)
    yield ()
    yield from _facts(
        [
            ("source", text(row, "source")),
            ("pod", text(row, "pod")),
            ("object", text(row, "object")),
            ("uid", text(row, "uid")),
        ],
        width,
    )


def _event(row: Document, width: int) -> Iterator[Line]:
    _, _, subject, what, said = EVENTS.cells(row, 0.0)
    yield from item(f"{subject}: {what}", width, BOLD, mark="")
    if said:
        yield from item(said, width, DOUBTFUL if text(row, "type") == "Warning" else "")
    yield ()
    is_again = count(row, "count") > 1
    yield from _facts(
        [
            ("last" if is_again else "at", local_time(text(row, "last"))),
            ("first", local_time(text(row, "first")) if is_again else ""),
            ("times", _whole(row, "count")),
            ("part", text(row, "fieldPath")),
            ("keys", ", ".join(texts(row, "keys"))),
            ("uid", text(row, "uid")),
        ],
        width,
    )


def _facts(facts: list[tuple[str, str]], width: int) -> Iterator[Line]:
    for name, said in facts:
        if not said:
            continue
        for place, each in enumerate(wrapped(said, width - NAMES)):
            yield (LinePiece(filled(name if place == 0 else "", NAMES), FAINT), LinePiece(each))
