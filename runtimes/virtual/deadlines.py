"""What VirtualRuntime tells itself, and what its provider tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from messages.pods import PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCallLate:
    """A call has had its time."""

    ref: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveDue:
    """It is time for the next observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDue:
    """It is time to ask for the Node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDue:
    """It is time to examine a pod again."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class MorePodsToExamine:
    """There are more pods to examine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChanged:
    """The provider says that something has changed. Coalesced."""


VirtualDeadline: TypeAlias = ProviderCallLate | ObserveDue | NodeDue | PodDue | MorePodsToExamine
