"""What is mounted into a container, and what has to be on the disk before that. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Final

from messages.pods import JsonObject, Pod
from runtimes.cri.configs.hosts_file import hosts_content, node_hosts_file
from runtimes.cri.configs.layout import hosts_file, log_directory, path_part, termination_file
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import refusing_impossible_values
from runtimes.cri.configs.volume_mounts import MountSituation, VolumeMounts
from runtimes.cri.disk.tasks import (
    DiskTask,
    MakeLogDirectory,
    MakeTerminationFile,
    WriteHostsFile,
)
from runtimes.cri.wire import cri_pb2 as cri

ETC_HOSTS: Final = "/etc/hosts"
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
