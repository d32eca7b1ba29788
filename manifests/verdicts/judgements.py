"""Verdicts of a source, changed by what PodManager and MirrorKeeper tell of the same pods. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from messages.sources import (
    ManifestVerdict,
    MirrorsJudged,
    PodsJudged,
    RejectReason,
    Verdict,
)


def with_pods_judged(
    verdicts: Iterable[ManifestVerdict], judged: PodsJudged
) -> tuple[ManifestVerdict, ...]:
    """Return ``verdicts``, in which pods that PodManager does not serve are shadowed or rejected."""
    if not judged.rejected and not judged.shadowed:
        return tuple(verdicts)
    return tuple(_judged(verdict, judged) for verdict in verdicts)


def with_mirrors_judged(
    verdicts: Iterable[ManifestVerdict], mirrors: MirrorsJudged
) -> tuple[ManifestVerdict, ...]:
    """Return ``verdicts`` with a warning for each served pod whose mirror is refused: the pod runs."""
    if not mirrors.refused:
        return tuple(verdicts)
    return tuple(_with_mirror(verdict, mirrors) for verdict in verdicts)


def _with_mirror(verdict: ManifestVerdict, mirrors: MirrorsJudged) -> ManifestVerdict:
    if verdict.uid is None or verdict.verdict not in {Verdict.ACCEPTED, Verdict.KEPT}:
        return verdict
    refused = mirrors.refused.get(verdict.uid)
    if refused is None:
        return verdict
    warning = f"the cluster does not show this version: {refused}"
    return replace(verdict, warnings=(*verdict.warnings, warning))


def _judged(verdict: ManifestVerdict, judged: PodsJudged) -> ManifestVerdict:
    if verdict.uid is None or verdict.verdict not in {Verdict.ACCEPTED, Verdict.KEPT}:
        return verdict
    rejected = judged.rejected.get(verdict.uid)
    if rejected is not None:
        return replace(verdict, verdict=Verdict.REJECTED, reason=rejected, code=RejectReason.POISON)
    shadowed = judged.shadowed.get(verdict.uid)
    if shadowed is None:
        return verdict
    if verdict.verdict is Verdict.KEPT:
        # It is broken and shadowed, too. Nothing of it is served, and the file has to be mended.
        reason = f"{verdict.reason}; its last good pod is not served: {shadowed}"
        return replace(verdict, verdict=Verdict.REJECTED, reason=reason)
    return replace(verdict, verdict=Verdict.SHADOWED, reason=shadowed)
