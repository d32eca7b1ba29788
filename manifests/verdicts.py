"""What people see of the manifests of one source: its own verdicts, and those of other actors on the pods.

A ``VerdictReport`` belongs into the memory of a source, which outlives crashes. Other actors do not repeat
their verdicts, and nothing must be counted or logged twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from messages.changes import same_objects
from messages.pods import SourceName
from messages.port import Port
from messages.sources import (
    Epoch,
    ManifestVerdict,
    MirrorsJudged,
    PodsJudged,
    RejectReason,
    SourceDescribed,
    Verdict,
    VerdictsMayDiffer,
)
from messages.units import Timestamp


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


MOST_TOLD: Final = 20
"""Manifests of one look that have a line of the log each, though there is nothing to tell of them."""


@dataclass(slots=True)
class VerdictReport:
    """The verdicts on the manifests of ``source`` as they are shown, logged and counted."""

    source: SourceName
    subject: str = "pod"
    """How the log calls the object that a manifest describes."""
    rejected: Counter[RejectReason] = field(default_factory=Counter)
    """How many manifests were refused since the process began, by reason."""
    _judged: PodsJudged | None = None
    """PodManager's newest verdicts."""
    _mirrors: MirrorsJudged | None = None
    """MirrorKeeper's newest verdicts."""
    _logged: tuple[ManifestVerdict, ...] = ()
    """The verdicts that are in the log already."""
    people: Port[VerdictsMayDiffer] | None = None
    """Who is told when they change."""

    def hear(self, word: PodsJudged | MirrorsJudged) -> None:
        """Remember another actor's verdicts on the pods, in place of its earlier ones."""
        if isinstance(word, PodsJudged):
            self._judged = word
        else:
            self._mirrors = word

    def shown(self, own: Iterable[ManifestVerdict]) -> tuple[ManifestVerdict, ...]:
        """Return the source's ``own`` verdicts, changed by those of other actors on the same pods."""
        verdicts = tuple(own)
        if self._judged is not None:
            verdicts = with_pods_judged(verdicts, self._judged)
        if self._mirrors is not None:
            verdicts = with_mirrors_judged(verdicts, self._mirrors)
        return verdicts

    def described(
        self,
        own: Iterable[ManifestVerdict],
        *,
        ready: bool,
        epoch: Epoch,
        last_listed: Timestamp | None,
        error: str,
    ) -> SourceDescribed:
        """Return the state of the source with its ``own`` verdicts; the rest is as in the answer."""
        return SourceDescribed(
            name=self.source,
            ready=ready,
            epoch=epoch,
            last_listed=last_listed,
            rejected=dict(self.rejected),
            error=error,
            manifests=self.shown(own),
        )

    def log(self, own: Iterable[ManifestVerdict], trouble: str) -> None:
        """Log what is new at once: see ``logging``."""
        for _ in self.logging(own, trouble):
            pass

    def _tell_people(self) -> None:
        if self.people is not None:
            self.people.tell(VerdictsMayDiffer(source=self.source))

    def logging(self, own: Iterable[ManifestVerdict], trouble: str) -> Generator[None, None, None]:
        """Log each verdict that is not in the log yet, and each manifest that is gone; count new refusals.

        Each step logs one. Of those with nothing to tell the first 20 have a line each, and the others are
        counted in one: a line takes 50 us, and there may be 20,000. ``trouble`` is the log's text for a
        manifest that was refused.
        """
        verdicts, logged = self.shown(own), self._logged
        if same_objects(verdicts, logged):
            return
        self._tell_people()
        # A refusal with another warning is logged again, but not counted again.
        fresh = changes(logged, verdicts)
        for verdict in changes(_bare(logged, fresh), _bare(fresh, fresh)):
            if verdict.code is not None:
                self.rejected[verdict.code] += 1
        there = {verdict.path for verdict in verdicts}
        gone = [verdict for verdict in logged if verdict.path not in there]
        self._logged = verdicts
        log = structlog.get_logger(f"source/{self.source}")
        usual = 0
        for verdict in fresh:
            yield
            usual += _is_usual(verdict)
            _log_verdict(log, verdict, trouble, self.subject, is_one_of_many=usual > MOST_TOLD)
        if usual > MOST_TOLD:
            log.info("manifests", verdict=Verdict.ACCEPTED.value, more=usual - MOST_TOLD)
        for number, verdict in enumerate(gone):
            yield
            _log_end(log, verdict, self.subject, is_one_of_many=number >= MOST_TOLD)
        if len(gone) > MOST_TOLD:
            log.info("manifests are gone", more=len(gone) - MOST_TOLD)


def _is_usual(verdict: ManifestVerdict) -> bool:
    """Return whether there is nothing to say of a manifest but that it is there."""
    return verdict.verdict is Verdict.ACCEPTED and not verdict.warnings


def changes(
    before: Iterable[ManifestVerdict], after: Iterable[ManifestVerdict]
) -> tuple[ManifestVerdict, ...]:
    """Return the verdicts of ``after`` that are not in ``before``: those that are worth a line in the log."""
    former = {id(verdict): verdict for verdict in before}
    # Nearly all are the identical objects, which takes no look at what they say.
    others = [verdict for verdict in after if former.pop(id(verdict), None) is None]
    known = set(former.values()) if others else set()
    return tuple(verdict for verdict in others if verdict not in known)


def _bare(
    verdicts: Iterable[ManifestVerdict], of: Iterable[ManifestVerdict]
) -> tuple[ManifestVerdict, ...]:
    """Return ``verdicts`` on the manifests that the verdicts ``of`` are on, without their warnings."""
    paths = {verdict.path for verdict in of if verdict.code is not None}
    return tuple(replace(verdict, warnings=()) for verdict in verdicts if verdict.path in paths)


def _log_verdict(
    log: structlog.typing.FilteringBoundLogger,
    verdict: ManifestVerdict,
    trouble: str,
    subject: str,
    *,
    is_one_of_many: bool,
) -> None:
    unusable = verdict.verdict in {Verdict.REJECTED, Verdict.KEPT, Verdict.SHADOWED}
    write = log.warning if unusable or verdict.warnings else log.info
    if verdict.verdict is Verdict.IGNORED or (is_one_of_many and _is_usual(verdict)):
        write = log.debug  # an editor makes and removes such files at every save
    write(
        trouble if verdict.code else "manifest",
        path=verdict.path,
        verdict=verdict.verdict.value,
        reason=verdict.reason,
        warnings=list(verdict.warnings),
        **{subject: verdict.pod},
    )


def _log_end(
    log: structlog.typing.FilteringBoundLogger,
    verdict: ManifestVerdict,
    subject: str,
    *,
    is_one_of_many: bool,
) -> None:
    """Log that a manifest is gone. If its pod was served, PodManager logs what became of that."""
    write = log.debug if verdict.verdict is Verdict.IGNORED or is_one_of_many else log.info
    write(
        "manifest is gone", path=verdict.path, was=verdict.verdict.value, **{subject: verdict.pod}
    )
