"""IP addresses to listen on, and which of them only this machine reaches."""

from __future__ import annotations

import ipaddress


def ip_address(text: str) -> str:
    """Return ``text``, an IP address or empty. Raises ``ValueError`` for host names and all else."""
    try:
        return text and str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError("should be an IP address") from None


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches ``address``, an IP address."""
    return ipaddress.ip_address(address).is_loopback
