"""What is done about changes of Secrets and ConfigMaps: turns of restarts, and what came of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from messages.objects import ChangeAction
from messages.pods import PodUid
from messages.port import Port


class RolloutGroup(NamedTuple):
    """Pods of this node of which one container at a time is restarted."""

    namespace: str
    name: str
    """The value of their annotation."""


class HookResult(StrEnum):
    """What came of an action."""

    DONE = "done"
    FAILED = "failed"
    NOT_NEEDED = "not_needed"
    """Whatever used the object has ended or was started again since."""
    CANCELLED = "cancelled"
    """The pod was stopped before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantRollout:
    """Asks for the turn of a container of a group. Answered by ``RolloutGranted``, when it is its turn.

    May repeat: who has the turn already is told so again.
    """

    group: RolloutGroup
    pod: PodUid
    pod_name: str
    """Without its namespace."""
    container: str
    reply_to: Port[RolloutGranted]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutGranted:
    """It is the container's turn, until ``ReturnRollout``. May repeat. Who does not want it returns it."""

    group: RolloutGroup
    pod: PodUid
    container: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnRollout:
    """The container has had its turn, or does not want one any more. May repeat."""

    group: RolloutGroup
    pod: PodUid
    container: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeHookEnded:
    """Something was done about changes, or not. Counted."""

    action: ChangeAction
    result: HookResult


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeChangeHooks:
    """Asks what came of change hooks. Answered by one ``ChangeHooksDescribed``."""

    reply_to: Port[ChangeHooksDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeHooksDescribed:
    """What came of change hooks since the process began."""

    counts: Mapping[tuple[ChangeAction, HookResult], int] = field(default_factory=dict)
    waiting: int = 0
    """Containers that wait for their turn."""


RolloutMessage: TypeAlias = WantRollout | ReturnRollout | ChangeHookEnded | DescribeChangeHooks
"""What the keeper of rollouts hears from others."""
