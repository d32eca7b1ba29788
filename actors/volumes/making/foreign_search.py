"""Looks for volumes that others have made in the directories of pods, and for what drivers staged. May block.

What is mounted is neither entered nor asked: the file system behind it may not answer.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from actors.volumes.making.foreign import (
    NO_RECORD,
    OWN_PLUGINS,
    DriverRecord,
    ForeignVolume,
    StageMount,
    common_record,
    driver_record,
    is_in_own_volume,
    plugin_name,
)
from actors.volumes.making.forms import VOLUMES
from actors.volumes.mounts.mount_table import MountPoint, mount_at, mounts_below
from manifests.texts import printable

_RECORD: Final = "vol_data.json"
_LARGEST_RECORD: Final = 1 << 16
"""Bytes."""
_STAGED: Final = "globalmount"
_DEVICES: Final = "volumeDevices"
_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def foreign_volumes(root: str, uid: str, mounts: Sequence[MountPoint]) -> tuple[ForeignVolume, ...]:
    """Return the volumes in the directory of a pod that the agent has not made, by plugin and name.

    A directory in which nothing is mounted, and nothing is but directories, is none: its volume is gone. What
    is mounted outside of all volumes counts, without a plugin: the agent mounts nothing there.
    ``mounts`` are at least those below ``root``, and below ``pods`` in it if that is a link. Raises
    ``OSError`` if it cannot be told.
    """
    base, pod = os.path.realpath(root), f"{os.path.realpath(f'{root}/pods')}/{uid}"
    found = []
    places = tuple(_places(pod, mounts))
    for place in places:
        below = mounts_below(mounts, place.path)
        if below or _has_files(place.path):
            found.append(
                ForeignVolume(
                    name=printable(place.name),
                    plugin=plugin_name(place.plugin),
                    path=printable(place.path),
                    record=_record_of(base, place, below, mounts),
                    is_mounted=bool(below),
                )
            )
    return (*found, *_strays(pod, places, mounts_below(mounts, pod)))


def pods_on_disk(root: str) -> list[str]:
    """Return the UIDs of the pods that have a directory, in order. Raises ``OSError``."""
    found = _names(os.path.realpath(f"{root}/pods"))
    return [each for each in found if not each.startswith(".")]


def stage_mounts(root: str, mounts: Sequence[MountPoint]) -> tuple[StageMount, ...]:
    """Return what drivers have staged below the root directory, in the layouts of all kubelets.

    Raises ``OSError`` if it cannot be told.
    """
    return tuple(
        StageMount(path=printable(path), record=record, is_mounted=mount is not None)
        for path, record, mount in _stages(os.path.realpath(root), mounts)
        if mount is not None or record != NO_RECORD
    )


class _Place(NamedTuple):
    """What may be a volume of somebody else."""

    path: str
    kind: str
    plugin: str
    name: str


def _places(pod: str, mounts: Sequence[MountPoint]) -> Iterator[_Place]:
    for kind in (VOLUMES, _DEVICES):
        for plugin in _names(f"{pod}/{kind}"):
            if kind == VOLUMES and plugin in OWN_PLUGINS:
                continue
            path = f"{pod}/{kind}/{plugin}"
            if mount_at(mounts, path) is not None or not _is_directory(path):
                yield _Place(path, kind, plugin, "")
                continue
            for name in _names(path):
                yield _Place(f"{path}/{name}", kind, plugin, name)


def _strays(
    pod: str, places: Sequence[_Place], mounts: Sequence[MountPoint]
) -> Iterator[ForeignVolume]:
    """Yield what is mounted in a pod's directory, but not in the agent's volumes or at these places."""
    named = {path for place in places for path in _paths(mounts_below(mounts, place.path))}
    for path in sorted(_paths(mounts) - named - {pod}):
        if not is_in_own_volume(path.removeprefix(f"{pod}/")):
            yield ForeignVolume(
                name=printable(path.rpartition("/")[2]),
                plugin="",
                path=printable(path),
                record=NO_RECORD,
                is_mounted=True,
            )


def _paths(mounts: Sequence[MountPoint]) -> set[str]:
    return {each.path for each in mounts}


def _record_of(
    root: str, place: _Place, below: Sequence[MountPoint], mounts: Sequence[MountPoint]
) -> DriverRecord:
    """Return the record of a volume, or that of what is staged for it if it has none that can be read."""
    if place.kind == _DEVICES:
        return _read(f"{_of_drivers(root)}/{_DEVICES}/{place.name}/data/{_RECORD}")
    own = NO_RECORD if mount_at(below, place.path) is not None else _read(f"{place.path}/{_RECORD}")
    if own != NO_RECORD or not below:
        return own
    return common_record(
        {
            record
            for _, record, staged in _stages(root, mounts)
            if staged is not None and any(_is_part(each, staged) for each in below)
        }
        - {NO_RECORD}
    )


def _stages(
    root: str, mounts: Sequence[MountPoint]
) -> Iterator[tuple[str, DriverRecord, MountPoint | None]]:
    """Yield where something may be staged, its record, and what is mounted there."""
    top = _of_drivers(root)
    for group in _names(top):  # a driver's name; until 1.23 or so it was "pv" for all
        for name in _names(f"{top}/{group}") if group != _DEVICES else ():
            place = f"{top}/{group}/{name}"
            path = f"{place}/{_STAGED}"
            yield path, _read(f"{place}/{_RECORD}"), mount_at(mounts, path)


def _of_drivers(root: str) -> str:
    return f"{root}/plugins/kubernetes.io/csi"


def _is_part(one: MountPoint, staged: MountPoint) -> bool:
    """Return whether a mount shows what is staged, or a part of it."""
    start = staged.root.rstrip("/") + "/"
    return one.device == staged.device and f"{one.root.rstrip('/')}/".startswith(start)


def _names(directory: str) -> list[str]:
    """Return what is in a directory, in order; nothing if it is none. Raises ``OSError``."""
    if not _is_directory(directory):
        return []
    with os.scandir(directory) as entries:
        return sorted(each.name for each in entries)


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _has_files(path: str) -> bool:
    """Return whether there is anything but directories. Raises ``OSError``."""
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            return True
    except FileNotFoundError:
        return False
    left = [path]
    while left:
        with os.scandir(left.pop()) as entries:
            for each in entries:
                if not each.is_dir(follow_symlinks=False):
                    return True
                left.append(each.path)
    return False


def _read(path: str) -> DriverRecord:
    """Return what a record says; nothing if it cannot be read. A link is not followed."""
    try:
        opened = os.open(path, _READING)
    except OSError:
        return NO_RECORD
    try:
        is_file = stat.S_ISREG(os.fstat(opened).st_mode)
        return driver_record(os.read(opened, _LARGEST_RECORD)) if is_file else NO_RECORD
    except OSError:
        return NO_RECORD
    finally:
        os.close(opened)
