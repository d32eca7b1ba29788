"""The facts about this machine, read from where Linux shows them.

Everything here touches the system, and nothing raises. What cannot be read is empty or ``None``:
containers hide some files, and a node without a machine ID is still a node.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from typing_extensions import override

from actors.node.conditions import Availability, PressureSignals
from manifests.requests import Amounts, amounts_of
from messages.pod_runtime import RUNTIME_SAYS, RuntimeNode
from messages.pods import JsonObject

ARCHITECTURES: Final[Mapping[str, str]] = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv6l": "arm",
    "armv7l": "arm",
    "i386": "386",
    "i686": "386",
    "loongarch64": "loong64",
}
"""The kernel's names of architectures, and Go's where they differ: images and node selectors use Go's."""

_FAR_AWAY: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses for documentation. They belong to nobody, so only the default route leads there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """One reading of the machine. All amounts of memory and storage are in bytes."""

    cpus: int
    memory: int
    storage: int | None
    """None if pods use none of this machine."""
    hugepages: Mapping[int, int] = field(default_factory=dict)
    """Bytes reserved for huge pages, by the size of a page."""
    addresses: tuple[str, ...] = ()
    """IP addresses, the most important one first."""
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    kernel: str = ""
    os_image: str = ""
    architecture: str = ""
    """Go's name of it."""
    signals: PressureSignals = field(default_factory=PressureSignals)
    stated: Amounts = field(default_factory=dict)
    """Amounts of resources that the runtime of pods states, in place of the machine's."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the runtime wants on the Node."""
    taints: tuple[JsonObject, ...] = ()
    """Taints that the runtime wants on a Node that is created."""
    troubles: Mapping[str, str] = field(default_factory=dict)
    """What the runtime says is wrong, by the type of the Node's condition that is bad because of it."""
    trouble_reason: str = RUNTIME_SAYS
    """The reason of these conditions."""
    runtime: str | None = None
    """The runtime with its version, empty while it has not said them; None for the agent itself."""


class Machine(Protocol):
    """The machine that the Node stands for."""

    def read(self) -> MachineFacts:
        """Return the facts at present. Never raises, but may block for as long as a filesystem does."""
        ...

    def addresses(self) -> tuple[str, ...]:
        """Return the IP addresses at present, the most important one first. Neither raises nor blocks."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinuxMachine(Machine):
    """All of this machine, as a kubelet reports it, whatever the limits of the agent's own cgroup."""

    root_dir: Path
    """The directory whose filesystem is the ephemeral storage. It need not exist yet."""
    node_ips: Sequence[str] = ()
    """Configured addresses. If there are none, the address of the default route counts."""
    system: Path = Path("/")
    """The directory with ``proc``, ``sys`` and ``etc``."""

    @override
    def read(self) -> MachineFacts:
        """Return the facts at present."""
        memory = _pairs(self._text("proc/meminfo"), ":")
        disk = _filesystem(self.root_dir)
        return MachineFacts(
            cpus=os.cpu_count() or 1,
            memory=_kibibytes(memory.get("MemTotal")) or 0,
            storage=disk.f_blocks * disk.f_frsize if disk else 0,
            hugepages=self._hugepages(),
            addresses=self.addresses(),
            machine_id=self._text("etc/machine-id") or self._text("var/lib/dbus/machine-id"),
            # Only root can read it, and some virtual machines have none.
            system_uuid=self._text("sys/class/dmi/id/product_uuid"),
            boot_id=self._text("proc/sys/kernel/random/boot_id"),
            kernel=os.uname().release,
            os_image=_os_image(self._text("etc/os-release")),
            architecture=ARCHITECTURES.get(os.uname().machine, os.uname().machine),
            signals=PressureSignals(
                memory_free=_kibibytes(memory.get("MemAvailable")),
                memory=_kibibytes(memory.get("MemTotal")),
                storage=_stock(disk and disk.f_bavail, disk and disk.f_blocks),
                # Filesystems that create inodes on demand say that they have none at all.
                inodes=_stock(disk and disk.f_favail, disk and disk.f_files),
                pids=self._pids(),
            ),
        )

    @override
    def addresses(self) -> tuple[str, ...]:
        """Return the configured addresses, or else that of the default route as it is now."""
        return tuple(self.node_ips) or default_addresses()

    def _text(self, path: str) -> str:
        with suppress(OSError):
            return (self.system / path).read_text(errors="replace").strip()
        return ""

    def _hugepages(self) -> dict[int, int]:
        pages = {}
        for folder in sorted(self.system.glob("sys/kernel/mm/hugepages/hugepages-*kB")):
            size = _number(folder.name.removeprefix("hugepages-").removesuffix("kB"))
            count = _number(self._text(f"{folder.relative_to(self.system)}/nr_hugepages"))
            if size:
                pages[size * 1024] = size * 1024 * (count or 0)
        return pages

    def _pids(self) -> Availability:
        """Return the process IDs, which threads use too. ``loadavg`` has ``running/all``."""
        limits = map(
            _number, map(self._text, ("proc/sys/kernel/pid_max", "proc/sys/kernel/threads-max"))
        )
        limit = min((each for each in limits if each is not None), default=None)
        load = self._text("proc/loadavg").split()
        used = _number(load[3].rpartition("/")[2]) if len(load) > 3 else None
        free = None if limit is None or used is None else max(0, limit - used)
        return Availability(free=free, total=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMachine(Machine):
    """A machine of which the runtime of pods says a part itself, since its pods run elsewhere."""

    machine: Machine
    told: Callable[[], RuntimeNode | None]
    """Returns what the runtime says at present; None while that is nothing. Does not block."""

    @override
    def read(self) -> MachineFacts:
        """Return the machine's facts, but those that the runtime tells."""
        facts, told = self.machine.read(), self.told()
        if told is None:
            return facts
        return replace(
            facts,
            addresses=told.addresses or facts.addresses,
            stated=amounts_of(told.capacity),
            labels=told.labels,
            taints=told.taints,
            storage=None if told.has_own_machines else facts.storage,
            hugepages={} if told.has_own_machines else facts.hugepages,
            troubles=told.troubles,
            trouble_reason=told.trouble_reason,
            runtime=told.version,
        )

    @override
    def addresses(self) -> tuple[str, ...]:
        """Return the addresses that the runtime tells, or else the machine's."""
        told = self.told()
        return (told.addresses if told is not None else ()) or self.machine.addresses()


def default_addresses() -> tuple[str, ...]:
    """Return the address that the default route leaves from, IPv4 before IPv6; none without a route.

    Connecting a UDP socket looks up the route and sends nothing.
    """
    for family, far_away in _FAR_AWAY:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((far_away, 9))
            return (str(probe.getsockname()[0]),)
    return ()


def _filesystem(path: Path) -> os.statvfs_result | None:
    """Return the filesystem of ``path``, or of its nearest parent that exists."""
    for place in (path, *path.parents):
        with suppress(OSError):
            return os.statvfs(place)
    return None


def _stock(free: int | None, total: int | None) -> Availability:
    return Availability(free=free, total=total)


def _os_image(os_release: str) -> str:
    return _pairs(os_release, "=").get("PRETTY_NAME", "").strip("\"'")


def _pairs(text: str, separator: str) -> dict[str, str]:
    parts = (line.partition(separator) for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in parts}


def _kibibytes(text: str | None) -> int | None:
    """Return the bytes of ``123 kB``, which means kibibytes in ``/proc``."""
    number = _number((text or "").removesuffix("kB").strip())
    return None if number is None else number * 1024


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None
