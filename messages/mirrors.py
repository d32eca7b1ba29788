"""What MirrorKeeper is asked and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from messages.pods import FullName
from messages.port import Port


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeMirrors:
    """Asks how the mirrors are. Answered by one ``MirrorsDescribed``."""

    reply_to: Port[MirrorsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorsDescribed:
    """How the mirrors are."""

    wanted: int
    """Static pods that should have one."""
    present: int
    """Of these, those that have the right one."""
    troubles: Mapping[FullName, str]
    """Why there is none, for those that were refused."""
    create_errors: Mapping[str, int]
    """Refusals since the process began, by reason."""
