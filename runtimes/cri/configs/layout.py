"""Where the files of pods and containers are, as in a kubelet's directory. Pure."""

from __future__ import annotations

from typing import Final

from actors.logs.layout import LoggedPod, pod_log_name
from actors.logs.layout import log_path as log_path_of
from actors.volumes.mounts.places import VolumePlace
from messages.pods import Pod, PodUid
from runtimes.cri.configs.refusals import ConfigRefusedError

LONGEST_NAME: Final = 255
"""Bytes of one part of a path, as file systems have it."""


def pod_dir(root_dir: str, uid: PodUid) -> str:
    """Return the directory of all that a pod has on the disk."""
    return f"{root_dir}/pods/{path_part(uid)}"


def hosts_file(root_dir: str, uid: PodUid) -> str:
    """Return the file that a pod's containers see as ``/etc/hosts``."""
    return f"{pod_dir(root_dir, uid)}/etc-hosts"


def sub_path_place(
    root_dir: str, uid: PodUid, volume: str, container: str, index: int
) -> VolumePlace:
    """Return where the part of a volume is bound to that a container has as its mount number ``index``."""
    names = (path_part(uid), "volume-subpaths", path_part(volume), path_part(container))
    return VolumePlace(root=f"{root_dir}/pods", names=(*names, str(index)))


def termination_file(root_dir: str, uid: PodUid, container: str, attempt: int) -> str:
    """Return the file that one instance of a container writes its termination message to."""
    return f"{pod_dir(root_dir, uid)}/containers/{path_part(container)}/{attempt:08x}"


def log_directory(pod_logs_dir: str, pod: Pod) -> str:
    """Return the directory of a pod's logs."""
    name = pod_log_name(LoggedPod(namespace=pod.namespace, name=pod.name, uid=pod.uid))
    return f"{pod_logs_dir}/{path_part(name)}"


def log_path(container: str, attempt: int) -> str:
    """Return where the log of one instance of a container is, below the pod's ``log_directory``."""
    return log_path_of(path_part(container), attempt)


def path_part(name: str) -> str:
    """Return ``name`` if it can be one part of a path, and refuse it otherwise."""
    is_bad = name in {"", ".", ".."} or "/" in name or not name.isprintable()
    if is_bad or len(name.encode(errors="replace")) > LONGEST_NAME:
        raise ConfigRefusedError(f"{name[:80]!r} cannot be the name of a file or directory")
    return name
