"""The JSON documents of the endpoints. Their field names are a promise to users. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from kernel import ActorDescription
from manifests.times import rfc3339_milli
from messages.releases import ReleaseState
from messages.sources import ManifestVerdict, SourceDescribed
from server.questions import Unanswered
from server.verdicts import manifest

Choice = Callable[[ManifestVerdict], bool]
"""Whether somebody wants to know about a manifest."""


def sources(
    described: Iterable[SourceDescribed | Unanswered], choice: Choice = bool
) -> dict[str, Any]:
    """Return what ``/sourcez`` answers: each source, and a verdict for each manifest that is chosen."""
    return {"sources": [_source(source, choice) for source in described]}


def _source(source: SourceDescribed | Unanswered, choice: Choice) -> dict[str, Any]:
    if isinstance(source, Unanswered):
        return {
            "name": source.name,
            "ready": False,
            "epoch": None,
            "lastListed": None,
            "error": source.reason,
            "verdicts": {},
            "manifests": [],
        }
    return {
        "name": source.name,
        "ready": source.ready,
        "epoch": list(source.epoch),
        "lastListed": None if source.last_listed is None else rfc3339_milli(source.last_listed),
        "error": source.error,
        "verdicts": Counter(verdict.verdict.value for verdict in source.manifests),
        "manifests": [
            manifest(verdict, source.name) for verdict in source.manifests if choice(verdict)
        ],
    }


def release(state: ReleaseState) -> dict[str, Any]:
    """Return which release runs, and which one a restart would run, as ``/ui/agent`` tells it."""
    running, installed = state.running, state.installed
    gone = ", which is not installed any more" if installed is None else ""
    due = f"{installed} is installed: a restart is due" if state.is_restart_due else ""
    return {
        "running": running.version,
        "code": running.code,
        "installed": None if installed is None else installed.version,
        "installedCode": None if installed is None else installed.code,
        "restartDue": state.is_restart_due,
        "text": f"{running}{gone}",
        "advice": due,
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
