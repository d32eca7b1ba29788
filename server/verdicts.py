"""Verdicts on manifests: how one is told, and which somebody wants to know. Pure.

Apart from the documents of endpoints, as ``validate`` judges without what those import.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from messages.pods import LOCAL_FILES, SourceName
from messages.sources import ManifestVerdict, Verdict

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
