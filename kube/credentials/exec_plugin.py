"""Runs a command that issues credentials, as a kubeconfig's ``exec`` says.

The kubernetes client has code for this, but that waits for ever, gives our terminal to the command, and
logs the command's own words, which may be a token. This module has a deadline, never writes the output to a
disk, and says what is wrong in one sentence.
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from kernel.commands import CommandError, CommandFailedError, output_of
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp

DEADLINE: Final = Seconds(30.0)
"""Commands ask a service for a token, which takes seconds at most. A command that waits for somebody to
type waits in vain here."""
_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EXTENSION: Final = "client.authentication.k8s.io/exec"
_FOR_COMMANDS: Final = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
)


class PluginError(Exception):
    """The command gave no credentials. The text never contains what the command wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedCredentials:
    """What a command issued."""

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    """PEM."""
    key: str = field(default="", repr=False)
    """PEM."""
    expires: Timestamp | None = None


def run_plugin(
    config: JsonObject, cluster: JsonObject, folder: Path, deadline: Seconds = DEADLINE
) -> IssuedCredentials:
    """Run the command of ``config`` and return the credentials that it prints. Blocks up to ``deadline``.

    ``config`` is the ``exec`` of a kubeconfig's user, ``cluster`` its cluster entry. ``folder`` is where
    the kubeconfig is; a relative command starts there. Raises ``PluginError``.
    """
    version = config.get("apiVersion")
    if version not in _VERSIONS:
        raise PluginError(f"has another apiVersion than {' and '.join(_VERSIONS)}")
    if config.get("interactiveMode") == "Always":
        raise PluginError("wants to ask somebody at a terminal, and there is none")
    info: dict[str, Any] = {"interactive": False}
    if config.get("provideClusterInfo") is True:
        info["cluster"] = _cluster_info(cluster)
    environment = {**os.environ, **_additions(config), "KUBERNETES_EXEC_INFO": _told(version, info)}
    return _issued(_output(_command(config, folder), environment, deadline), version)


def _told(version: str, info: JsonObject) -> str:
    try:
        return json.dumps({"apiVersion": version, "kind": "ExecCredential", "spec": info})
    except (TypeError, ValueError, RecursionError):  # YAML has values that JSON does not have
        raise PluginError("is to be told of a cluster with extensions that are not JSON") from None


def _command(config: JsonObject, folder: Path) -> list[str]:
    command, arguments = config.get("command"), config.get("args") or []
    if not isinstance(command, str) or not command:
        raise PluginError("has no command")
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
        raise PluginError("has args that are not a list of strings")
    path = str(folder / command) if "/" in command else shutil.which(command)
    if path is None:
        raise PluginError("is not installed: it is nowhere in PATH")
    return [path, *arguments]


def _additions(config: JsonObject) -> dict[str, str]:
    items = config.get("env") or []
    if not isinstance(items, list) or not all(map(_is_variable, items)):
        raise PluginError("has an env that is not a list of names and values")
    return {item["name"]: str(item["value"]) for item in items}


def _is_variable(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("name"), str) and "value" in item


def _cluster_info(cluster: JsonObject) -> JsonObject:
    """Return what the command may know of the cluster: everything but the paths of our files."""
    info = {field: cluster[field] for field in _FOR_COMMANDS if field in cluster}
    extensions = cluster.get("extensions")
    for extension in extensions if isinstance(extensions, list) else ():
        if isinstance(extension, dict) and extension.get("name") == _EXTENSION:
            info["config"] = extension.get("extension")
    return info


def _output(command: list[str], environment: Mapping[str, str], deadline: Seconds) -> bytes:
    try:
        return output_of(command, environment=environment, deadline=deadline)
    except CommandFailedError as error:
        raise PluginError(f"{error}; run it by hand to see what it says") from None
    except CommandError as error:
        raise PluginError(str(error)) from None


def _issued(output: bytes, version: str) -> IssuedCredentials:
    try:
        credential = json.loads(output)
    except (ValueError, RecursionError):
        raise PluginError("printed something that is not JSON") from None
    status = credential.get("status") if isinstance(credential, dict) else None
    if not isinstance(status, dict) or credential.get("kind") != "ExecCredential":
        raise PluginError("printed no ExecCredential with a status")
    if credential.get("apiVersion") != version:
        raise PluginError("answered with another apiVersion than it was asked with")
    texts = ("token", "clientCertificateData", "clientKeyData")
    token, certificate, key = (_text(status, name) for name in texts)
    if not token and not (certificate and key):
        raise PluginError("gave neither a token nor a certificate with its key")
    if bool(certificate) != bool(key):
        raise PluginError("gave a certificate without a key, or a key without a certificate")
    return IssuedCredentials(token=token, certificate=certificate, key=key, expires=_expiry(status))


def _text(status: JsonObject, name: str) -> str:
    value = status.get(name) or ""
    # JSON can contain half a surrogate pair, which cannot be encoded.
    if not isinstance(value, str) or value.encode(errors="ignore").decode() != value:
        raise PluginError(f"gave a {name} that is not a string")
    return value


def _expiry(status: JsonObject) -> Timestamp | None:
    value = status.get("expirationTimestamp")
    if value is None:
        return None
    try:
        date = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise PluginError("gave an expirationTimestamp that is no date") from None
    if date.tzinfo is None:
        raise PluginError("gave an expirationTimestamp without a time zone")
    return Timestamp(date.timestamp())
