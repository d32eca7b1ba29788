"""What a volume of a specification is: the way it is made in, if any, its size, and where it is. Pure.

Places below the root directory are those of a kubelet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from actors.volumes.mounts.host_paths import HostPathType
from actors.volumes.mounts.places import VolumePlace
from manifests.names import no_backsteps
from manifests.quantities import amount, is_quantity
from messages.pods import JsonObject, PodUid

HUGE_PAGES: Final = "HugePages"
_RESOURCE: Final = "hugepages-"


def memory_size(limit: int | None, pod_limit: int | None, node: int) -> int:
    """Return the bytes of one: the least of its own limit, the pod's, and what the node has for pods.

    A limit that is missing, or 0, is none.
    """
    return min(each for each in (limit, pod_limit, node) if each)


def page_size(medium: str, resources: Iterable[str]) -> int:
    """Return the bytes of a page for a medium of large pages. Raises ``ValueError`` with what is wrong.

    ``resources`` are the names of all that the pod's containers ask for: a medium that names no size has
    the only one among them.
    """
    sizes = {name.removeprefix(_RESOURCE) for name in resources if name.startswith(_RESOURCE)}
    named = medium.removeprefix(HUGE_PAGES)
    if named:
        text = named.removeprefix("-")
        if not named.startswith("-") or not is_quantity(text) or amount(text) < 1:
            raise ValueError(f"the medium {medium!r} is not known")
        if text not in sizes:
            raise ValueError(f"no container asks for {_RESOURCE}{text}")
        return int(amount(text))
    if len(sizes) != 1:
        asked = ", ".join(sorted(sizes)) or "none"
        raise ValueError(
            f"the medium {medium} needs pages of one size in the pod, which has {asked}"
        )
    (text,) = sizes
    if not is_quantity(text) or amount(text) < 1:
        raise ValueError(f"{_RESOURCE}{text} names no size of a page")
    return int(amount(text))


class VolumePlugin(StrEnum):
    """The kinds of volume that are made, by the kubelet's names."""

    SECRET = "kubernetes.io/secret"  # noqa: S105  # a kind, not one of them
    CONFIG_MAP = "kubernetes.io/configmap"
    DOWNWARD_API = "kubernetes.io/downward-api"
    PROJECTED = "kubernetes.io/projected"
    EMPTY_DIR = "kubernetes.io/empty-dir"
    HOST_PATH = "kubernetes.io/host-path"
    IMAGE = "kubernetes.io/image"


_CONTENTS: Final = {
    "secret": VolumePlugin.SECRET,
    "configMap": VolumePlugin.CONFIG_MAP,
    "downwardAPI": VolumePlugin.DOWNWARD_API,
    "projected": VolumePlugin.PROJECTED,
}


class Medium(StrEnum):
    """Where the files of an ``emptyDir`` are."""

    DISK = "disk"
    MEMORY = "memory"
    HUGE_PAGES = "huge_pages"


@dataclass(frozen=True, slots=True)
class ContentForm:
    """A directory whose files the agent writes, and keeps current."""

    plugin: VolumePlugin

    @property
    def is_in_memory(self) -> bool:
        """Whether its files never go to the disk, where something can be mounted."""
        return self.plugin is not VolumePlugin.CONFIG_MAP


@dataclass(frozen=True, slots=True)
class EmptyDirForm:
    """A directory for the containers' own files."""

    medium: Medium
    words: str = ""
    """The medium as it is written."""
    size_limit: int | None = None
    """Bytes; None for no limit of its own."""


@dataclass(frozen=True, slots=True)
class HostPathForm:
    """A path of the node."""

    path: str
    type: HostPathType


@dataclass(frozen=True, slots=True)
class ImageForm:
    """An image, which the runtime mounts."""


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """There is never such a volume here."""

    reason: str


VolumeForm: TypeAlias = ContentForm | EmptyDirForm | HostPathForm | ImageForm | RefusedForm


def kind_of(volume: JsonObject) -> str:
    """Return the kind of ``volume``, as its field is named. One that names none is an ``emptyDir``."""
    named = (key for key, value in volume.items() if key != "name" and value is not None)
    return next(named, "emptyDir")


def form_of(volume: JsonObject) -> VolumeForm:
    """Return what ``volume`` is."""
    kind = kind_of(volume)
    source: JsonObject = volume.get(kind) or {}
    if kind in _CONTENTS:
        return ContentForm(_CONTENTS[kind])
    match kind:
        case "emptyDir":
            return _empty_dir(source)
        case "hostPath":
            return _host_path(source)
        case "image":
            return ImageForm()
        case _:
            return RefusedForm(f"volumes of the kind {kind[:80]} are not supported")


def plugin_of(form: VolumeForm) -> VolumePlugin | None:
    """Return the kubelet's name for a volume of that form; None for one that is refused."""
    match form:
        case ContentForm(plugin=plugin):
            return plugin
        case EmptyDirForm():
            return VolumePlugin.EMPTY_DIR
        case HostPathForm():
            return VolumePlugin.HOST_PATH
        case ImageForm():
            return VolumePlugin.IMAGE
        case _:
            return None


def shows_pod(volume: JsonObject) -> bool:
    """Return whether its files say something of the pod itself, which may change."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    return volume.get("downwardAPI") is not None or any(
        source.get("downwardAPI") is not None for source in sources
    )


def _empty_dir(source: JsonObject) -> VolumeForm:
    medium = str(source.get("medium") or "")
    told = source.get("sizeLimit")
    limit: int | None = None
    if told is not None:
        if not is_quantity(str(told)) or amount(str(told)) < 0:
            return RefusedForm("emptyDir.sizeLimit must be a quantity")
        limit = int(amount(str(told))) or None
    if not medium:
        return EmptyDirForm(Medium.DISK, medium, limit)
    if medium == "Memory":
        return EmptyDirForm(Medium.MEMORY, medium, limit)
    if medium.startswith(HUGE_PAGES):
        return EmptyDirForm(Medium.HUGE_PAGES, medium, limit)
    return RefusedForm(f"the medium {medium[:80]!r} is not known")


def _host_path(source: JsonObject) -> VolumeForm:
    path = str(source.get("path") or "")
    if not path.startswith("/") or no_backsteps(path) or "\0" in path:
        return RefusedForm('hostPath.path must be an absolute path without ".."')
    try:
        return HostPathForm(path, HostPathType(source.get("type") or ""))
    except ValueError:
        return RefusedForm("hostPath.type is not known")


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
