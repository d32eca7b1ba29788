"""The files of one volume, as values. Their ``repr`` shows no content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from typing_extensions import override


@dataclass(frozen=True, slots=True)
class VolumeFile:
    """One file."""

    data: bytes = field(repr=False)
    mode: int
    """Its permissions, at most 0777."""
    user: int | None = None
    """Whose it is; None for whoever writes: root, usually."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Payload:
    """All files of a volume. Equal ones need not be written again."""

    files: Mapping[str, VolumeFile] = field(default_factory=dict)
    """By path: relative, clean, and checked by ``content.paths``."""
    group: int | None = None
    """The pod's ``fsGroup``, which all files and directories belong to; None for root's."""

    @override
    def __repr__(self) -> str:
        return f"Payload(paths={sorted(self.files)!r}, group={self.group!r})"
