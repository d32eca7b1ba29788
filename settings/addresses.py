"""Addresses in settings: where to listen, whom to ask, the socket of a container runtime. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

MASKED: Final = "<masked>"
LONGEST_SOCKET: Final = 107
"""Bytes of the path of a Unix socket, by the kernel's limit."""
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


def web_url(url: str) -> str:
    """Return ``url``: empty, or http or https with a host. Raises ``ValueError``, which does not show it."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if url and not good:
        raise ValueError("should be an http or https URL with a host")
    return url


def masked_url(url: str) -> str:
    """Return ``url`` with the user before the host, and the query, masked: they may be secrets.

    A text that is no URL is masked as a whole.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASKED
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"{MASKED}@{host}" if user or at else host
    query = MASKED if parts.query else ""
    return parts._replace(netloc=netloc, query=query, fragment="").geturl()


def masked_headers(headers: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return headers without their values."""
    return {name: [MASKED] * len(values) for name, values in headers.items()}


def endpoint_socket(endpoint: str) -> Path | None:
    """Return the path of the socket that ``endpoint`` names, as a URL or as a path; None for none.

    Raises ``ValueError``.
    """
    if not endpoint:
        return None
    parts = urlsplit(printable(endpoint))
    if parts.scheme not in {"", "unix"} or parts.netloc or not parts.path.startswith("/"):
        raise ValueError(f"{endpoint[:128]!r} should be unix:// with an absolute path")
    if len(parts.path.encode()) > LONGEST_SOCKET:
        raise ValueError(f"is longer than {LONGEST_SOCKET} bytes, which no socket's path can be")
    return Path(parts.path)


def endpoint_shown(endpoint: str) -> str:
    """Return ``endpoint`` as a URL, or empty."""
    return f"unix://{urlsplit(endpoint).path}" if endpoint else ""


def printable(path: str) -> str:
    """Return ``path``. Raises ``ValueError`` if a configuration of containers cannot have it."""
    if not path.isprintable():
        raise ValueError(f"{path[:128]!r} has characters that no path here may have")
    return path
