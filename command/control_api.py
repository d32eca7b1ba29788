"""Asks an agent by the socket below its root directory: for what is not for every user of the machine."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from errno import EPERM
from http.client import HTTPConnection
from pathlib import Path
from struct import Struct
from typing import Final

from typing_extensions import override

from command.server_names import PATIENCE

SOCKET: Final = "actorlet.sock"
_CREDENTIALS: Final = Struct("3i")
"""Process, user and group, as the kernel tells them."""


@dataclass(frozen=True, slots=True)
class ControlPlace:
    """The socket of the agent with this root directory."""

    root_dir: Path
    is_told: bool = False
    """Whether an agent has told it, not a person: only root or this user may be there then."""

    @override
    def __str__(self) -> str:
        """Return its path."""
        return str(self.root_dir / SOCKET)

    @property
    def absence(self) -> str:
        """Why no agent may be there."""
        return "it does not run, or its root directory is another one (--root-dir)"

    def connection(self, patience: float) -> HTTPConnection:
        """Return a connection that is not made yet."""
        return UnixConnection(self.root_dir, patience, is_checked=self.is_told)

    def is_there(self) -> bool:
        """Return whether an agent listens, also where this user may not see that."""
        connection = UnixConnection(self.root_dir, PATIENCE)
        try:
            connection.connect()
        except PermissionError:
            return True
        except OSError:
            return False
        finally:
            connection.close()
        return True


class UnixConnection(HTTPConnection):
    """HTTP over the socket of an agent."""

    def __init__(self, root_dir: Path, patience: float, *, is_checked: bool = False) -> None:
        """``is_checked``: whether only root, or this user, may be who answers."""
        super().__init__("localhost", timeout=patience)
        self._root_dir = root_dir
        self._is_checked = is_checked

    @override
    def connect(self) -> None:
        """Connect. Raises OSError."""
        try:
            self._connect()
        except PermissionError as error:
            allowed = f"{error.strerror}: it is for root and the agent's own user"
            raise PermissionError(error.errno, allowed) from None
        if self._is_checked and _owner(self.sock) not in {0, os.geteuid()}:
            self.close()
            raise PermissionError(EPERM, "it is another user's: --root-dir chooses it on purpose")

    def _connect(self) -> None:
        # By the directory's descriptor: a path of more than 107 bytes could not be connected to.
        directory = os.open(self._root_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{directory}/{SOCKET}")
        finally:
            os.close(directory)


def _owner(connected: socket.socket) -> int:
    """Return the user whose process listens, as the kernel knows it."""
    told = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(told)[1])
