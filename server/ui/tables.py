"""The tables of the page that are not about pods: manifests, watched objects, past events, actors, the agent.

Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, Final

from kernel import ActorDescription, DynamicSummary, TreeSummary
from manifests.times import rfc3339_milli
from messages.events import PastEvent, PastEventsDescribed
from messages.pods import JsonObject, SourceName
from messages.sources import ManifestVerdict, SourceDescribed
from messages.units import Timestamp
from server import documents
from server.health import HealthCheck
from server.health_pages import AgentHealth
from server.questions import Unanswered
from server.ui.paging import PageAsked, PagedTable, page_of
from server.verdicts import is_troubled, manifest

MANIFEST_ORDERS: Final = ("verdict", "source")
OBJECT_ORDERS: Final = ("state", "references", "age")
EVENT_ORDERS: Final = ("count", "about", "reason")
ACTOR_ORDERS: Final = ("state", "restarts", "mailbox", "handled")
"""By what rows can be sorted beside their keys. The keys of events grow with their age."""
_AFTER_ALL: Final = 10**15
"""More than ever happens."""


def manifests_page(
    sources: Iterable[SourceDescribed | Unanswered], asked: PageAsked, *, only_troubled: bool
) -> dict[str, Any]:
    """Return the verdicts on manifests. ``only_troubled`` are those that somebody should look at."""
    rows = [
        (source.name, verdict)
        for source in sources
        if isinstance(source, SourceDescribed)
        for verdict in source.manifests
        if not only_troubled or is_troubled(verdict)
    ]
    return page_of(
        rows,
        asked,
        PagedTable(
            name="manifests",
            key=_manifest_key,
            text=lambda row: (
                f"{row[0]} {row[1].path} {row[1].verdict} {row[1].pod} {row[1].reason}"
            ),
            shown=_manifest,
            orders={"verdict": lambda row: row[1].verdict, "source": lambda row: row[0]},
        ),
    )


def _manifest_key(row: tuple[SourceName, ManifestVerdict]) -> str:
    source, verdict = row
    return f"{source} {verdict.path} {verdict.pod}"


def _manifest(row: tuple[SourceName, ManifestVerdict]) -> JsonObject:
    source, verdict = row
    return {"source": source, **manifest(verdict, source), "about": verdict.pod}


def objects_page(
    rows: Iterable[JsonObject], asked: PageAsked, *, only_troubled: bool
) -> dict[str, Any]:
    """Return rows of ``/watchz``. ``only_troubled`` are those that are absent, or cannot be read."""
    return page_of(
        [row for row in rows if not only_troubled or is_missing(row)],
        asked,
        PagedTable(
            name="objects",
            key=_object_key,
            text=lambda row: f"{_object_key(row)} {row['state']} {row['lastError']}",
            shown=lambda row: row,
            orders={
                "state": lambda row: row["state"],
                "references": lambda row: row["references"],
                "age": _staleness,
            },
        ),
    )


def is_missing(row: JsonObject) -> bool:
    """Return whether pods may wait for an object, or have an old one."""
    return bool(row["lastError"]) or row["state"] == "absent"


def _staleness(row: JsonObject) -> float:
    """Return how old the knowledge is in seconds. What was never known is older than anything."""
    age = row["ageSeconds"]
    return inf if age is None else age


def _object_key(row: JsonObject) -> str:
    return f"{row['kind']} {row['namespace']}/{row['name']} {row['origin']}"


def events_page(
    described: PastEventsDescribed, asked: PageAsked, *, only_troubled: bool
) -> dict[str, Any]:
    """Return what happened, the newest first. ``only_troubled`` are warnings."""
    events = described.events
    page = page_of(
        [each for each in events if not only_troubled or each.data.get("type") == "Warning"],
        asked,
        PagedTable(
            name="events",
            key=lambda each: f"{_AFTER_ALL - each.number:015}",
            text=lambda each: f"{each.kind} {' '.join(map(str, each.data.values()))}",
            shown=_past_event,
            orders={
                "count": lambda each: each.times,
                "about": lambda each: _about(each.data),
                "reason": lambda each: str(each.data.get("reason", "")),
            },
        ),
    )
    since = rfc3339_milli(described.since)
    return {**page, "since": since, "forgotten": described.forgotten}


def _past_event(past: PastEvent) -> JsonObject:
    return {
        "event": past.kind,
        "first": rfc3339_milli(past.first),
        "last": rfc3339_milli(past.last),
        **past.data,
        "count": past.times,
    }


def _about(data: JsonObject) -> str:
    return f"{data.get('kind', '')} {data.get('namespace', '')}/{data.get('name', '')}"


def tree_document(tree: TreeSummary) -> dict[str, Any]:
    """Return the fixed part of the tree, and the numbers of the others. Parents come before children."""
    return {
        **documents.actors(tree.loops),
        "groups": [_group(group) for group in tree.dynamic],
    }


def _group(group: DynamicSummary) -> JsonObject:
    return {
        "name": group.name,
        "parent": group.supervisor,
        "states": dict(group.states),
        "mailbox": group.mailbox,
        "isFailing": group.is_failing,
        "notRunning": documents.actors(group.not_running)["actors"],
    }


def actors_page(tree: Iterable[ActorDescription], asked: PageAsked) -> dict[str, Any]:
    """Return the actors that are searched for, of all that there are."""
    return page_of(
        tree,
        asked,
        PagedTable(
            name="actors",
            key=lambda actor: actor.name,
            text=lambda actor: f"{actor.name} {actor.type} {actor.state} {actor.last_error}",
            shown=lambda actor: documents.actors([actor])["actors"][0],
            orders={
                "state": lambda actor: actor.state,
                "restarts": lambda actor: actor.restarts,
                "mailbox": lambda actor: actor.mailbox,
                "handled": lambda actor: actor.handled,
            },
        ),
    )


def sources_shown(
    sources: Iterable[SourceDescribed | Unanswered], now: Timestamp
) -> list[JsonObject]:
    """Return each source in short."""
    return [_source(source, now) for source in sources]


def _source(source: SourceDescribed | Unanswered, now: Timestamp) -> JsonObject:
    if isinstance(source, Unanswered):
        return {
            "name": source.name,
            "ready": False,
            "error": source.reason,
            "seenSecondsAgo": None,
            "verdicts": {},
            "troubled": 0,
        }
    seen = source.last_listed
    return {
        "name": source.name,
        "ready": source.ready,
        "error": source.error,
        "seenSecondsAgo": None if seen is None else round(max(0.0, now - seen), 3),
        "verdicts": dict(Counter(verdict.verdict.value for verdict in source.manifests)),
        "troubled": sum(is_troubled(verdict) for verdict in source.manifests),
    }


def report_shown(report: AgentHealth) -> JsonObject:
    """Return a verdict on the agent, with all its checks."""
    return {"ok": report.ok, "checks": list(checks_shown(report.checks))}


def checks_shown(checks: Iterable[HealthCheck]) -> Iterator[JsonObject]:
    """Yield each check as the page has it: outdated ones are not well, as in ``/readyz?verbose``."""
    for check in checks:
        yield {"name": check.name, "ok": check.ok and not check.is_outdated, "text": check.text}
