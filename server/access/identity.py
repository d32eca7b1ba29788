"""Who sent a request: by the certificate of the connection, or by the token in its headers. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from typing import Final

from messages.access import Identity

ANONYMOUS: Final = Identity(user="system:anonymous", groups=("system:unauthenticated",))
"""Who has shown neither certificate nor token."""
AUTHENTICATED: Final = "system:authenticated"
TOKEN_PROTOCOL: Final = "base64url.bearer.authorization.k8s.io."  # noqa: S105  # a name
"""How a protocol of a WebSocket begins that is a token: browsers can set no other header."""
_TOKEN: Final = re.compile(r"[!-~]+")

Subject = Sequence[Sequence[Sequence[str]]]
"""The subject of a certificate, as Python's ``ssl`` has it: names, each a list of pairs."""


def of_certificate(subject: Subject) -> Identity | None:
    """Return whom a verified certificate is for; None if it names no user.

    The user is the common name, the last one if there are several. Each organization is a group: a
    certificate may have many.
    """
    pairs = [pair for name in subject for pair in name]
    users = [value for kind, value in pairs if kind == "commonName"]
    if not users or not users[-1]:
        return None
    groups = (value for kind, value in pairs if kind == "organizationName")
    return Identity(user=users[-1], groups=tuple(dict.fromkeys((*groups, AUTHENTICATED))))


def bearer_token(headers: Iterable[tuple[str, str]]) -> str | None:
    """Return the token that a request shows; None if it shows none, or several.

    ``Authorization`` wins over the protocols of a WebSocket.
    """
    told = tuple(headers)
    given = [value for name, value in told if name.lower() == "authorization"]
    if given:
        return _of_header(given[0]) if len(given) == 1 else None
    hidden = [each for each in _protocols(told) if each.startswith(TOKEN_PROTOCOL)]
    return _of_protocol(hidden[0]) if len(hidden) == 1 else None


def is_of_page(headers: Iterable[tuple[str, str]], *, has_certificate: bool) -> bool:
    """Return whether a page in a browser sends a request with a right that is not the page's own.

    The browser names the page in ``Origin``, and shows the certificate of whoever visits it. A page chooses
    the protocols of a WebSocket, so a token among them says nothing beside a certificate. An API server
    passes on what a browser sent to it, and adds for whom: no page can send that.
    """
    told = tuple(headers)
    names = {name.lower() for name, _ in told}
    if "origin" not in names or "x-forwarded-for" in names:
        return False
    return has_certificate or bearer_token(told) is None


def other_protocols(headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the protocols that a WebSocket asks for, without tokens: these go no further."""
    return tuple(each for each in _protocols(headers) if not each.startswith(TOKEN_PROTOCOL))


def _protocols(headers: Iterable[tuple[str, str]]) -> list[str]:
    lines = (value for name, value in headers if name.lower() == "sec-websocket-protocol")
    return [each.strip() for line in lines for each in line.split(",") if each.strip()]


def _of_header(value: str) -> str | None:
    scheme, _, token = value.strip().partition(" ")
    return _checked(token.strip()) if scheme.lower() == "bearer" else None


def _of_protocol(protocol: str) -> str | None:
    text = protocol.removeprefix(TOKEN_PROTOCOL)
    try:
        # Without padding, as the name of a protocol has no "=".
        token = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return _checked(token.decode())
    except (binascii.Error, ValueError):
        return None


def _checked(token: str) -> str | None:
    """Return ``token`` if it can be one."""
    return token if _TOKEN.fullmatch(token) else None
