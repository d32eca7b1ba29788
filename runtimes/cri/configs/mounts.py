"""What is mounted into a container, and what has to be on the disk before that. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Final

from messages.pods import JsonObject, Pod
from runtimes.cri.configs.hosts_file import hosts_content, node_hosts_file
from runtimes.cri.configs.layout import hosts_file, log_directory, path_part, termination_file
from runtimes.cri.configs.node import NO_FEATURES, CriNode, HandlerFeatures
from runtimes.cri.configs.refusals import ConfigRefusedError, refusing_impossible_values
from runtimes.cri.configs.volumes import is_token_volume, volume_on_node, volumes_by_name
from runtimes.cri.disk.tasks import (
    DiskTask,
    MakeLogDirectory,
    MakeTerminationFile,
    WriteHostsFile,
)
from runtimes.cri.wire import cri_pb2 as cri

ETC_HOSTS: Final = "/etc/hosts"
_PROPAGATIONS: Final[Mapping[str, cri.MountPropagation]] = {
    "None": cri.PROPAGATION_PRIVATE,
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


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
    *,
    ips: Sequence[str] = (),
    handler: HandlerFeatures = NO_FEATURES,
) -> ContainerMounts:
    """Return what is mounted into the next instance of ``container``. Raises ``ConfigRefusedError``.

    ``ips`` are the pod's addresses, or the node's for a pod on its network.
    """
    name = container.get("name") or ""
    with refusing_impossible_values(f"container {name}"):
        mounts, tasks = _of_pod(pod, container, node, handler)
        taken = {normpath(mount.container_path) for mount in mounts}
        for mount, task in _of_agent(pod, container, attempt, node, ips):
            if normpath(mount.container_path) not in taken:
                mounts.append(mount)
                tasks.append(task)
        tasks.append(_log_directory(pod, name, node))
        return ContainerMounts(mounts=tuple(mounts), tasks=tuple(tasks))


def _of_pod(
    pod: Pod, container: JsonObject, node: CriNode, handler: HandlerFeatures
) -> tuple[list[cri.Mount], list[DiskTask]]:
    """Return what the pod's specification mounts. A volume that is mounted twice is made once."""
    if devices := container.get("volumeDevices"):
        name = devices[0].get("name")
        raise ConfigRefusedError(f'volume "{name}" is a block device, which cannot be mounted yet')
    volumes = volumes_by_name(pod)
    mounts: list[cri.Mount] = []
    tasks: dict[str, DiskTask] = {}
    for wanted in container.get("volumeMounts") or ():
        volume = volumes.get(wanted.get("name") or "")
        if volume is None:
            raise _refused(wanted, "is not one of the pod's volumes")
        if is_token_volume(volume):
            continue
        found = volume_on_node(pod, volume, node)
        tasks[wanted["name"]] = found.task
        relabel = node.has_selinux and found.is_relabelled
        mounts.append(_mount(wanted, found.path, handler, relabel=relabel))
    return mounts, [*tasks.values()]


def _mount(
    wanted: JsonObject, host_path: str, handler: HandlerFeatures, *, relabel: bool
) -> cri.Mount:
    if wanted.get("subPath") or wanted.get("subPathExpr"):
        raise _refused(wanted, "is mounted by a subPath, which is not possible yet")
    path = wanted.get("mountPath") or ""
    if not path or "\0" in path:
        raise _refused(wanted, "has a mountPath that there cannot be")
    propagation = _PROPAGATIONS.get(wanted.get("mountPropagation") or "None")
    if propagation is None:
        raise _refused(wanted, "has a mountPropagation that is not known")
    return cri.Mount(
        container_path=path if path.startswith("/") else f"/{path}",
        host_path=host_path,
        readonly=bool(wanted.get("readOnly")),
        selinux_relabel=relabel,
        propagation=propagation,
        recursive_read_only=_is_recursive(wanted, handler),
    )


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


def _refused(wanted: JsonObject, why: str) -> ConfigRefusedError:
    return ConfigRefusedError(f'volume "{wanted.get("name")}" {why}')
