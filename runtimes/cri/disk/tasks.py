"""What is to be on the disk before a container is created. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from actors.volumes.mounts.sub_paths import SubPath


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteHostsFile:
    """The pod's ``/etc/hosts`` is there."""

    path: str
    content: str = field(repr=False)
    node_file: str = ""
    """A file of the node whose content comes first; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeLogDirectory:
    """The directory of a container's logs is there, and no part of it is a link to somewhere else."""

    path: str
    """Of all pods' logs. What is above it is the node's own business."""
    names: tuple[str, ...]
    """The directories that lead from there to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeTerminationFile:
    """The file is there, empty, to which any user can write the termination message of one instance."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BindSubPath:
    """The part of a volume that a container mounts is bound to a place that no container can reach."""

    volume: str
    """Its name."""
    container: str
    shown: str
    """The part as the specification has it. Expanded it may show values of Secrets."""
    part: SubPath = field(repr=False)

    @property
    def path(self) -> str:
        """Where the part is found."""
        return self.part.place.path


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPropagation:
    """Mounts of the node can propagate as a container's mount demands it."""

    volume: str
    path: str
    """Of what is mounted. Links are followed."""
    propagation: str
    """In the API's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """Where it may stand why a container ended."""

    file: str = ""
    """What it wrote its termination message to; empty for none."""
    logs_dir: str = ""
    """The directory of all pods' logs. Links are not followed below it."""
    log: tuple[str, ...] = ()
    """The names that lead from there to its log, whose end counts where the file says nothing; empty if it
    does not count."""


DiskTask: TypeAlias = (
    BindSubPath | CheckPropagation | WriteHostsFile | MakeLogDirectory | MakeTerminationFile
)
