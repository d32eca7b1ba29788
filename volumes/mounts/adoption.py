"""What an agent that starts finds mounted below its pods' directory, and what to do with each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from volumes.mounts.mount_table import MountPoint, mounts_below


class MountVerdict(Enum):
    """What to do with one place."""

    KEPT = auto()
    """It is as it should be."""
    RESIZED = auto()
    """It has to be given another size. Its content stays."""
    WRONG = auto()
    """Something else is mounted where a volume has to be."""
    STACKED = auto()
    """There is more than one mount, and only the last one can be reached."""
    STRAY = auto()
    """It is the agent's own, of no volume that is wanted: it can be unmounted."""
    FOREIGN = auto()
    """A container has mounted it into its volume. It is nobody's business but keeps its directory there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedMount:
    """What should be mounted at one place."""

    kind: str | None
    """The type of its file system; None for a bind, which has that of its volume."""
    size: int | None = None
    """Bytes, whole pages; None if that does not matter."""


def verdicts_at_start(
    mounts: Iterable[MountPoint], pods_dir: str, wanted: Mapping[str, WantedMount]
) -> Mapping[str, MountVerdict]:
    """Return what to do with each place at which something is mounted. ``wanted`` is by path."""
    found = mounts_below(mounts, pods_dir)
    counts = Counter(each.path for each in found)
    return {
        each.path: (
            MountVerdict.STACKED
            if counts[each.path] > 1 and _is_own_place(each.path, pods_dir)
            else _verdict(each, pods_dir, wanted.get(each.path))
        )
        for each in found
    }


def _verdict(mount: MountPoint, pods_dir: str, wanted: WantedMount | None) -> MountVerdict:
    if wanted is None:
        return MountVerdict.STRAY if _is_own_place(mount.path, pods_dir) else MountVerdict.FOREIGN
    if wanted.kind is not None and mount.kind != wanted.kind:
        return MountVerdict.WRONG
    if wanted.size is not None and mount.size != wanted.size:
        return MountVerdict.RESIZED
    return MountVerdict.KEPT


def _is_own_place(path: str, pods_dir: str) -> bool:
    """Whether only the agent mounts there: ``UID/volumes/KIND/NAME``, or a bind of a part of a volume."""
    match path.removeprefix(pods_dir.rstrip("/") + "/").split("/"):
        case [_, "volumes", _, _] | [_, "volume-subpaths", _, _, _]:
            return True
        case _:
            return False
