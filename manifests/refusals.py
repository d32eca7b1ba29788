"""How the decoding of one document ends: with a refusal at some stage, or with warnings."""

from __future__ import annotations

from dataclasses import dataclass

from manifests.findings import REQUIRED, CountedFindings, FieldFinding, Findings, reason, shown
from manifests.reading.document import Document
from messages.sources import RejectReason

MAX_WARNINGS = 20
"""Warnings of one manifest that are told one by one. The others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A manifest that cannot be used."""

    code: RejectReason
    reason: str
    """One line with the path and line of the first few problems; no more than 1,000 characters."""
    pod: str = ""
    """``<namespace>/<name>`` of the pod, or the name of the object, that it describes; empty if unknown."""


class RefusalError(Exception):
    """Ends the decoding of a document: what was found so far makes it unusable."""

    def __init__(self, code: RejectReason, told: CountedFindings) -> None:
        super().__init__(code)
        self.code = code
        self.told = told


def stop_on_problems(findings: Findings, code: RejectReason = RejectReason.INVALID) -> None:
    """Raise ``RefusalError`` with ``code`` if there are problems by now."""
    if findings.problems.total:
        raise RefusalError(code, findings.problems)


def stop_on_unknown_fields(findings: Findings) -> None:
    """Raise ``RefusalError`` if there are unknown fields. For decoding that is strict about them."""
    if findings.unknown.total:
        raise RefusalError(RejectReason.UNKNOWN_FIELD, findings.unknown)


MAX_BESIDE = 3
"""Unknown fields that are named beside a missing one."""


def reason_of(refusal: RefusalError, findings: Findings, document: Document) -> str:
    """Return why the document is refused, in one line.

    A missing field names the unknown fields beside it: one of them may be the field, mistyped.
    """
    told = refusal.told
    first = [_with_unknown_beside(finding, findings.unknown, document) for finding in told.first]
    return reason(CountedFindings(first, told.total), document.line)


def _with_unknown_beside(
    finding: FieldFinding, unknown: CountedFindings, document: Document
) -> FieldFinding:
    if not finding.text.endswith(REQUIRED):
        return finding
    # If one of several fields is required, the finding is about the object that has none of them.
    place = finding.path[:-1] if finding.text == REQUIRED else finding.path
    beside = [each for each in unknown.first if each.path[:-1] == place]
    near = [each for each in beside if each.text.endswith(f" {finding.path[-1]}?")]
    named = [_on_line(each, document) for each in (near or beside)[:MAX_BESIDE]]
    text = f" (unknown beside it: {', '.join(named)})" if named else ""
    return FieldFinding(finding.path, f"{finding.text}{text}")


def _on_line(finding: FieldFinding, document: Document) -> str:
    line = document.line(finding.path)
    return shown(finding.path[-1:]) + (f" on line {line}" if line else "")


def sentences(findings: Findings, document: Document) -> tuple[str, ...]:
    """Return the first of the warnings as sentences, and how many more there are."""
    everything = [*document.warnings, *findings.unknown.first, *findings.warnings.first]
    total = len(document.warnings) + findings.unknown.total + findings.warnings.total
    told = [finding.sentence(document.line) for finding in everything[:MAX_WARNINGS]]
    more = total - len(told)
    return (*told, f"and {more} more warnings") if more else tuple(told)
