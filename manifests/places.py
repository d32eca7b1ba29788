"""Places in a manifest: an object in it, its path, and the findings to add to.

Rules are written in terms of places, so that none of them handles paths by hand. "Tell" means here: add to
the findings, as a problem unless it says "warn".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from manifests.findings import Findings, Path
from manifests.names import Rule
from manifests.texts import quoted

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
