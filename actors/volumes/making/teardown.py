"""Takes the volumes of a pod away: first what is mounted in its directory. Everything here may block.

A pod with a volume that somebody else has made, such as a driver, keeps all that it has: see ``foreign``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from actors.volumes.making.foreign_search import foreign_volumes
from actors.volumes.making.forms import OF_VOLUMES, PODS, is_path_part, pod_directory
from actors.volumes.making.jobs import VolumesLeftBehind, VolumesTornDown
from actors.volumes.mounts.mount_table import MountPoint
from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.removal import Unmounted, remove_pod_files, unmount_volume
from actors.volumes.mounts.system_calls import MountCalls
from messages.pods import PodUid


class Teardowns:
    """Takes the volumes of pods away. It belongs to the process; several threads may use it.

    With 1,000 mounts it takes 5 ms to read them. So they are read once for all that was asked for before:
    the containers of these pods had ended then. Nothing is removed through a mount that came meanwhile.
    """

    def __init__(self, root: str, calls: MountCalls) -> None:
        self._root = root
        self._calls = calls
        self._moments = count()
        """Tells what was before what, on all threads."""
        self._seen = _Mounts(moment=-1)
        """What was read last. Two threads may read at one time: one of them for nothing."""

    def job(self, uid: PodUid, *, detach: bool) -> Callable[[], VolumesTornDown]:
        """Return what leaves nothing of the volumes of a pod. Its containers have ended. Nothing is done yet.

        It depends on nothing but what is on the disk. With ``detach``, what is mounted there and in use is
        detached: the last resort. If there is a volume of somebody else, all of the pod stays as it is.
        """
        return partial(self._tear_down, uid, next(self._moments), detach=detach)

    def left_behind(self, known: Container[PodUid]) -> VolumesLeftBehind:
        """Return the pods, but for those ``known``, in whose directory there are volumes and nothing else."""
        try:
            with os.scandir(f"{self._root}/{PODS}") as entries:
                names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            return VolumesLeftBehind(())
        pods = (PodUid(name) for name in names if name not in known and is_path_part(name))
        return VolumesLeftBehind(tuple(each for each in pods if self._has_volumes_alone(each)))

    def _has_volumes_alone(self, uid: PodUid) -> bool:
        with suppress(OSError):
            found = {each.name for each in Path(pod_directory(self._root, uid)).iterdir()}
            return bool(found) and found <= set(OF_VOLUMES)
        return False

    def _tear_down(self, uid: PodUid, asked: int, *, detach: bool) -> VolumesTornDown:
        if not is_path_part(uid):
            return VolumesTornDown()  # no pod has a directory of such a name
        directory = pod_directory(self._root, uid)
        notes: list[str] = []
        top = f"{self._pods()}/{uid}"
        seen = self._mounts(asked)
        try:
            held = foreign_volumes(self._root, uid, (*seen.of_pods.get(uid, ()), *seen.of_drivers))
        except OSError as error:
            return VolumesTornDown(trouble=f"{error.filename or directory}: {error.strerror}")
        if held:
            return VolumesTornDown(held=held)
        mounts = seen.of_pods.get(uid, ())
        trouble = _unmount(mounts, top, self._calls, notes, detach=detach)
        trouble = trouble or next(filter(None, _removals(directory, self._calls)), "")
        if not trouble:
            with suppress(OSError):
                Path(directory).rmdir()  # its other files, if there are any, are somebody else's
        return VolumesTornDown(trouble=trouble, notes=tuple(notes))

    def _mounts(self, asked: int) -> _Mounts:
        """Return what was mounted below the root directory at any time since that moment."""
        seen = self._seen
        if seen.moment < asked:
            moment = next(self._moments)
            seen = self._seen = self._read(moment)
        return seen

    def _pods(self) -> str:
        """Return where the directories of pods are, without links: ``pods`` may lead to another disk."""
        return os.path.realpath(f"{self._root}/{PODS}")

    def _read(self, moment: int) -> _Mounts:
        root, start = os.path.realpath(self._root), f"{self._pods()}/"
        of_pods: dict[str, list[MountPoint]] = {}
        of_drivers: list[MountPoint] = []
        for each in self._calls.table():
            if each.path.startswith(start):
                of_pods.setdefault(each.path[len(start) :].partition("/")[0], []).append(each)
            elif each.path.startswith(f"{root}/plugins/"):
                of_drivers.append(each)
        return _Mounts(moment=moment, of_pods=of_pods, of_drivers=tuple(of_drivers))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mounts:
    moment: int
    """Before they were read."""
    of_pods: Mapping[str, Sequence[MountPoint]] = field(default_factory=dict)
    """In the directories of pods, by UID."""
    of_drivers: tuple[MountPoint, ...] = ()
    """Below ``plugins``: what drivers have mounted once for all pods."""


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
