"""Volumes of drivers and of a kubelet's other plugins, as a kubelet leaves them in its root directory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.system_calls import KernelMounts, MountFlag

DRIVER: Final = "disk.example.org"


class KubeletRoot:
    """A root directory in which a kubelet had pods. Nothing is mounted unless that is asked for."""

    def __init__(self, root: Path) -> None:
        self.path = root
        self._kubernetes = root / "plugins" / "kubernetes.io"

    def pod(self, uid: str) -> Path:
        """Return the directory of a pod, with what a kubelet makes for each, and a file of a container."""
        pod = self.path / "pods" / uid
        for each in ("volumes/kubernetes.io~empty-dir/tmp", "plugins", "containers/main"):
            pod.joinpath(each).mkdir(parents=True, exist_ok=True)
        pod.joinpath("volumes/kubernetes.io~empty-dir/tmp/file").write_text("of the pod")
        pod.joinpath("containers/main/00000000").touch()
        return pod

    def published(self, uid: str, pv: str, handle: str = "h1") -> Path:
        """Return where a driver publishes a volume to a pod, with the record of that beside it."""
        target = self.path / "pods" / uid / "volumes" / "kubernetes.io~csi" / pv / "mount"
        target.mkdir(parents=True)
        record = {
            "attachmentID": f"csi-{handle}",
            "driverName": DRIVER,
            "nodeName": "n1",
            "specVolID": pv,
            "volumeHandle": handle,
            "volumeLifecycleMode": "Persistent",
        }
        target.with_name("vol_data.json").write_text(json.dumps(record))
        return target

    def staged(self, pv: str, handle: str = "h1", *, is_old: bool = False) -> Path:
        """Return where a driver stages a volume, with the record of that beside it."""
        digest = hashlib.sha256(handle.encode()).hexdigest()
        place = f"pv/{pv}" if is_old else f"{DRIVER}/{digest}"
        stage = self._kubernetes / "csi" / place / "globalmount"
        stage.mkdir(parents=True)
        record = {"driverName": DRIVER, "volumeHandle": handle}
        stage.with_name("vol_data.json").write_text(json.dumps(record))
        return stage

    def mapped(self, uid: str, pv: str, handle: str = "h1") -> Path:
        """Return the link of a pod to a device that a driver publishes."""
        data = self._kubernetes / "csi" / "volumeDevices" / pv / "data"
        data.mkdir(parents=True)
        record = {"driverName": DRIVER, "volumeHandle": handle}
        data.joinpath("vol_data.json").write_text(json.dumps(record))
        link = self.path / "pods" / uid / "volumeDevices" / "kubernetes.io~csi" / pv
        link.parent.mkdir(parents=True)
        link.symlink_to(f"/dev/{pv}")
        return link

    def of_plugin(self, uid: str, plugin: str, name: str) -> Path:
        """Return the directory of a volume of another plugin."""
        place = self.path / "pods" / uid / "volumes" / plugin.replace("/", "~") / name
        place.mkdir(parents=True)
        return place

    def files(self) -> dict[str, str]:
        """Return all that is there: the kind of each path, and its content if it is a file."""
        return dict(self._files(self.path.rglob("*")))

    def _files(self, paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
        for each in paths:
            kind = "link" if each.is_symlink() else "directory" if each.is_dir() else "file"
            content = each.read_text() if kind == "file" else ""
            yield str(each.relative_to(self.path)), f"{kind} {content}"

    def mounted(self) -> list[str]:
        """Return where something is mounted, in order."""
        below = mounts_below(KernelMounts().table(), str(self.path))
        return sorted(str(Path(each.path).relative_to(self.path)) for each in below)


def mount_disk(place: Path) -> Path:
    """Mount a file system of its own, as a driver that stages a disk. Return a file in it."""
    KernelMounts().mount("tmpfs", str(place), "tmpfs", MountFlag.NONE, "size=64k")
    precious = place / "precious"
    precious.write_text("data")
    return precious


def bind(source: Path, target: Path) -> None:
    """Show a directory at another place, as a driver that publishes what it staged."""
    KernelMounts().mount(str(source), str(target), "", MountFlag.BIND, "")


def unmount(place: Path) -> None:
    """Unmount what is there, as whoever deals with it."""
    KernelMounts().unmount(str(place))
