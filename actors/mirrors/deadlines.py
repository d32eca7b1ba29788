"""The private messages of MirrorKeeper's timers. A late one finds nothing to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from messages.pods import FullName, PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorRetryDue:
    """The wait of one name is over."""

    full_name: FullName


@dataclass(frozen=True, slots=True, kw_only=True)
class LagOver:
    """An answer about this mirror has been believed for long enough without the watch."""

    full_name: FullName
    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageOver:
    """It is time to try whether the API server answers again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesLate:
    """All static sources had time to list."""


MirrorDeadline: TypeAlias = MirrorRetryDue | LagOver | OutageOver | SourcesLate
