"""What a merge says: which pods of one source came, changed and went.

``Op`` has the kubelet's words, which its users grep for. Rules C3 and C18 name what each stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from messages.pods import Pod


class Op(StrEnum):
    """What happened to a pod, in the order in which the changes of one batch are told (rule C4)."""

    REMOVE = "REMOVE"
    """Its source does not list it any more. Carries the pod as it was kept."""
    ADD = "ADD"
    """Its UID is listed for the first time, even when it is being deleted already."""
    UPDATE = "UPDATE"
    """Its specification, labels or annotations are others."""
    DELETE = "DELETE"
    """Graceful deletion began, or the pod changed while it is under way."""
    RECONCILE = "RECONCILE"
    """Only its status is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodChange:
    """One pod of a batch. A batch holds each UID at most once, and its pods in the order of ``Op``."""

    op: Op
    pod: Pod
    """The pod as it is kept from here on, or was kept until here when it is removed."""
