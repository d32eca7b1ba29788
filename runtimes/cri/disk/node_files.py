"""What files of the node say that configurations depend on."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LARGEST: Final = 1 << 20
"""Bytes of a file. What is beyond is not read."""
_APPARMOR: Final = "sys/module/apparmor/parameters/enabled"
_APPARMOR_PROFILES: Final = "sys/kernel/security/apparmor/profiles"
_SELINUX: Final = "sys/fs/selinux/enforce"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSecurity:
    """Which of the kernel's security modules there are."""

    has_selinux: bool
    has_apparmor: bool


def kernel_security(root: Path = Path("/")) -> KernelSecurity:
    """Return what the kernel below ``root`` has."""
    is_on = _content(root / _APPARMOR).startswith(b"Y")
    return KernelSecurity(
        has_selinux=bool(_content(root / _SELINUX)),
        has_apparmor=is_on and root.joinpath(_APPARMOR_PROFILES).exists(),
    )


def read_resolv_conf(path: str) -> bytes:
    """Return the content of a ``resolv.conf``. Raises ``OSError``; anything but a file is one."""
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(f"{path} is not a file")
        return os.read(opened, LARGEST)
    finally:
        os.close(opened)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(64)
    except OSError:
        return b""
