"""The question to MirrorKeeper, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from messages.pods import FullName
from messages.port import Port


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeMirrors:
    """Asks for the state of the mirrors. Answered by one ``MirrorsDescribed``."""

    reply_to: Port[MirrorsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorsDescribed:
    """The state of the mirrors."""

    wanted: int
    """How many static pods should have a mirror."""
    present: int
    """How many of these have the right one."""
    troubles: Mapping[FullName, str]
    """Why there is no right mirror, by name of the pod, for those that were refused or wait."""
    create_errors: Mapping[str, int]
    """Refusals since the process began, by reason."""
