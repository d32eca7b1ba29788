"""How to reach one API server: everything that a connection needs, wherever it was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit


class CredentialsError(Exception):
    """The credentials cannot be used. The text names the file and what is wrong, never a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One reading of the credentials. The ``repr`` shows neither token nor key.

    Two readings that can share a connection have the same ``connection_key``, whatever their tokens.
    """

    server: str
    """``https://host:port``, followed by a gateway's path if there is one. No slash at the end."""
    user: str
    """The kubeconfig's name for the user; for sentences."""
    authorization: str = field(default="", repr=False)
    """The header's value; empty when a client certificate is used."""
    ca: bytes | None = field(default=None, repr=False)
    """PEM of the certificate authorities to trust; None for the system's."""
    identity: bytes | None = field(default=None, repr=False)
    """PEM of the client certificate and its key."""
    verify: bool = True
    """Whether to check the server's certificate."""
    tls_server_name: str = ""
    """The name to expect in the server's certificate instead of the host."""
    proxy: str = field(default="", repr=False)
    """URL of the proxy to use; empty for none. May contain a password."""

    @property
    def proxy_place(self) -> str:
        """``host:port`` of the proxy, without user and password. Empty for none, or if that is unclear."""
        try:
            url = urlsplit(self.proxy)
        except ValueError:
            return ""
        # A slash, question mark or hash inside a password would look like the end of ``host:port``.
        is_clear = "@" not in url.path + url.query + url.fragment
        return url.netloc.rpartition("@")[2] if is_clear else ""

    @property
    def connection_key(self) -> tuple[object, ...]:
        """What a connection depends on. If it changes a new client is needed; a new token changes nothing."""
        return (
            self.server,
            self.ca,
            self.identity,
            self.verify,
            self.tls_server_name,
            self.proxy,
        )


class Credentials(Protocol):
    """Where accesses come from. Reading files or running a plugin may block. Any thread may call it."""

    def access(self) -> Access:
        """Return the current access. Read it again if it changed or is about to expire.

        Raises ``CredentialsError``.
        """
        ...

    def reload(self, refused: Access) -> Access:
        """Return an access that was read after the API server refused ``refused``.

        Many callers may be refused at the same time; only the first makes it read again. Raises
        ``CredentialsError``.
        """
        ...

    @property
    def trouble(self) -> str:
        """Why they could not be read at the last attempt; empty when they could.

        Earlier ones may still be in use. Does not block.
        """
        return ""
