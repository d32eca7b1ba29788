"""Tells systemd how the agent is: the notify protocol of ``Type=notify`` and of the watchdog.

A datagram to the socket that ``NOTIFY_SOCKET`` names. Whatever is in its way, the agent goes on: no
call here raises or waits for longer than a second. The environment is left as it is, since what the
agent is made of, or starts, may want to tell systemd as well.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

from messages.units import Seconds

_SEND_TIMEOUT = Seconds(1.0)
"""How long a full socket may hold up the caller. A reader that is alive empties it in milliseconds."""


class Systemd:
    """The service manager that started this process, if one did.

    Without ``NOTIFY_SOCKET`` every call does nothing. Safe to use from any thread.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self._watchdog_interval = _watchdog_interval(environment) if self._address else None

    @property
    def watchdog_interval(self) -> Seconds | None:
        """Time between two calls of ``watchdog``: half of what systemd waits for before it kills.

        ``None`` when systemd does not watch this process.
        """
        return self._watchdog_interval

    def ready(self) -> None:
        """Say that starting is done: units that wait for this one may start."""
        self._tell("READY=1")

    def status(self, text: str) -> None:
        """Say in one line, which ``systemctl status`` shows, how the agent is."""
        self._tell(f"STATUS={' '.join(text.split())}")  # a line break would begin another message

    def watchdog(self) -> None:
        """Say that the agent is alive. Only to be said by who has just found out."""
        self._tell("WATCHDOG=1")

    def stopping(self) -> None:
        """Say that an orderly stop has begun."""
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
    """Return the socket's address; empty for none, and for a kind that only machines in machines use."""
    if name.startswith("@"):
        return b"\0" + os.fsencode(name[1:])  # an abstract socket, which is in no file system
    return os.fsencode(name) if name.startswith("/") else b""


def _watchdog_interval(environment: Mapping[str, str]) -> Seconds | None:
    watched = environment.get("WATCHDOG_PID") or str(os.getpid())
    microseconds = environment.get("WATCHDOG_USEC", "")
    if watched != str(os.getpid()) or not microseconds.isdecimal() or not int(microseconds):
        return None
    return Seconds(int(microseconds) / 10**6 / 2)
