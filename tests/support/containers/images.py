"""Images without a registry: archives as ``docker save`` writes them, made of a static busybox."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

PAUSE: Final = "docker.io/local/pause:1"
BUSYBOX: Final = "docker.io/library/busybox:1.37"
NUMERIC_USER: Final = "docker.io/local/numeric-user:1"
NAMED_USER: Final = "docker.io/local/named-user:1"
UNKNOWN_USER: Final = "docker.io/local/unknown-user:1"
SERVER: Final = "docker.io/local/server:1"

ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
APP_UID: Final = 1234

FILES: Final = {
    "etc/passwd": f"root:x:0:0:root:/root:/bin/sh\napp:x:{APP_UID}:{APP_UID}:app:/home/app:/bin/sh\n",
    "etc/group": f"root:x:0:\napp:x:{APP_UID}:\n",
}
FOLDERS: Final = ("bin", "dev", "etc", "home", "home/app", "proc", "root", "sys", "tmp", "var")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalImage:
    """An image with busybox in it, and what its configuration says."""

    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """In the words of a Dockerfile: Cmd, Entrypoint, Env, StopSignal, User, WorkingDir."""


IMAGES: Final = (
    LocalImage(name=PAUSE, config={"Entrypoint": ["/bin/sleep", "infinity"]}),
    LocalImage(name=BUSYBOX, config={"Cmd": ["sh"]}),
    LocalImage(name=NUMERIC_USER, config={"Cmd": ["sh"], "User": str(APP_UID)}),
    LocalImage(name=NAMED_USER, config={"Cmd": ["sh"], "User": "app"}),
    LocalImage(name=UNKNOWN_USER, config={"Cmd": ["sh"], "User": "nobody-knows"}),
    LocalImage(
        name=SERVER,
        config={
            "Entrypoint": ["/bin/sh", "-c"],
            "Cmd": ["trap 'exit 7' USR1; echo at your service; while true; do sleep 0.1; done"],
            "Env": [PATH, "FROM_IMAGE=yes"],
            "StopSignal": "SIGUSR1",
            "WorkingDir": "/tmp",
        },
    ),
)
"""Every image that a containerd of the tests begins with."""


def archive(busybox: Path, images: Sequence[LocalImage] = IMAGES) -> bytes:
    """Return an archive of ``images``, which have the same files, for ``ctr images import``."""
    files_of_all = layer(busybox)
    files = {"layer.tar": files_of_all}
    manifest = []
    for image in images:
        config = json.dumps(configuration(image, files_of_all)).encode()
        name = f"{hashlib.sha256(config).hexdigest()}.json"
        files[name] = config
        manifest.append({"Config": name, "RepoTags": [image.name], "Layers": ["layer.tar"]})
    files["manifest.json"] = json.dumps(manifest).encode()
    return _tar((_file(name, content), content) for name, content in files.items())


def configuration(image: LocalImage, files: bytes) -> dict[str, Any]:
    """Return the configuration of an image, whose hash is its id."""
    machine = platform.machine()
    return {
        "architecture": ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {"Env": [PATH], **image.config},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(files).hexdigest()}"]},
    }


@cache
def layer(busybox: Path) -> bytes:
    """Return the files of every image: busybox, each of its commands as a link to it, and two users."""
    said = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout
    entries = [(_folder(name), b"") for name in FOLDERS]
    entries.append((_file("bin/busybox", busybox.read_bytes(), 0o755), busybox.read_bytes()))
    entries += [
        (_link(f"bin/{name}", "busybox"), b"") for name in said.split() if name != "busybox"
    ]
    entries += [(_file(name, text.encode()), text.encode()) for name, text in FILES.items()]
    return _tar(entries)


def _tar(entries: Any) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for info, content in entries:
            tar.addfile(info, io.BytesIO(content))
    return written.getvalue()


def _folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
    return info


def _file(name: str, content: bytes, mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    return info


def _link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
    return info
