"""One document of a manifest: its plain value, where each field of it stands, and how large it is.

A value is what JSON has: ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool``, ``None``. Lines
are kept beside it, by the identity of the container, so that they cost nothing where nobody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from manifests.findings import FieldFinding, Path
from messages.sources import RejectReason

MAX_BYTES = 10 * 1024 * 1024
"""As a kubelet: exactly this many is already too large."""

MAX_DEPTH = 100
"""Nesting that a manifest may have. A Pod has 12 or so; fields are walked recursively, so this also
protects the stack."""

MAX_WEIGHT = 100_000
"""Values and keys that a manifest may have, aliases written out: some hundred times those of a large
pod, and judged within seconds. Text counts by its length, so that aliases of a long one count too."""

CHARACTERS_PER_WEIGHT = 128

ONLY_THE_FIRST = "only the first document counts"
"""How the warning begins that another document follows, or what may be one."""

Lines: TypeAlias = dict[int, dict[str | int, int]]
"""For the ``id`` of each container: the line of each of its keys or items."""


class DocumentError(Exception):
    """The bytes are no document that could be a pod: ``code`` and a sentence that says why."""

    def __init__(self, code: RejectReason, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Located:
    """Where the values of a document stand."""

    root: Any
    lines: Lines
    first_line: int

    def line(self, path: Path) -> int:
        """Return the line of the field at ``path``, or of the nearest one above it that exists."""
        value, line = self.root, self.first_line
        for step in path:
            known = self.lines.get(id(value), {})
            if step not in known:
                break
            value, line = value[step], known[step]
        return line


@dataclass(slots=True)
class Document:
    """A document that was read: not yet known to be a pod."""

    value: Any
    locate: Callable[[], Located | None]
    """Tells where things stand; ``None`` when that cannot be told."""
    warnings: list[FieldFinding] = field(default_factory=list)
    _located: list[Located | None] = field(default_factory=list)
    """The answer of ``locate``, once it was asked for."""

    @property
    def has_followers(self) -> bool:
        """Whether another document follows, or what may be one."""
        return any(
            not warning.path and warning.text.startswith(ONLY_THE_FIRST)
            for warning in self.warnings
        )

    def line(self, path: Path) -> int:
        """Return the line of the field at ``path``, counted from 1; 0 when it cannot be told."""
        if not self._located:
            self._located.append(self.locate())
        [located] = self._located
        return located.line(path) if located else 0


def text_weight(text: str) -> int:
    """Return what a scalar of this text weighs."""
    return 1 + len(text) // CHARACTERS_PER_WEIGHT


def too_deep() -> DocumentError:
    """Return the error for a document that is nested too deeply."""
    return DocumentError(RejectReason.TOO_LARGE, f"nested more than {MAX_DEPTH} levels deep")


def too_heavy() -> DocumentError:
    """Return the error for a document with too many values."""
    return DocumentError(
        RejectReason.TOO_LARGE,
        f"more than {MAX_WEIGHT:,} values once its aliases are written out",
    )
