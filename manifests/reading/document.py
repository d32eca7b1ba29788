"""One document: its plain value, the line of each field, and limits of its size.

A value has the types of JSON: ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool``, ``None``. Lines
are kept apart, by the identity of the container, so that they cost nothing if nobody asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from manifests.findings import FieldFinding, Path
from messages.sources import RejectReason

MAX_BYTES = 10 * 1024 * 1024
"""Exactly this many are too many, as in a kubelet."""

MAX_DEPTH = 100
"""Levels of nesting. A Pod has 12 or so. Fields are walked recursively, so this also protects the stack."""

MAX_WEIGHT = 100_000
"""Values and keys of a document with its aliases written out: some hundred times those of a large pod, and
decoded within seconds. Text counts by its length, so that aliases of a long text count too."""

CHARACTERS_PER_WEIGHT = 128

ONLY_THE_FIRST = "only the first document counts"
"""How the warning begins that another document, or what may be one, follows."""

Lines: TypeAlias = dict[int, dict[str | int, int]]
"""For the ``id`` of each container: the line of each of its keys or items."""


class DocumentError(Exception):
    """The bytes hold no document that can be used: ``code`` and a sentence say why."""

    def __init__(self, code: RejectReason, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Located:
    """The lines of the values of a document."""

    root: Any
    lines: Lines
    first_line: int

    def line(self, path: Path) -> int:
        """Return the line of the field at ``path``, or of the nearest existing field above it."""
        value, line = self.root, self.first_line
        for step in path:
            known = self.lines.get(id(value), {})
            if step not in known:
                break
            value, line = value[step], known[step]
        return line


@dataclass(slots=True)
class Document:
    """A document that was read. Its kind is not known yet."""

    value: Any
    locate: Callable[[], Located | None]
    """Returns the lines; ``None`` if they are unknown."""
    warnings: list[FieldFinding] = field(default_factory=list)
    _located: list[Located | None] = field(default_factory=list)
    """The answer of ``locate``, after the first call."""

    @property
    def has_followers(self) -> bool:
        """Whether another document, or what may be one, follows."""
        return any(
            not warning.path and warning.text.startswith(ONLY_THE_FIRST)
            for warning in self.warnings
        )

    def line(self, path: Path) -> int:
        """Return the line of the field at ``path``, counted from 1; 0 if it is unknown."""
        if not self._located:
            self._located.append(self.locate())
        [located] = self._located
        return located.line(path) if located else 0


def refuse_heavy(value: Any) -> None:
    """Raise when there are more values than a manifest may have, with aliases written out."""
    weight = 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        weight += text_weight(one) if isinstance(one, str) else 1
        if isinstance(one, dict):
            waiting += one.values()
            weight += sum(map(text_weight, one))
        elif isinstance(one, list):
            waiting += one
        if weight + len(waiting) > MAX_WEIGHT:
            raise too_heavy()


def text_weight(text: str) -> int:
    """Return how much a scalar of this text counts towards ``MAX_WEIGHT``."""
    return 1 + len(text) // CHARACTERS_PER_WEIGHT


def too_deep() -> DocumentError:
    """Return the error for a document that is nested too deeply."""
    return DocumentError(RejectReason.TOO_LARGE, f"nested more than {MAX_DEPTH} levels deep")


def too_heavy(limit: int = MAX_WEIGHT, *, with_aliases: bool = False) -> DocumentError:
    """Return the error for a document with too many values."""
    how = " once its aliases are written out" if with_aliases else ""
    return DocumentError(RejectReason.TOO_LARGE, f"more than {limit:,} values{how}")
