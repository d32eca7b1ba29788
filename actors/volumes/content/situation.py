"""What the files of a volume depend on, and what became of them. Pure values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from actors.volumes.payload import Payload
from messages.objects import ObjectId, ObjectValue
from messages.pods import Pod
from messages.tokens import TokenNeeded


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSituation:
    """Everything that the files of a volume depend on, beside the volume itself."""

    pod: Pod
    """As it is now: its labels, its annotations and its resources are shown."""
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    """Secrets and ConfigMaps, as far as they are there."""
    unread: Mapping[ObjectId, str] = field(default_factory=dict)
    """Why others cannot be read: nobody knows whether these are there."""
    allocatable: Mapping[str, str] | None = None
    """What the node has for pods, as quantities. None where nobody can know it."""
    tokens: Mapping[TokenNeeded, bytes] = field(default_factory=dict, repr=False)
    """The tokens that are there."""
    token_troubles: Mapping[TokenNeeded, str] = field(default_factory=dict)
    """Why others are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeContent:
    """The files of a volume, or why it cannot have them. Exactly one of the three is set."""

    payload: Payload | None = None
    missing: tuple[str, ...] = ()
    """What is not there, in a kubelet's words. It may come: until then the volume stays as it is."""
    refusal: str = ""
    """Why there never are any, as the volume is written."""

    @property
    def trouble(self) -> str:
        """Return why there are no files, as an event says it; empty if there are."""
        if self.refusal or len(self.missing) == 1:
            return self.refusal or self.missing[0]
        return f"[{', '.join(self.missing)}]" if self.missing else ""
