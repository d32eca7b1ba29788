"""What a machine must have for tests with real containers, and which of it is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

PROGRAMS: Final = ("containerd", "containerd-shim-runc-v2", "ctr", "runc", "mount", "umount")
PLUGINS: Final = Path("/usr/lib/cni")
NETWORK_PLUGINS: Final = ("bridge", "host-local", "portmap", "loopback")
PACKAGES: Final = "containerd, runc, containernetworking-plugins and busybox-static"
CAP_SYS_ADMIN: Final = 1 << 21


def missing() -> str:
    """Return why this machine runs no containers, in one sentence; empty if it does."""
    if os.geteuid() != 0:
        return "real containers need root"
    if not capabilities() & CAP_SYS_ADMIN:
        return "real containers need CAP_SYS_ADMIN, which this root does not have"
    without = [name for name in PROGRAMS if shutil.which(name) is None]
    without += [name for name in NETWORK_PLUGINS if not PLUGINS.joinpath(name).exists()]
    if busybox() is None:
        without.append("a static busybox")
    if without:
        return f"real containers need {', '.join(without)}: Debian has them in {PACKAGES}"
    return ""


def require() -> None:
    """Skip the test where there can be no containers. In CI it fails instead: nothing is left out there."""
    if why := missing():
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)


def busybox() -> Path | None:
    """Return a busybox that needs no libraries."""
    for name in ("busybox", "busybox-static"):
        found = shutil.which(name)
        if found is not None and _is_static(Path(found)):
            return Path(found)
    return None


def snapshotter(folder: Path) -> str:
    """Return the better snapshotter that the kernel lets us have in ``folder``."""
    parts = {name: folder / "overlay" / name for name in ("lower", "upper", "work", "merged")}
    for part in parts.values():
        part.mkdir(parents=True)
    options = "lowerdir={lower},upperdir={upper},workdir={work}".format_map(parts)
    command = ["mount", "-t", "overlay", "overlay", "-o", options, str(parts["merged"])]
    is_mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    if is_mounted:
        subprocess.run(["umount", parts["merged"]], check=True)
    shutil.rmtree(folder / "overlay")
    return "overlayfs" if is_mounted else "native"


def capabilities() -> int:
    """Return what this process may do, as the kernel numbers it."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, flags=re.MULTILINE)
    return int(found[1], 16) if found else 0


def _is_static(program: Path) -> bool:
    """Return whether an ELF file names no loader: that stands right behind its headers."""
    with program.open("rb") as file:
        return b"/ld-" not in file.read(4096)
