"""Which lists there are, what a row of each shows, and what the agent is asked for it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from command.pod_words import pod_name, readiness, restarts, since, state
from command.reading import Document, count, number, part, text, texts
from command.wording import age, current_as_of, local_time, moment

TODAY: Final = 43_200.0
"""Seconds for which the time of day alone says when something was."""

Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListColumn:
    """One column of a list."""

    title: str
    order: str | None = None
    """By which the agent sorts for it: empty for the order of names, None if it cannot be sorted by."""
    falls: bool = False
    """The highest value comes first, unless a person chooses otherwise."""
    is_toned: bool = False
    is_right: bool = False
    is_flexible: bool = False
    """It is cut where the screen is too narrow. All others keep their width."""
    rank: int = 0
    """Columns of the highest rank are left out first where there is no room. 0 always stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListKind:
    """One of the lists."""

    name: str
    title: str
    noun: str
    path: str
    field: str
    """The name of the rows in the agent's answer."""
    columns: tuple[ListColumn, ...]
    cells: Callable[[Document, float], Cells]
    """Returns what a row shows, at a time in seconds since 1970."""
    events: frozenset[str]
    """The events after which it is asked for anew."""
    has_trouble: bool = True
    """The agent can be asked for those rows alone that somebody should look at."""
    every: float = 5.0
    """Seconds after which it is asked for anew without an event."""

    @property
    def orders(self) -> list[ListColumn]:
        """The columns by which it can be sorted."""
        return [each for each in self.columns if each.order is not None]


def _pod_cells(row: Document, now: float) -> Cells:
    return (
        pod_name(row),
        readiness(row),
        state(row),
        restarts(row, now),
        age(since(row), now),
        text(row, "source"),
    )


def _object_cells(row: Document, _now: float) -> Cells:
    return (
        f"{text(row, 'kind').lower()}/{text(row, 'namespace')}/{text(row, 'name')}",
        text(row, "state"),
        f"{count(row, 'references'):,}",
        current_as_of(number(row, "ageSeconds")),
        text(row, "lastError"),
    )


def _actor_cells(row: Document, _now: float) -> Cells:
    return (
        "  " * count(row, "depth") + text(row, "name"),
        text(row, "state"),
        f"{count(row, 'restarts'):,}",
        f"{count(row, 'mailbox'):,}",
        f"{count(row, 'handled'):,}" if "handled" in row else "",
        text(row, "lastError"),
    )


def _manifest_cells(row: Document, _now: float) -> Cells:
    why = "; ".join(filter(None, (text(row, "reason"), *texts(row, "warnings"))))
    return (
        text(row, "path"),
        text(row, "verdict"),
        text(row, "source"),
        text(row, "pod") or text(row, "object"),
        why,
    )


def _event_cells(row: Document, now: float) -> Cells:
    kind, last = text(row, "event"), moment(text(row, "last"))
    what = {
        "event": text(row, "reason"),
        "object": text(row, "change"),
        "decision": text(row, "action"),
    }
    # What was today needs no date.
    whole = local_time(text(row, "last"))
    is_today = last is not None and now - last < TODAY
    return (
        whole.partition(" ")[2] if is_today else whole,
        f"{count(row, 'count'):,}",
        about(row),
        what.get(kind, kind),
        text(row, "message") if kind == "event" else _because(row),
    )


def _because(row: Document) -> str:
    if text(row, "event") == "decision":
        return f"because of {text(row, 'kind')} {text(row, 'namespace')}/{text(row, 'name')}"
    return ", ".join(texts(row, "keys"))


def about(row: Document) -> str:
    """Return what something that happened was about: a pod by its name alone, others with their kind."""
    if text(row, "event") == "decision":
        return text(row, "pod")
    name = "/".join(filter(None, (text(row, "namespace"), text(row, "name"))))
    kind = text(row, "kind")
    return name if kind == "Pod" else f"{kind} {name}"


PODS: Final = ListKind(
    name="pods",
    title="Pods",
    noun="pod",
    path="/ui/pods",
    field="pods",
    columns=(
        ListColumn(title="POD", order="", is_flexible=True),
        ListColumn(title="READY"),
        ListColumn(title="STATUS", order="state", is_toned=True, is_flexible=True),
        ListColumn(title="RESTARTS", order="restarts", falls=True, rank=1),
        ListColumn(title="AGE", order="age"),
        ListColumn(title="FROM", order="source", rank=2),
    ),
    cells=_pod_cells,
    events=frozenset({"pod", "status", "state"}),
)
ACTORS: Final = ListKind(
    name="actors",
    title="Actors",
    noun="actor",
    path="/ui/actors",
    field="actors",
    columns=(
        ListColumn(title="ACTOR", order="", is_flexible=True),
        ListColumn(title="STATE", order="state", is_toned=True),
        ListColumn(title="RESTARTS", order="restarts", falls=True, is_right=True),
        ListColumn(title="MAILBOX", order="mailbox", falls=True, is_right=True),
        ListColumn(title="HANDLED", order="handled", falls=True, is_right=True, rank=1),
        ListColumn(title="LAST ERROR", is_flexible=True, rank=2),
    ),
    cells=_actor_cells,
    events=frozenset({"actor", "state"}),
    has_trouble=False,
    every=2.0,
)
OBJECTS: Final = ListKind(
    name="objects",
    title="Objects",
    noun="object",
    path="/ui/objects",
    field="objects",
    columns=(
        ListColumn(title="OBJECT", order="", is_flexible=True),
        ListColumn(title="STATE", order="state", is_toned=True),
        ListColumn(title="PODS", order="references", falls=True, is_right=True),
        ListColumn(title="CURRENT", order="age", falls=True, rank=1),
        ListColumn(title="LAST ERROR", is_flexible=True, rank=2),
    ),
    cells=_object_cells,
    events=frozenset({"object", "state"}),
)
SOURCES: Final = ListKind(
    name="sources",
    title="Sources",
    noun="manifest",
    path="/ui/manifests",
    field="manifests",
    columns=(
        ListColumn(title="MANIFEST", order="", is_flexible=True),
        ListColumn(title="VERDICT", order="verdict", is_toned=True),
        ListColumn(title="FROM", order="source", rank=3),
        ListColumn(title="OF", is_flexible=True, rank=2),
        ListColumn(title="WHY", is_flexible=True, rank=1),
    ),
    cells=_manifest_cells,
    events=frozenset({"verdict", "state"}),
)
EVENTS: Final = ListKind(
    name="events",
    title="Events",
    noun="event",
    path="/ui/events",
    field="events",
    columns=(
        ListColumn(title="LAST", order=""),
        ListColumn(title="TIMES", order="count", falls=True, is_right=True, rank=1),
        ListColumn(title="ABOUT", order="about", is_flexible=True),
        ListColumn(title="WHAT", order="reason", is_toned=True, rank=2),
        ListColumn(title="SAYS", is_flexible=True),
    ),
    cells=_event_cells,
    events=frozenset({"event", "object", "decision", "state"}),
)
LISTS: Final[Mapping[str, ListKind]] = {
    each.name: each for each in (PODS, ACTORS, OBJECTS, SOURCES, EVENTS)
}
"""All lists, in the order of their numbers."""


def is_group(row: Document) -> bool:
    """Return whether a row stands for actors of which each pod or probe has one."""
    return bool(part(row, "states"))
