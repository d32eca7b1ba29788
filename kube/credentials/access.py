"""How to get to one API server: everything a connection needs, read from wherever it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit


class CredentialsError(Exception):
    """The credentials cannot be used. Its text names the file and the trouble, never a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One reading of the credentials. The ``repr`` shows neither token nor key.

    Two readings that need the same connection are equal in ``connection``, whatever their token.
    """

    server: str
    """``https://host:port`` with the path of a gateway, if there is one; no slash at the end."""
    user: str
    """Whom the kubeconfig acts as, in its own word; for sentences."""
    authorization: str = field(default="", repr=False)
    """The header's value; empty when a certificate says who we are."""
    ca: bytes | None = field(default=None, repr=False)
    """PEM of the authorities to trust; None for the system's."""
    identity: bytes | None = field(default=None, repr=False)
    """PEM of the client's certificate and key."""
    verify: bool = True
    """Whether to check the server's certificate."""
    tls_server_name: str = ""
    """Name to expect in the server's certificate instead of the host's."""
    proxy: str = field(default="", repr=False)
    """URL of the proxy to use; empty for none. May hold a password."""

    @property
    def proxy_place(self) -> str:
        """``host:port`` of the proxy, without user and password; empty for none, and if that is in doubt."""
        try:
            url = urlsplit(self.proxy)
        except ValueError:
            return ""
        # A password with a slash, a question mark or a hash in it would pass for the end of the place.
        is_clear = "@" not in url.path + url.query + url.fragment
        return url.netloc.rpartition("@")[2] if is_clear else ""

    @property
    def connection_key(self) -> tuple[object, ...]:
        """What a connection is made of: a change needs a new client, a new token does not."""
        return (
            self.server,
            self.ca,
            self.identity,
            self.verify,
            self.tls_server_name,
            self.proxy,
        )


class Credentials(Protocol):
    """Where accesses come from. May block: read files, run a plugin. Called from any thread."""

    def access(self) -> Access:
        """Return the present access; reads again what has changed or is about to expire.

        Raises ``CredentialsError``.
        """
        ...

    def reload(self, refused: Access) -> Access:
        """Return an access that was read after the API server refused ``refused``.

        Many callers may be refused at once: only the first of them makes it read again. Raises
        ``CredentialsError``.
        """
        ...

    @property
    def trouble(self) -> str:
        """Why they could not be read when that was last tried; empty when they could.

        Earlier ones may be in use nevertheless. Does not block.
        """
        return ""
