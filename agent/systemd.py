"""Tells systemd how the agent is, by the notify protocol of ``Type=notify`` and of the watchdog.

Each message is a datagram to the socket that ``NOTIFY_SOCKET`` names. No call here raises, or waits for
longer than a second. The environment stays as it is, because libraries and child processes may want to
notify systemd, too.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

from messages.units import Seconds

_SEND_TIMEOUT = Seconds(1.0)
"""How long a full socket may block the caller. A reader that is alive empties it in milliseconds."""


class Systemd:
    """The service manager that started this process, if there is one.

    Without ``NOTIFY_SOCKET`` its methods do nothing. They may be called from any thread.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self._watchdog_interval = _watchdog_interval(environment) if self._address else None

    @property
    def watchdog_interval(self) -> Seconds | None:
        """Seconds between two calls of ``watchdog``: half the time after which systemd kills the process.

        ``None`` when systemd does not watch this process.
        """
        return self._watchdog_interval

    def ready(self) -> None:
        """Tell systemd that the start is done: units that wait for this one may start."""
        self._tell("READY=1")

    def status(self, text: str) -> None:
        """Tell systemd how the agent is. ``systemctl status`` shows ``text`` as one line."""
        self._tell(f"STATUS={' '.join(text.split())}")  # a line break would begin another message

    def watchdog(self) -> None:
        """Tell systemd that the agent is alive. Call it only after checking that."""
        self._tell("WATCHDOG=1")

    def stopping(self) -> None:
        """Tell systemd that an orderly stop has begun."""
        self._tell("STOPPING=1")

    def _tell(self, message: str) -> None:
        if not self._address:
            return
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel,
        ):
            channel.settimeout(_SEND_TIMEOUT)
            channel.sendto(message.encode(errors="replace"), self._address)


def _address(name: str) -> bytes:
    """Return the socket's address. Empty for no name, and for VSOCK addresses, which only VMs use."""
    if name.startswith("@"):
        return b"\0" + os.fsencode(name[1:])  # an abstract socket, which is in no file system
    return os.fsencode(name) if name.startswith("/") else b""


def _watchdog_interval(environment: Mapping[str, str]) -> Seconds | None:
    watched = environment.get("WATCHDOG_PID") or str(os.getpid())
    microseconds = environment.get("WATCHDOG_USEC", "")
    if watched != str(os.getpid()) or not microseconds.isdecimal() or not int(microseconds):
        return None
    return Seconds(int(microseconds) / 10**6 / 2)
