"""URLs as people may see them: what identifies their caller stays out."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

MASKED: Final = "<masked>"


def masked_url(url: str) -> str:
    """Return scheme, host, port and path of ``url``: the user before the host and the query may be secrets.

    That there are some is still seen. What is no URL is masked as a whole.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASKED
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"{MASKED}@{host}" if user or at else host
    query = MASKED if parts.query else ""
    return parts._replace(netloc=netloc, query=query, fragment="").geturl()
