"""The private messages of StatusKeeper, most from its timers. A late one finds nothing to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from messages.pods import PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRetryDue:
    """The wait of one pod is over."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusOutageOver:
    """It is time to try whether the API server answers again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamineMore:
    """Pods were left over from an earlier turn."""


StatusDeadline: TypeAlias = StatusRetryDue | StatusOutageOver | ExamineMore
