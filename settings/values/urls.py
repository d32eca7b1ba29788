"""URLs without their secrets, for people to see."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

MASKED: Final = "<masked>"


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
