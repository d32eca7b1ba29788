"""Serving certificates with their keys, and when the node's own one has to be made anew. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from messages.certificates import CertificateIs
from messages.units import Seconds, Timestamp

LIFE: Final = Seconds(365 * 86_400.0)
"""Of a certificate that the node makes for itself."""
BACK: Final = Seconds(3600.0)
"""It counts from an hour before it was made: other machines' clocks may be late."""
LEAST_LEFT: Final = 0.2
"""The share of its life at which another one is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and the key that fits it."""

    certificate: bytes = field(repr=False)
    """PEM, with its issuers behind it."""
    key: bytes = field(repr=False)
    """PEM, without a password."""
    since: Timestamp
    until: Timestamp
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    is_self_signed: bool
    """It is its own authority, as those that this agent makes are. A kubelet's has another one."""

    def fact(self, *, is_own: bool) -> CertificateIs:
        """Return what followers are told."""
        return CertificateIs(
            certificate=self.certificate,
            key=self.key,
            until=self.until,
            names=self.names,
            addresses=self.addresses,
            is_own=is_own,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedNames:
    """Whom the node's own certificate is for."""

    name: str
    addresses: tuple[str, ...]

    @classmethod
    def of(cls, name: str, addresses: Iterable[str]) -> WantedNames:
        """Return it with each address once, in the form that certificates have."""
        return cls(name=name.lower(), addresses=tuple(dict.fromkeys(_canonical(addresses))))


def _canonical(addresses: Iterable[str]) -> Iterable[str]:
    for address in addresses:
        with suppress(ValueError):
            # What follows % is the name of an interface, which means nothing to others.
            yield str(ipaddress.ip_address(address.partition("%")[0]))


def why_anew(pair: Pair, wanted: WantedNames, now: Timestamp) -> str:
    """Return why the node's own certificate has to be made anew; empty if it is good.

    A kubelet's is for no address, and is good all the same. So is any while the node knows no address of its
    own: a network that is down makes no other node of it.
    """
    if now < pair.since:
        return "it begins later than now"
    if pair.until - now < LEAST_LEFT * (pair.until - pair.since):
        return "less than a fifth of its life is left"
    if wanted.name not in pair.names:
        return "it is for another name"
    has_moved = wanted.addresses and set(pair.addresses) != set(wanted.addresses)
    return "it is for other addresses" if pair.is_self_signed and has_moved else ""
