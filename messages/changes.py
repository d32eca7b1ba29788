"""Changes of pods: which ones of a source were added, changed or removed. Others are the same object.

``Op`` has the kubelet's words, since its users grep for them. Rules C3 and C18 define them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import is_

from messages.pods import Pod


def same_objects(some: Sequence[object], others: Sequence[object]) -> bool:
    """Return whether both hold the identical objects in the same order. Compares no content."""
    return some is others or (len(some) == len(others) and all(map(is_, some, others)))


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
