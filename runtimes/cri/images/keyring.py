"""Credentials of registries: docker's forms of them, and which are tried for a repository. Pure.

An entry that cannot be used is passed over and told, never with its content: it may be half a password.

A location is a host, maybe with a port and a path. A ``*`` in a host stands for any part of one of its
labels, so ``*.example.com`` covers ``eu.example.com`` and not ``a.eu.example.com``. A path covers all that
begins like it. These are a kubelet's rules.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from messages.pods import JsonObject
from runtimes.cri.wire import cri_pb2 as cri

LARGEST_CONFIG: Final = 1 << 20
"""Bytes of a file with credentials. A Secret may have no more."""

_DOCKER_HOST = "index.docker.io"
_DOCKER_REPOSITORY = "docker.io/"
_VERSIONS = ("/v1/", "/v2/")
"""Paths that mean the host alone."""
_PORT = re.compile(r"(?P<host>.*?)(?::(?P<port>[0-9]*))?")


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


class Location(NamedTuple):
    """A location that was read."""

    labels: tuple[str, ...]
    port: str
    path: str

    def covers(self, other: Location) -> bool:
        """Return whether the ``other`` one, which has no ``*``, belongs to it."""
        return (
            self.port == other.port
            and len(self.labels) == len(other.labels)
            and other.path.startswith(self.path)
            and all(map(_is_like, other.labels, self.labels))
        )


def key_of(location: str) -> str:
    """Return the location as credentials are found by it: host, port and path, without a scheme."""
    for scheme in ("https://", "http://"):
        location = location.removeprefix(scheme)
    host, slash, path = location.partition("?")[0].partition("#")[0].partition("/")
    path = slash + path
    if path.startswith(_VERSIONS):
        path = path[len(_VERSIONS[0]) - 1 :]
    return host.rpartition("@")[2] + ("" if path == "/" else path)


@lru_cache(maxsize=4096)
def read_location(text: str) -> Location:
    """Return what a location without a scheme, or a repository, means."""
    authority, slash, path = text.partition("/")
    found = _PORT.fullmatch(authority)
    host, port = (found["host"], found["port"] or "") if found else (authority, "")
    return Location(tuple(host.split(".")), port, slash + path)


def covers(pattern: str, repository: str) -> bool:
    """Return whether a location covers a repository."""
    return read_location(pattern).covers(read_location(repository))


def is_default(key: str, repository: str) -> bool:
    """Return whether the location is docker's own name for the registry that the repository is in."""
    return key == _DOCKER_HOST and repository.startswith(_DOCKER_REPOSITORY)


def _is_like(label: str, pattern: str) -> bool:
    """Return whether ``label`` is ``pattern``, in which each ``*`` stands for any text."""
    first, *rest = pattern.split("*")
    if not rest:
        return label == pattern
    *middle, last = rest
    at, end = len(first), len(label) - len(last)
    if at > end or not (label.startswith(first) and label.endswith(last)):
        return False
    for part in middle:
        found = label.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSource:
    """The Secret that credentials come from."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Credentials, and where they come from."""

    auth: RegistryAuth
    source: SecretSource | None = None
    """None for those of the node itself, which every pod may use."""


class Keyring:
    """Credentials by location. It has no ``repr`` of its own, and theirs shows nothing."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[Credential]] = {}

    def add(self, entries: Iterable[LocatedAuth], source: SecretSource | None = None) -> None:
        """Add credentials. Of those for one location the first ones are tried first."""
        for location, auth in entries:
            known = self._by_key.setdefault(key_of(location), [])
            credential = Credential(auth=auth, source=source)
            if credential not in known:
                known.append(credential)

    def lookup(self, repository: str) -> tuple[Credential, ...]:
        """Return what covers ``repository``, the most specific location first."""
        keys = sorted(self._by_key, reverse=True)
        found = [each for key in keys if covers(key, repository) for each in self._by_key[key]]
        if not found:
            found = [
                each for key in keys if is_default(key, repository) for each in self._by_key[key]
            ]
        return tuple(found)


class PullSecrets(NamedTuple):
    """The pull secrets of a pod, as far as they are there."""

    keyring: Keyring
    missing: tuple[str, ...] = ()
    """Names of Secrets that could not be had."""
    complaints: tuple[str, ...] = ()
    """What of the others cannot be used, for people. Never with content."""


_FORMS = {
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson", read_docker_config),
    "kubernetes.io/dockercfg": (".dockercfg", read_old_docker_config),
}
"""By type of the Secret: the key with the document, and what reads it."""


def pull_secrets(pod: JsonObject, objects: Mapping[ObjectId, ObjectValue]) -> PullSecrets:
    """Return the pull secrets that the document of a pod names."""
    keyring, missing, complaints = Keyring(), [], []
    namespace = (pod.get("metadata") or {}).get("namespace") or ""
    for reference in (pod.get("spec") or {}).get("imagePullSecrets") or ():
        name = reference.get("name") or ""
        value = _secret_value(namespace, name, objects)
        if value is None:
            missing.append(name)
            continue
        key, read = _FORMS.get(value.type, ("", None))
        if read is None or key not in value.data:
            complaints.append(f"Secret {namespace}/{name} is no pull secret")
            continue
        entries, wrong = read(value.data[key])
        complaints += [f"Secret {namespace}/{name}: {each}" for each in wrong]
        keyring.add(entries, SecretSource(namespace=namespace, name=name, uid=value.uid))
    return PullSecrets(keyring, tuple(missing), tuple(complaints))


def _secret_value(
    namespace: str, name: str, objects: Mapping[ObjectId, ObjectValue]
) -> ObjectValue | None:
    ids = (
        ObjectId(kind=ObjectKind.SECRET, namespace=namespace, name=name, origin=origin)
        for origin in Origin
    )
    return next((objects[each] for each in ids if each in objects), None)
