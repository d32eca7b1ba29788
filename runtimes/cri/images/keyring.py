"""Which credentials are tried for a repository, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from messages.pods import JsonObject
from runtimes.cri.images.auths import (
    LocatedAuth,
    RegistryAuth,
    read_docker_config,
    read_old_docker_config,
)
from runtimes.cri.images.locations import covers, is_default, key_of


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
        value = _value(namespace, name, objects)
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


def _value(
    namespace: str, name: str, objects: Mapping[ObjectId, ObjectValue]
) -> ObjectValue | None:
    ids = (
        ObjectId(kind=ObjectKind.SECRET, namespace=namespace, name=name, origin=origin)
        for origin in Origin
    )
    return next((objects[each] for each in ids if each in objects), None)
