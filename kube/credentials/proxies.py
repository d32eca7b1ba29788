"""Which proxy the environment names for a server: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.

The standard library reads them. This module adds what Go's programs do and people who run clusters rely on:
address ranges in NO_PROXY, and no proxy for this machine.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def environment_proxy(server: str) -> str:
    """Return the URL of the proxy for ``server``; empty for none."""
    proxies = getproxies()
    url = urlsplit(server)
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    host = url.hostname or ""
    if not proxy or _is_bypassed(host, url.netloc, proxies):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_bypassed(host: str, netloc: str, proxies: dict[str, str]) -> bool:
    if host == "localhost" or proxy_bypass(netloc):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    ranges = (_network(entry.strip()) for entry in proxies.get("no", "").split(","))
    return address.is_loopback or any(found is not None and address in found for found in ranges)


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None
