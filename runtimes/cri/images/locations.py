"""Which locations cover which repositories, by a kubelet's rules. Pure.

A location is a host, maybe with a port and a path. A ``*`` in a host stands for any part of one of its
labels, so ``*.example.com`` covers ``eu.example.com`` and not ``a.eu.example.com``. A path covers whatever
begins like it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_DOCKER_HOST = "index.docker.io"
_DOCKER_REPOSITORY = "docker.io/"
_VERSIONS = ("/v1/", "/v2/")
"""Paths that mean the host alone."""
_PORT = re.compile(r"(?P<host>.*?)(?::(?P<port>[0-9]*))?")


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
