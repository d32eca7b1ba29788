"""Finds the cluster and the user that a context of a kubeconfig names.

Pure. An error is one sentence with field and line, never with a value. The kubernetes client says what the
entries mean.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from kube.credentials.access import CredentialsError
from messages.pods import JsonObject

PEMS: Final = ("certificate-authority", "client-certificate", "client-key")
"""Fields that name a file. With ``-data`` at the end they hold its content."""
_CLUSTER_TEXTS: Final = (
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "tls-server-name",
    "proxy-url",
)
_USER_TEXTS: Final = (
    "token",
    "tokenFile",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "username",
    "password",
)
_UNSUPPORTED: Final = {
    "auth-provider": "an auth-provider, which Kubernetes gave up; use exec",
    "as": "impersonation (as), which this agent cannot do",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenContext:
    """The entries that one context names. The ``repr`` shows none of them."""

    context: str
    user_name: str
    """The name of the user's entry; without a user, the name of the context."""
    cluster: JsonObject = field(repr=False)
    """May have a password in its proxy's URL."""
    user: JsonObject = field(repr=False)

    def files(self, folder: Path) -> dict[str, Path]:
        """Return the files that the entries name, by field. Relative paths start at ``folder``."""
        entries = {**self.cluster, **self.user}
        # Data in the kubeconfig wins over a file, which need not exist then.
        used = (key for key in (*PEMS, "tokenFile") if not entries.get(f"{key}-data"))
        return {key: folder / entries[key] for key in used if entries.get(key)}

    @property
    def data(self) -> dict[str, bytes]:
        """Return the content that stands in the entries instead of in files, by field."""
        entries = {**self.cluster, **self.user}
        found = {key: entries.get(f"{key}-data") for key in PEMS}
        return {key: base64.b64decode(text) for key, text in found.items() if text}


def choose(text: bytes, context: str | None) -> ChosenContext:
    """Return the entries that ``context`` names, or the current context. Raises ``CredentialsError``."""
    document = _parsed(text)
    name = context or document.get("current-context")
    if not isinstance(name, str) or not name:
        raise CredentialsError("has no current-context")
    entry = _entry(document, "context", name)
    cluster = _entry(document, "cluster", _text(entry, "cluster", "context"))
    user_name = _text(entry, "user", "context")
    user = _entry(document, "user", user_name) if user_name else {}
    _check_cluster(cluster)
    _check_user(user)
    return ChosenContext(
        context=name, user_name=user_name or name, cluster=cluster, user=_tidy(user)
    )


def _parsed(text: bytes) -> JsonObject:
    try:
        document = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        # The text of ``error`` quotes the line.
        mark = error.problem_mark
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise CredentialsError(f"is not YAML{where}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise CredentialsError("is not YAML") from None
    if not isinstance(document, dict):
        raise CredentialsError("is empty or no kubeconfig")
    return document


def _entry(document: JsonObject, kind: str, name: str) -> JsonObject:
    """Return the entry of ``kind`` called ``name``. The first one counts, as in kubectl."""
    entries = document.get(f"{kind}s") or []
    if not isinstance(entries, list):
        raise CredentialsError(f"has {kind}s that are not a list")
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name") == name:
            return _mapping(entry.get(kind) or {}, f"{kind} {_quoted(name)}")
    raise CredentialsError(f"has no {kind} {_quoted(name)}")


def _mapping(value: Any, place: str) -> JsonObject:
    if not isinstance(value, dict):
        raise CredentialsError(f"has a {place} that is not a mapping")
    return value


def _text(entry: JsonObject, key: str, place: str) -> str:
    value = entry.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise CredentialsError(f"has a {key} of the {place} that is not a string")
    return value


def _check_cluster(cluster: JsonObject) -> None:
    for key in _CLUSTER_TEXTS:
        _text(cluster, key, "cluster")
    _check_data(cluster, "certificate-authority-data")
    if not isinstance(cluster.get("insecure-skip-tls-verify", False), bool):
        raise CredentialsError("has an insecure-skip-tls-verify that is neither true nor false")
    server = _text(cluster, "server", "cluster")
    try:
        url = urlsplit(server)
        usable = url.scheme in {"http", "https"} and url.hostname and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise CredentialsError("has no server of the form https://host:port in its cluster")
    if "@" in server:
        raise CredentialsError("has a password in the URL of its server, where it does not belong")


def _check_user(user: JsonObject) -> None:
    for key, what in _UNSUPPORTED.items():
        if user.get(key):
            raise CredentialsError(f"has a user with {what}")
    for key in _USER_TEXTS:
        _text(user, key, "user")
    for key in ("client-certificate-data", "client-key-data"):
        _check_data(user, key)
    _mapping(user.get("exec") or {}, "user's exec")
    has_certificate, has_key = (
        bool(user.get(key) or user.get(f"{key}-data"))
        for key in ("client-certificate", "client-key")
    )
    if has_certificate and not has_key:
        raise CredentialsError("has a client certificate without a key")
    if has_key and not has_certificate:
        raise CredentialsError("has a client key without a certificate")


def _check_data(entry: JsonObject, key: str) -> None:
    try:
        base64.b64decode("".join(entry.get(key, "").split()), validate=True)
    except ValueError:
        raise CredentialsError(f"has a {key} that is not base64") from None


def _tidy(user: JsonObject) -> JsonObject:
    """Return ``user`` with one kind of token: ``tokenFile`` wins over ``token``, as in kubectl."""
    if user.get("tokenFile"):
        return {key: value for key, value in user.items() if key != "token"}
    return user


def _quoted(name: str) -> str:
    return f'"{name[:64]}"'
