"""The JSON documents of the endpoints, and of verdicts on manifests. Pure.

Their field names are a promise to users.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from kernel import ActorDescription
from manifests.times import rfc3339_milli
from messages.pods import LOCAL_FILES, SourceName
from messages.releases import ReleaseState
from messages.sources import ManifestVerdict, SourceDescribed, Verdict
from server.answers import Unanswered

_BY_CHOICE: Final = frozenset({Verdict.ACCEPTED, Verdict.IGNORED})
"""Verdicts that need no action."""


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


def is_troubled(verdict: ManifestVerdict) -> bool:
    """Return whether a manifest is not served as it is, or with warnings."""
    return verdict.verdict not in _BY_CHOICE or bool(verdict.warnings)


def choice_of(names: Collection[str], *, only_troubled: bool) -> Callable[[ManifestVerdict], bool]:
    """Return whether somebody wants to know about a manifest.

    That is one whose path, pod or UID has any of ``names`` in it; without names, each.
    """

    def is_wanted(verdict: ManifestVerdict) -> bool:
        if only_troubled and not is_troubled(verdict):
            return False
        told = (verdict.path, verdict.pod, verdict.uid or "")
        return not names or any(name in each for name in names for each in told)

    return is_wanted


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
