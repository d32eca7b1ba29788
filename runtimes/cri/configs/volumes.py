"""Where the volumes of a pod are on the node, and which ones there cannot be yet. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from manifests.names import no_backsteps
from messages.pods import JsonObject, Pod
from messages.volumes import PodVolume
from runtimes.cri.configs.documents import security_of, spec_of
from runtimes.cri.configs.layout import empty_dir, empty_dir_marker
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.disk.tasks import CheckHostPath, DiskTask, MakeEmptyDir
from volumes.mounts.host_paths import HostPathType

_INJECTED: Final = "kube-api-access-"
"""How the names of the volumes begin that API servers put into every pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeOnNode:
    """One volume that containers can mount."""

    volume: PodVolume
    task: DiskTask
    """What makes or checks it."""


def volumes_by_name(pod: Pod) -> Mapping[str, JsonObject]:
    """Return the volumes of the specification."""
    return {each.get("name") or "": each for each in spec_of(pod).get("volumes") or ()}


def volume_on_node(pod: Pod, volume: JsonObject, node: CriNode) -> VolumeOnNode:
    """Return where ``volume`` is. Refuses the kinds that cannot be mounted."""
    name = volume.get("name") or ""
    kind = next((key for key in volume if key != "name"), "emptyDir")
    source = volume.get(kind) or {}
    if kind == "hostPath":
        return _host_path(name, source)
    if kind != "emptyDir":
        raise ConfigRefusedError(
            f'volume "{name}" is of the kind {kind}, which cannot be mounted yet'
        )
    if medium := source.get("medium"):
        text = f'volume "{name}" is an emptyDir of the medium {medium}, which cannot be mounted yet'
        raise ConfigRefusedError(text)
    path = empty_dir(node.root_dir, pod.uid, name)
    group = security_of(spec_of(pod)).get("fsGroup")
    marker = empty_dir_marker(node.root_dir, pod.uid, name)
    task = MakeEmptyDir(path=path, marker=marker, group=group)
    return VolumeOnNode(volume=PodVolume(path=path, is_own=True), task=task)


def is_token_volume(volume: JsonObject) -> bool:
    """Return whether it is one with a service account's token, which API servers put into every pod."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    return (volume.get("name") or "").startswith(_INJECTED) and any(
        "serviceAccountToken" in source for source in sources
    )


def _host_path(name: str, source: JsonObject) -> VolumeOnNode:
    path = source.get("path") or ""
    if not path.startswith("/") or no_backsteps(path) or "\0" in path:
        raise ConfigRefusedError(
            f'volume "{name}": hostPath.path must be an absolute path without ".."'
        )
    try:
        kind = HostPathType(source.get("type") or "")
    except ValueError:
        raise ConfigRefusedError(f'volume "{name}": hostPath.type is not known') from None
    task = CheckHostPath(volume=name, path=path, type=kind)
    return VolumeOnNode(volume=PodVolume(path=path), task=task)
