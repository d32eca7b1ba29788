"""What the specification of a pod mounts into one of its containers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from actors.volumes.mounts.sub_paths import SubPath
from messages.pods import JsonObject, Pod
from messages.volumes import PodVolume
from runtimes.cri.configs.documents import volumes_by_name
from runtimes.cri.configs.image_volumes import image_mount
from runtimes.cri.configs.layout import path_part, sub_path_place
from runtimes.cri.configs.node import NO_FEATURES, CriNode, HandlerFeatures
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.configs.sub_paths import shown_sub_path, sub_path_of
from runtimes.cri.disk.tasks import BindSubPath, CheckPropagation, DiskTask
from runtimes.cri.wire import cri_pb2 as cri

_PROPAGATIONS: Final[Mapping[str, cri.MountPropagation]] = {
    "None": cri.PROPAGATION_PRIVATE,
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MountSituation:
    """What mounts depend on beside pod and node."""

    ips: Sequence[str] = ()
    """The pod's addresses, or the node's for a pod on its network."""
    handler: HandlerFeatures = NO_FEATURES
    volumes: Mapping[str, PodVolume] = field(default_factory=dict)
    """By name: those that are there."""
    images: Mapping[str, str] = field(default_factory=dict)
    """By name: the volumes that are images, with the ids of these."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The container's own, by which a part of a volume may be named."""


@dataclass(slots=True)
class VolumeMounts:
    """Makes the mounts of one container's ``volumeMounts``."""

    pod: Pod
    container: JsonObject = field(repr=False)
    node: CriNode
    given: MountSituation
    _tasks: list[DiskTask] = field(default_factory=list)

    def all(self) -> tuple[list[cri.Mount], list[DiskTask]]:
        """Return the mounts, and what has to succeed on the disk first. Raises ``ConfigRefusedError``."""
        if devices := self.container.get("volumeDevices"):
            name = devices[0].get("name")
            text = f'volume "{name}" is a block device, which cannot be mounted yet'
            raise ConfigRefusedError(text)
        specified = volumes_by_name(self.pod)
        mounts = []
        for index, wanted in enumerate(self.container.get("volumeMounts") or ()):
            found = specified.get(wanted.get("name") or "")
            if found is None:
                raise _refused(wanted, "is not one of the pod's volumes")
            if found.get("image") is not None:
                mounts.append(self._image(wanted))
            else:
                mounts.append(self._mount(index, wanted, self._volume(found)))
        return mounts, self._tasks

    def _volume(self, specified: JsonObject) -> PodVolume:
        name = specified.get("name") or ""
        if name in self.given.volumes:
            return self.given.volumes[name]
        container = self.container.get("name")
        text = f'cannot find volume "{name}" to mount into container "{container}"'
        raise ConfigRefusedError(text)

    def _image(self, wanted: JsonObject) -> cri.Mount:
        image_id = self.given.images.get(wanted.get("name") or "", "")
        part = sub_path_of(wanted, self.given.variables)
        runtime = self.node.runtime
        return image_mount(wanted, _path_inside(wanted), part, image_id, runtime)

    def _mount(self, index: int, wanted: JsonObject, volume: PodVolume) -> cri.Mount:
        inside = _path_inside(wanted)
        host_path = self._host_path(index, wanted, volume)
        return cri.Mount(
            container_path=inside,
            host_path=host_path,
            readonly=bool(wanted.get("readOnly")) or volume.read_only,
            selinux_relabel=self.node.has_selinux and volume.is_own,
            propagation=self._propagation(wanted, host_path),
            recursive_read_only=_is_recursive(wanted, self.given.handler),
        )

    def _host_path(self, index: int, wanted: JsonObject, volume: PodVolume) -> str:
        """Return what is mounted: the volume, or the place where a part of it is bound to."""
        path = sub_path_of(wanted, self.given.variables)
        if not path:
            return volume.path
        name = wanted.get("name") or ""
        container = path_part(self.container.get("name") or "")
        part = SubPath(
            volume=volume.path,
            path=path,
            place=sub_path_place(self.node.root_dir, self.pod.uid, name, container, index),
            read_only=volume.read_only,
            may_make=not volume.read_only,
        )
        task = BindSubPath(
            volume=name, container=container, shown=shown_sub_path(wanted), part=part
        )
        self._tasks.append(task)
        return task.path

    def _propagation(self, wanted: JsonObject, host_path: str) -> cri.MountPropagation:
        asked = wanted.get("mountPropagation") or "None"
        propagation = _PROPAGATIONS.get(asked)
        if propagation is None:
            raise _refused(wanted, "has a mountPropagation that is not known")
        if propagation != cri.PROPAGATION_PRIVATE:
            name = wanted.get("name") or ""
            self._tasks.append(CheckPropagation(volume=name, path=host_path, propagation=asked))
        return propagation


def _path_inside(wanted: JsonObject) -> str:
    path = wanted.get("mountPath") or ""
    if not path or "\0" in path:
        raise _refused(wanted, "has a mountPath that there cannot be")
    return path if path.startswith("/") else f"/{path}"


def _is_recursive(wanted: JsonObject, handler: HandlerFeatures) -> bool:
    match wanted.get("recursiveReadOnly") or "Disabled":
        case "Disabled":
            return False
        case "IfPossible":
            return handler.recursive_read_only_mounts
        case "Enabled" if handler.recursive_read_only_mounts:
            return True
        case "Enabled":
            raise _refused(wanted, "demands recursiveReadOnly, which the runtime does not know")
        case _:
            raise _refused(wanted, "has a recursiveReadOnly that is not known")


def _refused(wanted: JsonObject, why: str) -> ConfigRefusedError:
    return ConfigRefusedError(f'volume "{wanted.get("name")}" {why}')
