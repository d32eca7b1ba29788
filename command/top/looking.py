"""What the agent is asked for to show one thing in full. Pure, but for the asking that it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import quote, urlencode

from command.reading import Document, count, parts, text
from command.reasons import reasons
from command.top.lists import ACTORS, EVENTS, OBJECTS, PODS, SOURCES
from command.top.pages import MOST, key_of
from command.top.state import Subject

Ask: TypeAlias = Callable[[str], Document | None]
"""Returns what the agent answers at a path; None where there is nothing."""
Found: TypeAlias = Mapping[str, Document]
"""Answers by what they are about."""


def look(subject: Subject, ask: Ask) -> Found | None:
    """Return what the agent knows of ``subject``; None if it is gone. Raises ``StrangeAnswerError``."""
    if subject.kind == PODS.name:
        return _pod(subject, ask)
    if subject.kind == ACTORS.name:
        return _actor(subject, ask)
    if subject.kind == OBJECTS.name:
        return _object(subject, ask)
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


def _actor(subject: Subject, ask: Ask) -> Found | None:
    tree = ask(ACTORS.path) or {}
    shown = [each for group in parts(tree, "groups") for each in parts(group, "notRunning")]
    for row in (*parts(tree, "actors"), *shown):
        if text(row, "name") == text(subject.row, "name"):
            return {"row": row}
    name = text(subject.row, "name")
    return _row(ACTORS.path, ACTORS.field, name, name, ask)


def _object(subject: Subject, ask: Ask) -> Found | None:
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
