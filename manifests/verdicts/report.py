"""What people see of the manifests of one source: its own verdicts, and those of other actors on the pods.

Belongs into the memory of a source, which outlives crashes. Other actors do not repeat their verdicts, and
nothing must be counted or logged twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import structlog

from manifests.verdicts.judgements import with_mirrors_judged, with_pods_judged
from messages.pods import SourceName
from messages.sources import (
    Epoch,
    ManifestVerdict,
    MirrorsJudged,
    PodsJudged,
    RejectReason,
    SourceDescribed,
    Verdict,
)
from messages.units import Timestamp


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
        """Log each verdict that is not in the log yet, and each manifest that is gone; count new refusals.

        ``trouble`` is the log's text for a manifest that was refused.
        """
        verdicts = self.shown(own)
        if verdicts == self._logged:
            return
        # A refusal with another warning is logged again, but not counted again.
        for verdict in changes(_bare(self._logged), _bare(verdicts)):
            if verdict.code is not None:
                self.rejected[verdict.code] += 1
        log = structlog.get_logger(f"source/{self.source}")
        for verdict in changes(self._logged, verdicts):
            _log_verdict(log, verdict, trouble, self.subject)
        there = {verdict.path for verdict in verdicts}
        for verdict in self._logged:
            if verdict.path not in there:
                _log_end(log, verdict, self.subject)
        self._logged = verdicts


def changes(
    before: Iterable[ManifestVerdict], after: Iterable[ManifestVerdict]
) -> tuple[ManifestVerdict, ...]:
    """Return the verdicts of ``after`` that are not in ``before``: those that are worth a line in the log."""
    known = set(before)
    return tuple(verdict for verdict in after if verdict not in known)


def _bare(verdicts: Iterable[ManifestVerdict]) -> tuple[ManifestVerdict, ...]:
    return tuple(replace(verdict, warnings=()) for verdict in verdicts)


def _log_verdict(
    log: structlog.typing.FilteringBoundLogger,
    verdict: ManifestVerdict,
    trouble: str,
    subject: str,
) -> None:
    unusable = verdict.verdict in {Verdict.REJECTED, Verdict.KEPT, Verdict.SHADOWED}
    write = log.warning if unusable or verdict.warnings else log.info
    if verdict.verdict is Verdict.IGNORED:
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
    log: structlog.typing.FilteringBoundLogger, verdict: ManifestVerdict, subject: str
) -> None:
    """Log that a manifest is gone. If its pod was served, PodManager logs what became of that."""
    write = log.debug if verdict.verdict is Verdict.IGNORED else log.info
    write(
        "manifest is gone", path=verdict.path, was=verdict.verdict.value, **{subject: verdict.pod}
    )
