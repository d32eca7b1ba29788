"""Where volumes are below the root directory, as in a kubelet's. Pure."""

from __future__ import annotations

from typing import Final

from actors.volumes.making.forms import VolumePlugin
from actors.volumes.mounts.places import VolumePlace
from messages.pods import PodUid

PODS: Final = "pods"
VOLUMES: Final = "volumes"
SUB_PATHS: Final = "volume-subpaths"
OF_VOLUMES: Final = (VOLUMES, SUB_PATHS, "plugins")
"""What of a pod's directory is its volumes'."""
_LONGEST_NAME: Final = 255
"""Bytes of one part of a path, as file systems have it."""


def is_path_part(name: str) -> bool:
    """Return whether ``name`` can be one part of a path."""
    is_bad = name in {"", ".", ".."} or "/" in name or not name.isprintable()
    return not is_bad and len(name.encode(errors="replace")) <= _LONGEST_NAME


def volume_place(root: str, uid: PodUid, plugin: VolumePlugin, name: str) -> VolumePlace:
    """Return where a volume is. ``pods`` may be a link to another disk."""
    names = (uid, VOLUMES, _directory_of(plugin), name)
    return VolumePlace(root=f"{root}/{PODS}", names=names)


def ready_marker(root: str, uid: PodUid, plugin: VolumePlugin, name: str) -> str:
    """Return the file that says that a volume is finished."""
    return f"{root}/{PODS}/{uid}/plugins/{_directory_of(plugin)}/{name}/ready"


def pod_directory(root: str, uid: PodUid) -> str:
    """Return the directory of all that a pod has on the disk."""
    return f"{root}/{PODS}/{uid}"


def _directory_of(plugin: VolumePlugin) -> str:
    return plugin.value.replace("/", "~")
