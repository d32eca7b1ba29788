"""Credentials of registries, in the forms in which docker's configuration files have them. Pure.

What cannot be used is passed over and said, never with its content: a broken entry may be half a password.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from runtimes.cri.wire import cri_pb2 as cri

LARGEST_CONFIG: Final = 1 << 20
"""Bytes of a file with credentials. A Secret may have no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAuth:
    """What is shown to a registry. Its ``repr`` shows none of it."""

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    """Exchanged for an access token."""
    registry_token: str = field(default="", repr=False)
    """Shown as it is."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.username or self.password or self.identity_token or self.registry_token)

    def as_message(self) -> cri.AuthConfig:
        """Return it as a runtime is told it. Such a message must never be printed."""
        return cri.AuthConfig(
            username=self.username,
            password=self.password,
            identity_token=self.identity_token,
            registry_token=self.registry_token,
        )


class LocatedAuth(NamedTuple):
    """Credentials, and the location that they are for: ``quay.io/team``, ``https://index.docker.io/v1/``."""

    location: str
    auth: RegistryAuth


class AuthsRead(NamedTuple):
    """What is in one document."""

    entries: tuple[LocatedAuth, ...]
    complaints: tuple[str, ...] = ()
    """What of it cannot be used, for people. Never with content."""


def read_docker_config(data: bytes) -> AuthsRead:
    """Read a ``config.json``, which is also what ``kubernetes.io/dockerconfigjson`` has."""
    document = _mapping(data)
    if document is None:
        return AuthsRead((), ("is not a JSON object",))
    auths = document.get("auths")
    if auths is None:
        return AuthsRead(())
    return _read(auths) if isinstance(auths, dict) else AuthsRead((), ("auths is not an object",))


def read_old_docker_config(data: bytes) -> AuthsRead:
    """Read a ``.dockercfg``, which is also what ``kubernetes.io/dockercfg`` has: entries alone."""
    document = _mapping(data)
    return AuthsRead((), ("is not a JSON object",)) if document is None else _read(document)


def read_auth(entry: object) -> RegistryAuth:
    """Return the credentials of one entry. Raises ``ValueError`` with what is wrong, without content."""
    if not isinstance(entry, dict):
        raise ValueError("is not an object")  # noqa: TRY004  # of the document, not of the caller
    texts = {
        name: _text(entry, name)
        for name in ("username", "password", "auth", "identitytoken", "registrytoken")
    }
    username, password = texts["username"], texts["password"]
    if texts["auth"]:
        username, password = _decoded(texts["auth"])
    return RegistryAuth(
        username=username,
        password=password,
        identity_token=texts["identitytoken"],
        registry_token=texts["registrytoken"],
    )


def _mapping(data: bytes) -> dict[str, Any] | None:
    if len(data) > LARGEST_CONFIG:
        return None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _read(entries: Mapping[str, Any]) -> AuthsRead:
    good, complaints = [], []
    for number, (location, entry) in enumerate(entries.items(), start=1):
        try:
            auth = read_auth(entry)
        except ValueError as error:
            complaints.append(f"entry {number} of {len(entries)} {error}")
            continue
        if not auth.is_empty:
            good.append(LocatedAuth(location, auth))
    return AuthsRead(tuple(good), tuple(complaints))


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if value is None:
        return ""
    # JSON can contain half a surrogate pair, which cannot be sent.
    if not isinstance(value, str) or value.encode(errors="ignore").decode() != value:
        raise ValueError(f"has a field {name} that is not a text")
    return value


def _decoded(auth: str) -> tuple[str, str]:
    """Return name and password of a field ``auth``, with or without its padding."""
    text = auth.strip().rstrip("=")
    try:
        joined = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise ValueError("has a field auth that is not base64") from None
    username, colon, password = joined.partition(":")
    if not colon:
        raise ValueError("has a field auth that is not the base64 of NAME:PASSWORD")
    return username, password.rstrip("\0")
