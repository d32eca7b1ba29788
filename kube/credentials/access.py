"""How to reach one API server: everything that a connection needs, and what must be checked of a certificate.

Of a client certificate just enough of the DER is read to find the version and the dates. The standard library
has no parser for it, and a complete one would be a large dependency for two fields. Trusts nothing and checks
no signature.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Protocol
from urllib.parse import urlsplit

from messages.units import Timestamp


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


_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17


class CertificateError(ValueError):
    """There is no certificate, or it cannot be read. The text says no more than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The fields of one certificate that matter here."""

    version: int
    """3, or 1 for certificates that old scripts make."""
    not_before: Timestamp
    not_after: Timestamp


def read_certificate(pem: bytes) -> Certificate:
    """Return the fields of the first certificate in ``pem``: the client's; its issuers follow.

    Raises ``CertificateError``.
    """
    found = _PEM.search(pem)
    if found is None:
        raise CertificateError("holds no PEM certificate")
    try:
        der = base64.b64decode(b"".join(found[1].split()), validate=True)
        return _read(der)
    except (ValueError, IndexError):
        raise CertificateError("holds a certificate that cannot be read") from None


def _read(der: bytes) -> Certificate:
    _, certificate, _ = _element(der)
    _, rest, _ = _element(certificate)
    tag, value, after = _element(rest)
    version = 1
    if tag == _VERSION:
        version = value[-1] + 1
        _, _, after = _element(after)  # the serial number
    _, _, after = _element(after)  # the algorithm
    _, _, after = _element(after)  # the issuer
    _, validity, _ = _element(after)
    first, not_before, after = _element(validity)
    second, not_after, _ = _element(after)
    return Certificate(
        version=version,
        not_before=_time(first, not_before),
        not_after=_time(second, not_after),
    )


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Return the tag and the content of the first element in ``data``, and the bytes after it."""
    length, begin = data[1], 2
    if length & 0x80:
        begin += length & 0x7F
        length = int.from_bytes(data[2:begin], "big")
    if len(data) < begin + length:
        raise ValueError("cut short")
    return data[0], data[begin : begin + length], data[begin + length :]


def _time(tag: int, value: bytes) -> Timestamp:
    text = value.decode("ascii")
    if tag == _UTC_TIME:
        # RFC 5280, 4.1.2.5.1: years of two digits are those from 1950 to 2049.
        text = ("19" if text[:2] >= "50" else "20") + text
    return Timestamp(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp())
