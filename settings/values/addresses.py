"""IP addresses to listen on, and which of them only this machine reaches."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?")
"""More than DNS has: what people write into ``/etc/hosts``."""


def ip_address(text: str) -> str:
    """Return ``text``, an IP address or empty. Raises ``ValueError`` for host names and all else."""
    try:
        return text and str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError("should be an IP address") from None


def host_name(text: str) -> str:
    """Return ``text``, a host name or an IP address, in lower case. Raises ``ValueError`` for all else."""
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        name = text.lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        raise ValueError("should be the name of a host or an IP address, without a port")
    return name


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches ``address``, an IP address."""
    return ipaddress.ip_address(address).is_loopback
