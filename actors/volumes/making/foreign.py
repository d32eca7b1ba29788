"""Volumes that others have made: a driver, or a plugin that a kubelet has and the agent has not. Pure.

They are on a node that a kubelet had before. Only who mounted such a volume may unmount it: a driver that is
never told keeps what it staged, and a disk may be detached while somebody still writes to it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from actors.volumes.making.forms import SUB_PATHS, VOLUMES, VolumePlugin
from actors.volumes.mounts.places import LEAVING
from manifests.texts import one_line, printable

OWN_PLUGINS: Final = frozenset(each.value.replace("/", "~") for each in VolumePlugin)
"""The directories of the agent's own volumes, below ``volumes`` in a pod's directory."""
_BELOW_IS_OWN: Final = {SUB_PATHS, f"{LEAVING}{VOLUMES}", f"{LEAVING}{SUB_PATHS}"}


class DriverRecord(NamedTuple):
    """What a kubelet wrote of a driver's volume before it asked the driver to mount it."""

    driver: str = ""
    handle: str = ""
    """The driver's name for the volume."""

    @property
    def told(self) -> str:
        """Whose volume it is, in the middle of a sentence."""
        return f"driver {self.driver}" + (f" (handle {self.handle})" if self.handle else "")


NO_RECORD: Final = DriverRecord()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignVolume:
    """A volume in the directory of a pod that somebody else has made."""

    name: str
    """Of its directory: that of its PersistentVolume, or of the pod's volume."""
    plugin: str
    """Empty for what is mounted outside of all volumes."""
    path: str
    record: DriverRecord
    """Empty if nothing that can be read says whose it is."""
    is_mounted: bool
    """Whether anything is mounted in its directory."""

    @property
    def said(self) -> str:
        """Why it is left alone, for people: by the name of its driver, if that is known."""
        by_plugin = f"the plugin {self.plugin}" if self.plugin else "somebody"
        owner = self.record.told if self.record.driver else by_plugin
        done, undo = ("mounted", "unmount") if self.is_mounted else ("left", "remove")
        return f"{owner} {done} {self.path}, which the agent may not {undo}"

    @property
    def why_held(self) -> str:
        """Why it stays, and with it all of its pod: one line, begun as a kubelet begins it."""
        return f'UnmountVolume.TearDown failed for volume "{self.name}" : {self.said}'


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMount:
    """What a driver keeps mounted once for all pods of the node. The agent never touches it."""

    path: str
    record: DriverRecord
    is_mounted: bool


def driver_record(content: bytes) -> DriverRecord:
    """Return what a ``vol_data.json`` says; nothing if it is cut short, or says something else."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return NO_RECORD
    if not isinstance(found, dict):
        return NO_RECORD
    driver, handle = (_word(found.get(key)) for key in ("driverName", "volumeHandle"))
    return DriverRecord(driver, handle) if driver else NO_RECORD


def common_record(records: Collection[DriverRecord]) -> DriverRecord:
    """Return what all of several records say."""
    drivers, handles = ({each[place] for each in records} for place in (0, 1))
    if len(drivers) != 1:
        return NO_RECORD
    return DriverRecord(*drivers, *handles) if len(handles) == 1 else DriverRecord(*drivers)


def is_in_own_volume(path: str) -> bool:
    """Return whether a path in a pod's directory is in a volume of the agent, which unmounts what is there.

    What came while volumes were being removed counts: it was mounted in one of them, and moved with it.
    """
    match path.split("/"):
        case [kind, plugin, _, *_] if kind == VOLUMES:
            return plugin in OWN_PLUGINS
        case [kind, _, *_]:
            return kind in _BELOW_IS_OWN
        case _:
            return False


def plugin_name(directory: str) -> str:
    """Return the kubelet's name of the plugin whose volumes are in a directory of this name."""
    return printable(directory.replace("~", "/", 1))


def _word(value: object) -> str:
    return one_line(value.encode(errors="replace").decode()) if isinstance(value, str) else ""
