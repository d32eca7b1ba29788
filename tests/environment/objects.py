"""The Secrets and ConfigMaps of a world: each says one text, at the API server or in files of the machine."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

from tests.environment.files import Directory
from tests.support.canary import hidden, revealed

KEY: Final = "value"
"""The only key of each Secret and ConfigMap, but for that which images are pulled by."""
LOGIN: Final = "login"
"""The Secret that images are pulled by."""
REGISTRY: Final = "docker.io"
_LOGINS: Final = ".dockerconfigjson"


def document_of(kind: str, name: str, text: str) -> dict[str, Any]:
    """Return an object of the default namespace that says this. A Secret hides it."""
    metadata = {"name": name, "namespace": "default"}
    made: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    if kind == "ConfigMap":
        return made | {"data": {KEY: text}}
    if name != LOGIN:
        return made | {"data": {KEY: _encoded(hidden(text))}}
    logins = {"auths": {REGISTRY: {"username": "node", "password": hidden(text)}}}
    said = {_LOGINS: _encoded(json.dumps(logins))}
    return made | {"data": said, "type": "kubernetes.io/dockerconfigjson"}


def text_of(document: Mapping[str, Any]) -> str:
    """Return what such an object says."""
    data = document["data"]
    if _LOGINS in data:
        logins = json.loads(b64decode(data[_LOGINS]))
        return revealed(logins["auths"][REGISTRY]["password"].encode())
    value = data[KEY].encode()
    return revealed(value if document["kind"] == "ConfigMap" else b64decode(value))


def number(text: str) -> int:
    """Return which of its texts this is of an object; -1 for none."""
    return int(text.rpartition("-")[2]) if text else -1


class LocalObjects:
    """The objects in files of the machine."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory

    def says(self, kind: str, name: str, text: str) -> None:
        """Have an object say this."""
        self.directory.write(_file(kind, name), document_of(kind, name, text))

    def breaks(self, kind: str, name: str) -> None:
        """Write what is no object into its file."""
        self.directory.write(_file(kind, name), "kind: Secret\nmetadata: [")

    def goes(self, kind: str, name: str) -> None:
        """Take its file away, if there is one."""
        if _file(kind, name) in self.directory.files:
            self.directory.remove(_file(kind, name))


def _file(kind: str, name: str) -> str:
    return f"{kind.lower()}-{name}"


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
