"""Who may come to the API servers of the tests, real and fake, and the kubeconfigs they come with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

ADMIN: Final = "admin"
NODE: Final = "system:node:n1"
OTHER_NODE: Final = "system:node:n2"
GROUPS: Final = {ADMIN: "system:masters", NODE: "system:nodes", OTHER_NODE: "system:nodes"}
"""Every user, and the group it is in."""


def token_of(user: str) -> str:
    return f"token-of-{file_name(user)}"


def file_name(user: str) -> str:
    return user.replace(":", "-")


def node_of(user: str) -> str:
    """Return the name of the node that ``user`` stands for; empty for an administrator."""
    return user.removeprefix("system:node:") if user != ADMIN else ""


def write_kubeconfig(
    path: Path, user: str, *, server: str, ca_file: Path, identity_file: Path | None = None
) -> Path:
    """Write a kubeconfig for ``user``: with its token, unless there is a file of key and certificate."""
    credentials = (
        {"client-certificate": str(identity_file), "client-key": str(identity_file)}
        if identity_file
        else {"token": token_of(user)}
    )
    cluster = {"server": server, "certificate-authority": str(ca_file)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": user}}],
        "current-context": "tests",
    }
    path.write_text(json.dumps(document))
    return path
