"""Takes the volumes of a pod away: first what is mounted in its directory. Everything here may block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from messages.pods import PodUid
from volumes.making.jobs import VolumesTornDown
from volumes.making.layout import OF_VOLUMES, is_path_part, pod_directory
from volumes.mounts.mount_table import MountPoint, mounts_below
from volumes.mounts.places import VolumePlace
from volumes.mounts.removal import Unmounted, remove_pod_files, unmount_volume
from volumes.mounts.system_calls import MountCalls


def tear_down(root: str, uid: PodUid, calls: MountCalls, *, detach: bool) -> VolumesTornDown:
    """Leave nothing of the volumes of a pod. May repeat; it depends on nothing but what is on the disk.

    With ``detach``, what is mounted there and in use is detached: the last resort.
    """
    if not is_path_part(uid):
        return VolumesTornDown()  # no pod has a directory of such a name
    directory = pod_directory(root, uid)
    notes: list[str] = []
    # With 1,000 mounts it takes 5 ms to read them, so they are read once. Nothing is removed through a mount
    # that came meanwhile.
    mounts = mounts_below(calls.table(), os.path.realpath(directory))
    trouble = _unmount(mounts, os.path.realpath(directory), calls, notes, detach=detach)
    trouble = trouble or next(filter(None, _removals(directory, calls)), "")
    if not trouble:
        with suppress(OSError):
            Path(directory).rmdir()  # its other files, if there are any, are somebody else's
    return VolumesTornDown(trouble=trouble, notes=tuple(notes))


def _removals(directory: str, calls: MountCalls) -> Iterator[str]:
    for name in OF_VOLUMES:
        yield remove_pod_files(f"{directory}/{name}", calls, mounts=())


def _unmount(
    mounts: Sequence[MountPoint], top: str, calls: MountCalls, notes: list[str], *, detach: bool
) -> str:
    """Unmount what is below ``top``, the last mount first. Return why one stays."""
    trouble = ""
    for each in reversed(mounts):
        names = tuple(each.path.removeprefix(f"{top}/").split("/"))
        if each.path == top:
            continue  # the pod's own directory: nobody of ours mounts there
        try:
            done = unmount_volume(calls, VolumePlace(root=top, names=names), detach=detach)
        except OSError as error:
            trouble = trouble or f"{each.path}: {error.strerror}"
        else:
            if done is Unmounted.DETACHED:
                notes.append(f"{each.path} was in use, and is detached")
    return trouble
