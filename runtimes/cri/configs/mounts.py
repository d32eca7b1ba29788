"""What is mounted into a container, and what has to be on the disk before that. Pure.

The specification names volumes, parts of volumes and images; the agent adds ``/etc/hosts`` and the file of
the termination message. A runtime that does not mount images ignores them, and has no path to mount instead:
so these are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import normpath
from typing import Final

from actors.volumes.mounts.sub_paths import SubPath
from manifests.names import no_backsteps
from messages.pods import JsonObject, Pod
from messages.volumes import PodVolume
from runtimes.cri.configs.dns import hosts_content, node_hosts_file
from runtimes.cri.configs.documents import (
    ConfigRefusedError,
    refusing_impossible_values,
    volumes_by_name,
)
from runtimes.cri.configs.node import (
    NO_FEATURES,
    CriNode,
    HandlerFeatures,
    RuntimeFeatures,
    hosts_file,
    log_directory,
    path_part,
    sub_path_place,
    termination_file,
)
from runtimes.cri.disk.pod_files import (
    BindSubPath,
    CheckPropagation,
    DiskTask,
    MakeLogDirectory,
    MakeTerminationFile,
    WriteHostsFile,
)
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.environment.assembling import expanded, without_value
from runtimes.environment.objects import UnusableEnvironmentError

_PROPAGATIONS: Final[Mapping[str, cri.MountPropagation]] = {
    "None": cri.PROPAGATION_PRIVATE,
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}

ETC_HOSTS: Final = "/etc/hosts"

_LONGEST_SHOWN: Final = 256
"""Characters of a path that people are shown."""


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


NOTHING_GIVEN: Final = MountSituation()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerMounts:
    """The mounts of one container."""

    mounts: tuple[cri.Mount, ...]
    tasks: tuple[DiskTask, ...]
    """What has to succeed on the disk before the container is created."""


def container_mounts(
    pod: Pod,
    container: JsonObject,
    attempt: int,
    node: CriNode,
    given: MountSituation = NOTHING_GIVEN,
) -> ContainerMounts:
    """Return what is mounted into the next instance of ``container``. Raises ``ConfigRefusedError``."""
    name = container.get("name") or ""
    with refusing_impossible_values(f"container {name}"):
        mounts, tasks = VolumeMounts(pod, container, node, given).all()
        taken = {normpath(mount.container_path) for mount in mounts}
        for mount, task in _of_agent(pod, container, attempt, node, given.ips):
            if normpath(mount.container_path) not in taken:
                mounts.append(mount)
                tasks.append(task)
        tasks.append(_log_directory(pod, name, node))
        return ContainerMounts(mounts=tuple(mounts), tasks=tuple(tasks))


def _of_agent(
    pod: Pod, container: JsonObject, attempt: int, node: CriNode, ips: Sequence[str]
) -> Iterator[tuple[cri.Mount, DiskTask]]:
    """Yield what every container has, unless the pod mounts something in its place."""
    if ips:
        path = hosts_file(node.root_dir, pod.uid)
        content = hosts_content(pod, ips, node.dns.cluster_domain)
        task = WriteHostsFile(path=path, content=content, node_file=node_hosts_file(pod))
        yield _file(ETC_HOSTS, path, node), task
    if inside := container.get("terminationMessagePath"):
        path = termination_file(node.root_dir, pod.uid, container.get("name") or "", attempt)
        inside = inside if inside.startswith("/") else f"/{inside}"
        yield _file(inside, path, node), MakeTerminationFile(path=path)


def _log_directory(pod: Pod, name: str, node: CriNode) -> MakeLogDirectory:
    directory = log_directory(node.pod_logs_dir, pod)
    names = (directory.rpartition("/")[2], path_part(name))
    return MakeLogDirectory(path=node.pod_logs_dir, names=names)


def _file(inside: str, path: str, node: CriNode) -> cri.Mount:
    return cri.Mount(container_path=inside, host_path=path, selinux_relabel=node.has_selinux)


def sub_path_of(wanted: JsonObject, variables: Mapping[str, str]) -> str:
    """Return the part that a mount wants, expanded; empty for the whole volume.

    Raises ``ConfigRefusedError``. The result may show values of Secrets: no message may repeat it.
    """
    path = _expanded(wanted, variables) if wanted.get("subPathExpr") else wanted.get("subPath")
    if not path:
        return ""
    if path.startswith("/"):
        raise _part_refused(
            wanted, f"error SubPath `{shown_sub_path(wanted)}` must not be an absolute path"
        )
    if trouble := no_backsteps(path) or ("\0" in path and "no path has this character"):
        raise _part_refused(
            wanted, f"unable to provision SubPath `{shown_sub_path(wanted)}`: {trouble}"
        )
    return str(path)


def shown_sub_path(wanted: JsonObject) -> str:
    """Return the part as the specification has it, for people."""
    return str(wanted.get("subPathExpr") or wanted.get("subPath") or "")[:_LONGEST_SHOWN]


def _expanded(wanted: JsonObject, variables: Mapping[str, str]) -> str:
    text = str(wanted["subPathExpr"])
    if missing := without_value(text, variables):
        names = ", ".join(missing)
        raise _part_refused(
            wanted, f"missing value for {names} in subPathExpr `{shown_sub_path(wanted)}`"
        )
    try:
        return expanded(text, variables)
    except UnusableEnvironmentError as error:
        raise _part_refused(wanted, f"subPathExpr `{shown_sub_path(wanted)}` {error}") from None


def _part_refused(wanted: JsonObject, why: str) -> ConfigRefusedError:
    return ConfigRefusedError(f'volume "{wanted.get("name")}": {why}')


def image_mount(
    wanted: JsonObject, path: str, part: str, image_id: str, runtime: RuntimeFeatures
) -> cri.Mount:
    """Return the mount of an image, or of a part of it, at ``path``. Raises ``ConfigRefusedError``."""
    name = wanted.get("name")
    if not runtime.image_volumes:
        raise ConfigRefusedError(
            f'volume "{name}" is an image, which this container runtime does not mount (containerd '
            "does since 2.1, CRI-O since 1.31)"
        )
    if part and not runtime.image_sub_paths:
        raise ConfigRefusedError(
            f'volume "{name}" is mounted by a subPath, which this container runtime does not have '
            "for images (containerd has since 2.2, CRI-O since 1.33)"
        )
    if not image_id:
        raise ConfigRefusedError(f'volume "{name}": its image is not there')
    return cri.Mount(
        container_path=path,
        readonly=True,
        image=cri.ImageSpec(image=image_id),
        image_sub_path=part,
    )
