"""Where an agent is asked, and how long it may be silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from typing_extensions import override

from command.failures import WrongUsageError

if TYPE_CHECKING:
    from http.client import HTTPConnection

PATIENCE: Final = 2.0
"""Seconds that the agent may be silent. It usually answers within milliseconds."""
ROOT_DIR: Final = "/var/lib/actorlet"
"""Where its socket is, unless it is told otherwise."""
DEFAULT_SERVER: Final = "127.0.0.1:10255"
_DEFAULT_PORT: Final = 10255


class ServerName(NamedTuple):
    """The read-only port of an agent."""

    host: str
    port: int

    @override
    def __str__(self) -> str:
        """Return it as it stands in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def absence(self) -> str:
        """Why no agent may be there."""
        return "it does not run, or its read-only port is off or another one (--server)"

    def connection(self, patience: float) -> HTTPConnection:
        """Return a connection that is not made yet."""
        from http.client import HTTPConnection  # noqa: PLC0415 - it takes 20 ms, and not all ask

        return HTTPConnection(self.host, self.port, timeout=patience)


def server_name(said: str) -> ServerName:
    """Return what ``HOST``, ``HOST:PORT``, ``[::1]:PORT`` or ``http://HOST:PORT`` names.

    Raises ``WrongUsageError``.
    """
    rest = said.removeprefix("http://").rstrip("/")
    if rest.startswith("["):
        host, end, port = rest[1:].partition("]")
        is_whole = bool(end) and (not port or port.startswith(":"))
        port = port.removeprefix(":")
    else:
        host, _, port = rest.partition(":")
        is_whole = ":" not in port
    if not is_whole or not _is_host(host) or (port and not _is_port(port)):
        raise WrongUsageError(
            f"the server has to be HOST:PORT, such as {DEFAULT_SERVER}, not {said!r}"
        )
    return ServerName(host, int(port) if port else _DEFAULT_PORT)


def is_loopback(said: str) -> bool:
    """Return whether ``said`` names an agent of this machine."""
    host = server_name(said).host
    return host in {"localhost", "::1"} or host.startswith("127.")


def _is_host(host: str) -> bool:
    return bool(host) and host.isascii() and all(each.isalnum() or each in ".:-_%" for each in host)


def _is_port(port: str) -> bool:
    return port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65_536
