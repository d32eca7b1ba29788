"""What the API server would refuse in a container's mounts and devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manifests.names import no_backsteps, relative_path
from manifests.places import Place, told_twice

_PROPAGATIONS = ("None", "HostToContainer", "Bidirectional")
_BLOCK_KINDS = ("persistentVolumeClaim", "ephemeral")


def validate_mounts(container: Place, volumes: Mapping[str, Any]) -> None:
    """Tell what is wrong with volume mounts and devices; ``volumes`` are the pod's, by name."""
    mounts = list(container.each("volumeMounts"))
    devices = list(container.each("volumeDevices"))
    for mount in mounts:
        mount.required("mountPath")
        _validate_volume_name(mount, volumes)
        _validate_sub_path(mount)
        _validate_propagation(mount, container)
    for device in devices:
        device.required("devicePath")
        device.obeys("devicePath", no_backsteps)
        _validate_volume_name(device, volumes)
        source = volumes.get(device.get("name", ""), {})
        if source and not any(kind in source for kind in _BLOCK_KINDS):
            device.wrong("must be the name of a volume that is a persistent volume claim", "name")
    told_twice(mounts, "mountPath", "is mounted more than once")
    told_twice(devices, "devicePath", "is the path of more than one device")
    told_twice(devices, "name", "is the volume of more than one device")
    _refuse_overlaps(mounts, devices)


def _refuse_overlaps(mounts: list[Place], devices: list[Place]) -> None:
    paths = {mount.get("mountPath") for mount in mounts}
    names = {mount.get("name") for mount in mounts}
    for device in devices:
        if device.get("devicePath") in paths:
            device.wrong("is the path of a volume mount too", "devicePath")
        if device.get("name") in names:
            device.wrong("is the volume of a volume mount too", "name")


def _validate_volume_name(mount: Place, volumes: Mapping[str, Any]) -> None:
    if mount.required("name") and mount.get("name") not in volumes:
        mount.wrong("must be the name of one of spec.volumes", "name")


def _validate_sub_path(mount: Place) -> None:
    for name in ("subPath", "subPathExpr"):
        mount.obeys(name, relative_path)
    if mount.get("subPath") and mount.get("subPathExpr"):
        mount.wrong("cannot stand beside subPath", "subPathExpr")


def _validate_propagation(mount: Place, container: Place) -> None:
    propagation = mount.get("mountPropagation")
    mount.one_of("mountPropagation", _PROPAGATIONS)
    privileged = container.get("securityContext", {}).get("privileged", False)
    if propagation == "Bidirectional" and not privileged:
        mount.wrong("can be Bidirectional only in a privileged container", "mountPropagation")
    mount.one_of("recursiveReadOnly", ("Disabled", "IfPossible", "Enabled"))
    if mount.get("recursiveReadOnly") in {"IfPossible", "Enabled"}:
        if not mount.get("readOnly"):
            mount.wrong("needs readOnly: true", "recursiveReadOnly")
        if propagation not in {None, "None"}:
            mount.wrong("cannot be set with a mountPropagation", "recursiveReadOnly")
