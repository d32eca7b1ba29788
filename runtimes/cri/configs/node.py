"""What configurations need to know of the node: its runtime, and where the files of pods are. Pure.

The directories are those of a kubelet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from actors.logs.layout import LoggedPod, pod_log_name
from actors.logs.layout import log_path as log_path_of
from actors.volumes.mounts.places import VolumePlace
from files.cgroups.names import CgroupOptions
from messages.pods import Pod, PodUid
from runtimes.cri.configs.documents import ConfigRefusedError

_FIRST: Final[Mapping[str, tuple[int, int]]] = {"containerd": (2, 1), "cri-o": (1, 31)}
"""The first version that mounts images, by the runtime's name."""
_FIRST_WITH_PARTS: Final[Mapping[str, tuple[int, int]]] = {"containerd": (2, 2), "cri-o": (1, 33)}
_VERSION: Final = re.compile(r"v?([0-9]{1,5})\.([0-9]{1,5})(?![0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvConf:
    """What a ``resolv.conf`` says."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDns:
    """How pods resolve names."""

    cluster_servers: tuple[str, ...] = ()
    """``clusterDNS``: addresses. Without any, pods use the node's servers instead."""
    cluster_domain: str = ""
    """``clusterDomain``. Empty: the cluster's names are not searched."""
    node: ResolvConf | None = field(default_factory=ResolvConf)
    """What the file ``resolvConf`` says; None if the node has said that there is none."""
    file: str = ""
    """That file, which is read again for each pod; empty if it is not."""
    is_of_cluster: bool = True
    """Whether there is a cluster, whose names a pod may ask for."""


@dataclass(frozen=True, slots=True)
class HandlerFeatures:
    """What one handler of a runtime can do."""

    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


NO_FEATURES: Final = HandlerFeatures()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeFeatures:
    """What a runtime says that it can do. Runtimes from before 2024 say nothing, and count as unable."""

    supplemental_groups_policy: bool = False
    user_namespaces_host_network: bool = False
    image_volumes: bool = False
    """It mounts images as volumes."""
    image_sub_paths: bool = False
    """It mounts parts of images. One that does not know them mounts the whole image instead."""
    handlers: Mapping[str, HandlerFeatures] = field(default_factory=dict)
    """By name; the default handler is the empty name."""

    def of_handler(self, name: str) -> HandlerFeatures:
        """Return what the handler can do."""
        return self.handlers.get(name, NO_FEATURES)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriNode:
    """The node on which pods run, as far as configurations depend on it."""

    name: str
    root_dir: str
    """Absolute. Files of pods are below ``pods`` in it, seccomp profiles below ``seccomp``."""
    pod_logs_dir: str = "/var/log/pods"
    ips: tuple[str, ...] = ()
    """The node's addresses, the one of the primary family first."""
    dns: NodeDns = field(default_factory=NodeDns)
    runtime: RuntimeFeatures = field(default_factory=RuntimeFeatures)
    runtime_classes: Mapping[str, str] | None = None
    """The handler of each RuntimeClass, by its name. None until they are listed."""
    cgroups: CgroupOptions = field(default_factory=CgroupOptions)
    """How limits of cpu are told."""
    seccomp_default: bool = False
    """Containers that say nothing of seccomp have the runtime's own profile instead of none."""
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    """Names, or beginnings of names that end in ``*``."""
    has_selinux: bool = False
    has_apparmor: bool = False


class ImageVolumeFeatures(NamedTuple):
    """What a runtime can do with images as volumes."""

    mounts_images: bool
    mounts_parts: bool


def image_volume_features(name: str, version: str) -> ImageVolumeFeatures:
    """Return what the runtime of this name and version can do. An unknown one cannot."""
    found = _VERSION.match(version)
    number = (int(found[1]), int(found[2])) if found is not None else (0, 0)
    never = (1 << 20, 0)
    return ImageVolumeFeatures(
        number >= _FIRST.get(name.lower(), never),
        number >= _FIRST_WITH_PARTS.get(name.lower(), never),
    )


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
