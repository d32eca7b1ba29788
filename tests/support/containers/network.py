"""A bridge network for pods: each containerd of the tests has a number, a bridge and addresses of its own."""

from __future__ import annotations

import fcntl
import json
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

NUMBERS: Final = range(100)
"""The name of a network device has at most 15 characters."""
BRIDGE: Final = "actorlet-test"
DEVICES: Final = Path("/sys/class/net")
NUMBER_FILE: Final = "network"
CONFIG: Final = "cni/10-bridge.conflist"

SET_FLAGS: Final = 0x8914
DELETE_BRIDGE: Final = 0x89A1
"""Requests of ``ioctl`` to a network device: SIOCSIFFLAGS and SIOCBRDELBR."""


class NumberTaken(Exception):  # noqa: N818 - as BlockingIOError, it says what is so
    """Somebody has the number of a network already."""


class NetworkNumber:
    """A number that nobody else on this machine has, until it is closed or its process has ended."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._held = socket.socket(socket.AF_UNIX)
        try:
            self._held.bind(f"\0actorlet-tests-network-{number}")
        except OSError as error:
            self._held.close()
            raise NumberTaken(str(number)) from error

    def close(self) -> None:
        """Let others have it."""
        self._held.close()


def free_number() -> NetworkNumber:
    """Return a number that is held from now on, of a bridge that is not there yet."""
    for number in NUMBERS:
        if not (DEVICES / f"{BRIDGE}{number}").exists():
            with suppress(NumberTaken):
                return NetworkNumber(number)
    raise NumberTaken("each of them")


def subnet(number: int) -> str:
    """Return the addresses of a network's pods."""
    return f"10.213.{number}.0/24"


def write_config(folder: Path, number: int) -> None:
    """Have containerd find the network. Written in place, as it does not look at files that are moved."""
    folder.joinpath(NUMBER_FILE).write_text(str(number))
    ipam = {
        "type": "host-local",
        "dataDir": str(folder / "addresses"),
        "ranges": [[{"subnet": subnet(number)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": f"{BRIDGE}{number}", "isGateway": True, "ipam": ipam}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    config = {"cniVersion": "1.0.0", "name": f"{BRIDGE}{number}", "plugins": [bridge, ports]}
    folder.joinpath(CONFIG).write_text(json.dumps(config))


def remove_config(folder: Path) -> None:
    """Have containerd find no network any more."""
    folder.joinpath(CONFIG).unlink(missing_ok=True)


def remove_bridge(folder: Path) -> None:
    """Remove the bridge of a world, unless another one has its number by now."""
    try:
        number = int(folder.joinpath(NUMBER_FILE).read_text())
        held = NetworkNumber(number)
    except (OSError, ValueError, NumberTaken):
        return
    name = f"{BRIDGE}{number}".encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked, suppress(OSError):
        fcntl.ioctl(asked, SET_FLAGS, struct.pack("16sH14x", name, 0))
        fcntl.ioctl(asked, DELETE_BRIDGE, name.ljust(16, b"\0"))
    held.close()
