"""Asks an agent by the socket below its root directory: for what is not for every user of the machine."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

from typing_extensions import override

SOCKET: Final = "actorlet.sock"


@dataclass(frozen=True, slots=True)
class ControlPlace:
    """The socket of the agent with this root directory."""

    root_dir: Path

    @override
    def __str__(self) -> str:
        """Return its path."""
        return str(self.root_dir / SOCKET)

    @property
    def absence(self) -> str:
        """Why there may be nobody."""
        return "it does not run, or its root directory is another one (--root-dir)"

    def connection(self, patience: float) -> HTTPConnection:
        """Return a connection that is not made yet."""
        return UnixConnection(self.root_dir, patience)


class UnixConnection(HTTPConnection):
    """HTTP over the socket of an agent."""

    def __init__(self, root_dir: Path, patience: float) -> None:
        super().__init__("localhost", timeout=patience)
        self._root_dir = root_dir

    @override
    def connect(self) -> None:
        """Connect. Raises OSError."""
        try:
            self._connect()
        except PermissionError as error:
            allowed = f"{error.strerror}: it is for root and the agent's own user"
            raise PermissionError(error.errno, allowed) from None

    def _connect(self) -> None:
        # By the directory's descriptor: a path of more than 107 bytes could not be connected to.
        directory = os.open(self._root_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{directory}/{SOCKET}")
        finally:
            os.close(directory)
