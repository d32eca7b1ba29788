"""What kind of a node this is, and which settings have an effect on it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RuntimeKind(StrEnum):
    """What runs the pods."""

    HOLLOW = "hollow"
    """Nothing does. They seem to run, with the states that real ones would have."""
    CRI = "cri"
    """A container runtime of this machine: containerd, CRI-O."""
    PROVIDER = "provider"
    """A Python class of somebody's own."""


class Where(StrEnum):
    """Which nodes obey a setting. The value says why the others do not."""

    ANYWHERE = ""
    CLUSTER = "only a node of a cluster has a use for it"
    CONTAINERS = "it has an effect with --runtime cri alone"
    HOLLOW = "it has an effect with --runtime hollow alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What kind of a node this is."""

    is_joined: bool
    """It is a node of a cluster."""
    runtime: RuntimeKind | None
    """What runs its pods; None if nothing does."""

    def is_in(self, where: Where) -> bool:
        """Return whether this node obeys what is obeyed there."""
        match where:
            case Where.ANYWHERE:
                return True
            case Where.CLUSTER:
                return self.is_joined
            case Where.CONTAINERS:
                return self.runtime is RuntimeKind.CRI
            case Where.HOLLOW:
                return self.runtime is RuntimeKind.HOLLOW
