"""Kubeconfigs in files, with certificates, keys and commands that give credentials."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from kube.credentials.access import Access, Credentials, CredentialsError
from kube.credentials.client import Ask
from kube.credentials.client_process import answer
from kube.credentials.loading import KubeconfigCredentials
from messages.pods import JsonObject
from messages.units import Seconds
from tests.support import canary
from tests.support.kernel.clock import ManualClock

CANARY = canary.CANARY
"""Stands for what nobody may see: part of each token and password."""
TOKEN = f"{CANARY}-token"
SERVER = "https://api.example:6443"
EXEC_V1 = "client.authentication.k8s.io/v1"

OLD_CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBFjCBvQIUEs8+j3OCUHMi4wYG3KorP3I/3qMwCgYIKoZIzj0EAwIwDTELMAkG
A1UEAwwCbjEwIBcNMjYxMTIxMTQzODMzWhgPMjEyNjEwMjgxNDM4MzNaMA0xCzAJ
BgNVBAMMAm4xMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4LkGXbc4J0siXDXz
cDOBx9YMUP+9uaTRDbL23Rdjw6p30uhqGovqVdZUG39kGIKyewPSaMV5XOhBH3PH
1ELd0TAKBggqhkjOPQQDAgNIADBFAiEAlX3SaSJNiRqriLJYBVqkVeBPMVS19iB5
Nl5IcRnShnYCIF4kUa+v93dlR/IDT+mDK6yljGEUU2+Sd7HzYRxzeD0r
-----END CERTIFICATE-----"""
"""Of X.509 version 1, as old scripts make them."""


class Kubeconfig:
    """A kubeconfig in ``folder`` that says what the test says, the context being ``it``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "kubeconfig"
        self.cluster: dict[str, Any] = {"server": SERVER}
        self.user: dict[str, Any] = {"token": TOKEN}
        self.write()
        self.clock = ManualClock()
        self.credentials = self.read_by()

    def read_by(self, context: str | None = None, ask: Ask = answer) -> KubeconfigCredentials:
        """Return its credentials in a context, read with the kubernetes client in this process."""
        return KubeconfigCredentials(self.path, context, self.clock, ask)

    def write(self, document: JsonObject | None = None) -> None:
        """Write it, or another document in its place."""
        self.path.write_text(yaml.safe_dump(dict(document or self.document())))

    def document(self) -> JsonObject:
        """Return what stands in it."""
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "c1", "user": "n1"}}],
            "clusters": [{"name": "c1", "cluster": self.cluster}],
            "users": [{"name": "n1", "user": self.user}],
        }

    def is_for(self, cluster: JsonObject | None = None, user: JsonObject | None = None) -> None:
        """Write it with these entries; what is None stays as it is."""
        self.cluster = dict(cluster) if cluster is not None else self.cluster
        self.user = dict(user) if user is not None else self.user
        self.write()

    def file(self, name: str, content: bytes | str) -> str:
        """Write a file beside it; return its name."""
        data = content.encode() if isinstance(content, str) else content
        (self.folder / name).write_bytes(data)
        return name

    def identifies(self, certificate: bytes, key: bytes) -> None:
        """Write it with this certificate and key in place."""
        data = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)}
        self.is_for(user=data)

    def access(self) -> Access:
        """Return what is read of it."""
        return self.credentials.access()

    def refusal(self) -> str:
        """Return why it cannot be used, without its path; fails if it can."""
        text = refusal(self.credentials)
        start = f"kubeconfig {self.path} "
        assert text.startswith(start)
        return text.removeprefix(start)

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.move(Seconds(self.clock.monotonic() + seconds))

    def plugin(self, script: str, **exec_fields: Any) -> None:
        """Write it with a command that is the shell ``script``.

        Each run appends a line to the file ``runs``.
        """
        path = self.folder / "plugin"
        path.write_text(f'#!/bin/sh\necho >> "{self.folder}/runs"\n{script}\n')
        path.chmod(0o700)
        self.is_for(user={"exec": {"apiVersion": EXEC_V1, "command": "./plugin", **exec_fields}})

    @property
    def plugin_runs(self) -> int:
        """How often the command was run."""
        runs = self.folder / "runs"
        return len(runs.read_text().splitlines()) if runs.exists() else 0


def refusal(credentials: Credentials) -> str:
    """Return why there is no access; fails if there is one, or if the text has a cause to tell."""
    with pytest.raises(CredentialsError) as caught:
        credentials.access()
    assert caught.value.__cause__ is None
    assert CANARY not in str(caught.value)
    return str(caught.value)


def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what this machine says of proxies out of the environment."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def printing(credential: JsonObject) -> str:
    """Return a shell script that prints ``credential``."""
    return f"cat <<'END'\n{json.dumps(credential)}\nEND"


def exec_credential(**status: Any) -> JsonObject:
    """Return an ExecCredential with this status."""
    return {"apiVersion": EXEC_V1, "kind": "ExecCredential", "status": status}


def at(seconds: float) -> str:
    """Return a time since the epoch as RFC 3339 writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def encoded(data: bytes) -> str:
    """Return ``data`` as kubeconfigs hold it."""
    return base64.b64encode(data).decode()


def pair(leaf: trustme.LeafCert) -> tuple[bytes, bytes]:
    """Return certificate chain and key as PEM."""
    chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    return chain, leaf.private_key_pem.bytes()


CA = trustme.CA()
CERTIFICATE, KEY = pair(CA.issue_cert("n1@example.com", common_name="n1"))
"""Of a client, as PEM."""
