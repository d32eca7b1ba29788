"""The JSON documents of the endpoints. Their field names are a promise to users. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kernel import ActorDescription
from manifests.times import rfc3339_milli
from messages.pods import LOCAL_FILES, SourceName
from messages.sources import ManifestVerdict, SourceDescribed
from server.answers import Unanswered


def sources(described: Iterable[SourceDescribed | Unanswered]) -> dict[str, Any]:
    """Return what ``/sourcez`` answers: each source, and a verdict for each manifest."""
    return {"sources": [_source(source) for source in described]}


def _source(source: SourceDescribed | Unanswered) -> dict[str, Any]:
    if isinstance(source, Unanswered):
        return {
            "name": source.name,
            "ready": False,
            "epoch": None,
            "lastListed": None,
            "error": source.reason,
            "manifests": [],
        }
    return {
        "name": source.name,
        "ready": source.ready,
        "epoch": list(source.epoch),
        "lastListed": None if source.last_listed is None else rfc3339_milli(source.last_listed),
        "error": source.error,
        "manifests": [manifest(verdict, source.name) for verdict in source.manifests],
    }


def manifest(verdict: ManifestVerdict, source: SourceName) -> dict[str, Any]:
    """Return the verdict on one manifest of ``source``, as ``/sourcez`` and ``--validate`` show it."""
    return {
        "path": verdict.path,
        "verdict": verdict.verdict.value,
        "reason": verdict.reason,
        "warnings": list(verdict.warnings),
        "object" if source == LOCAL_FILES else "pod": verdict.pod,
        "uid": verdict.uid,
    }


def actors(tree: Iterable[ActorDescription]) -> dict[str, Any]:
    """Return what ``/actorz`` answers: the tree, parents before their children."""
    return {
        "actors": [
            {
                "name": actor.name,
                "parent": actor.parent,
                "type": actor.type,
                "state": actor.state,
                "restarts": actor.restarts,
                "mailbox": actor.mailbox,
                "handled": actor.handled,
                "lastError": actor.last_error,
                "onExhausted": actor.on_exhausted,
            }
            for actor in tree
        ]
    }
