"""What is wrong or doubtful in one manifest, with the path of its field, and the places where it is found.

Problems make the manifest unusable, warnings do not. All of them are collected, so that one look at the
verdict is enough to mend the file. Only the first are kept, since a manifest may be wrong in a hundred
thousand places. Lines are looked up at the end, by path: see ``manifests.reading.document``.

A place is an object in a manifest, its path, and the findings to add to. Rules are written in terms of
places, so that none of them handles paths by hand. "Tell" means here: add to the findings, as a problem
unless it says "warn".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from manifests.names import Rule
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


REQUIRED = "is required"
MAX_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Place:
    """The object ``value`` at ``path``. Its fields have the right types already."""

    value: dict[str, Any]
    path: Path
    findings: Findings

    def wrong(self, text: str, *steps: str | int) -> None:
        """Tell ``text`` as a problem of the field at ``steps`` below this place."""
        self.findings.problem((*self.path, *steps), text)

    def warn(self, text: str, *steps: str | int) -> None:
        """Tell ``text`` as a warning about the field at ``steps`` below this place."""
        self.findings.warning((*self.path, *steps), text)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the field ``name``, or ``default`` when it is absent."""
        return self.value.get(name, default)

    def has(self, name: str) -> bool:
        """Return whether the field ``name`` is there, even if it is empty or zero."""
        return name in self.value

    def child(self, name: str) -> Place | None:
        """Return the object in the field ``name``, if there is one."""
        value = self.value.get(name)
        return None if value is None else Place(value, (*self.path, name), self.findings)

    def each(self, name: str) -> Iterator[Place]:
        """Yield the objects of the list in the field ``name``."""
        for index, value in enumerate(self.value.get(name, ())):
            yield Place(value, (*self.path, name, index), self.findings)

    def required(self, *names: str) -> bool:
        """Tell which of the fields are absent or empty; return whether none is."""
        missing = [name for name in names if self.value.get(name) in (None, "", [], {})]
        for name in missing:
            self.wrong(REQUIRED, name)
        return not missing

    def obeys(self, name: str, rule: Rule) -> None:
        """Tell what is wrong by ``rule`` with the text in the field ``name``. An empty text is right."""
        text = self.value.get(name)
        if text and (complaint := rule(text)):
            self.wrong(complaint, name)

    def named(self, name: str, rule: Rule) -> None:
        """As ``obeys``, but the field must not be empty."""
        if self.required(name):
            self.obeys(name, rule)

    def each_obeys(self, name: str, rule: Rule) -> None:
        """Tell what is wrong by ``rule`` with each text of the list in the field ``name``."""
        for index, text in enumerate(self.value.get(name, ())):
            if complaint := rule(text):
                self.wrong(complaint, name, index)

    def one_of(self, name: str, allowed: Collection[str]) -> None:
        """Tell if the field ``name`` is there and has none of the ``allowed`` values."""
        text = self.value.get(name)
        if text is not None and text not in allowed:
            self.wrong(f"must be one of {', '.join(allowed)}, not {quoted(text)}", name)

    def within(self, name: str, low: int, high: int | None = None) -> None:
        """Tell if the number in the field ``name`` is below ``low`` or above ``high``."""
        number = self.value.get(name)
        if number is None:
            return
        if high is None and number < low:
            self.wrong(f"must be {low} or more, not {number}", name)
        elif high is not None and not low <= number <= high:
            self.wrong(f"must be between {low} and {high}, not {number}", name)

    def only_one(self, names: Collection[str]) -> str | None:
        """Tell if not exactly one of the fields is there; return the first that is, None if none is."""
        present = [name for name in names if name in self.value]
        if not present:
            self.wrong(f"one of {', '.join(names)} is required")
            return None
        for name in present[1:]:
            self.wrong(f"cannot stand beside {present[0]}", name)
        return present[0]


def told_twice(places: Collection[Place], name: str, text: str) -> None:
    """Tell ``text`` for each of ``places`` whose field ``name`` repeats that of an earlier one."""
    seen: set[Any] = set()
    for place in places:
        value = place.get(name)
        if value in seen:
            place.wrong(text, name)
        elif value:
            seen.add(value)
