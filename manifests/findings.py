"""What is wrong or doubtful in one manifest, each with the path of its field.

Problems make the manifest unusable, warnings do not. All of them are collected, so that one look at the
verdict is enough to mend the file. Only the first are kept, since a manifest may be wrong in a hundred
thousand places. Lines are looked up at the end, by path: see ``manifests.reading.document``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from manifests.texts import QUOTED_LEN, SENTENCE_LEN, cut, one_line, quoted

Path: TypeAlias = tuple[str | int, ...]
"""Steps from the top of the manifest: field names, map keys and list indices."""

KEPT = 50
"""Findings of one kind that are kept; the others are only counted. More than anybody reads."""

SHOWN_PROBLEMS = 3

_PLAIN_STEP = re.compile(r"[A-Za-z][-A-Za-z0-9_]*")

LineOf: TypeAlias = Callable[[Path], int]
"""Returns the line of the field at a path, counted from 1; 0 if it is unknown."""


@dataclass(frozen=True, slots=True)
class FieldFinding:
    """One thing to say about the field at ``path``."""

    path: Path
    text: str

    def sentence(self, line_of: LineOf) -> str:
        """Return the finding as ``path (line n): text``."""
        line = line_of(self.path)
        place = f" (line {line})" if line else ""
        return one_line(f"{shown(self.path)}{place}: {self.text}")


@dataclass(slots=True)
class CountedFindings:
    """Findings of one kind: the first of them, and how many there are."""

    first: list[FieldFinding] = field(default_factory=list)
    total: int = 0

    def add(self, finding: FieldFinding) -> None:
        """Count ``finding``, and keep it if it is one of the first."""
        self.total += 1
        if len(self.first) < KEPT:
            self.first.append(finding)


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything found in one manifest."""

    problems: CountedFindings = field(default_factory=CountedFindings)
    unknown: CountedFindings = field(default_factory=CountedFindings)
    """Fields that the object does not have."""
    warnings: CountedFindings = field(default_factory=CountedFindings)

    def problem(self, path: Path, text: str) -> None:
        """Add what makes the manifest unusable."""
        self.problems.add(FieldFinding(path, text))

    def unknown_field(self, path: Path, text: str) -> None:
        """Add a field that the object does not have."""
        self.unknown.add(FieldFinding(path, text))

    def warning(self, path: Path, text: str) -> None:
        """Add what the manifest's owner should know."""
        self.warnings.add(FieldFinding(path, text))


def reason(told: CountedFindings, line_of: LineOf) -> str:
    """Return one line with the first few findings, and how many more there are."""
    first = [finding.sentence(line_of) for finding in told.first[:SHOWN_PROBLEMS]]
    more = told.total - len(first)
    ending = f"; and {more} more" if more else ""
    return cut("; ".join(first), SENTENCE_LEN - len(ending)) + ending


def shown(path: Path) -> str:
    """Return ``path`` as Kubernetes writes it: ``spec.containers[0].image``, ``labels["a/b"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif len(step) <= QUOTED_LEN and _PLAIN_STEP.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quoted(step)}]"
    return text or "the document"
