"""Changes of pods: which pods of a source were added, changed or removed.

``Op`` has the kubelet's words, since its users grep for them. Rules C3 and C18 define them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from messages.pods import Pod


class Op(StrEnum):
    """What happened to a pod, in the order in which the changes of one batch are told (rule C4)."""

    REMOVE = "REMOVE"
    """Its source does not list it any more. The change carries the last version."""
    ADD = "ADD"
    """Its UID is listed for the first time, even when it is being deleted already."""
    UPDATE = "UPDATE"
    """Its specification, labels or annotations changed."""
    DELETE = "DELETE"
    """Graceful deletion began, or the pod changed while it is under way."""
    RECONCILE = "RECONCILE"
    """Only its status changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodChange:
    """One change of a batch. A batch has each UID at most once, and is sorted by ``Op``."""

    op: Op
    pod: Pod
    """The pod as it is from here on. For a removal: as it was."""
