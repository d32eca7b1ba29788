"""The certificate with which this node answers on its TLS port, and whose certificates it takes there.

A key is a secret: nothing that a message prints shows one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from messages.port import Port
from messages.units import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateIs:
    """The serving certificate from now on, and its key. They fit, and TLS takes them.

    Told again when another one takes its place. May repeat.
    """

    certificate: bytes = field(repr=False)
    """PEM: the node's own certificate first, then those of its issuers."""
    key: bytes = field(repr=False)
    """PEM, without a password."""
    until: Timestamp
    """When it expires."""
    names: tuple[str, ...]
    """The DNS names that it is for."""
    addresses: tuple[str, ...]
    """The IP addresses that it is for."""
    is_own: bool
    """Whether it is the one of the certificate directory. Else somebody configured its files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoritiesAre:
    """Whose client certificates count from now on. Never told if nobody configured any. May repeat."""

    pem: bytes = field(repr=False)
    """The certificates of the authorities: at least one, all of which TLS takes."""


CertificateFact: TypeAlias = CertificateIs | AuthoritiesAre


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowCertificates:
    """Subscribes to every ``CertificateFact``. What is known comes first.

    The subscription outlives crashes on both sides. Repeating it tells what is known again.
    """

    subscriber: Port[CertificateFact]


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateDescribed:
    """How it is with the serving certificate and the authorities. Has no key."""

    source: str = ""
    """The file that the certificate is from; empty while there is none."""
    is_own: bool = False
    until: Timestamp | None = None
    """When it expires; None while there is none."""
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    """What is wrong: for people, one line each. What was good before is in use meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeCertificate:
    """Asks how it is with the serving certificate. Answered by one ``CertificateDescribed``."""

    reply_to: Port[CertificateDescribed]


CertificateMessage: TypeAlias = FollowCertificates | DescribeCertificate
"""What the keeper of the serving certificate hears from others."""
