"""A real API server on loopback: kube-apiserver and etcd, for as long as the tests want them.

They judge nodes as a cluster does (Node,RBAC and NodeRestriction), but there are no controllers: nothing
schedules, and nothing collects garbage. Data, logs and credentials live in one temporary folder.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pyreqwest.exceptions import PyreqwestError

from kube.credentials.access import Access
from messages.api import ApiRequest, Verb
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.users import ADMIN, GROUPS, NODE, file_name, token_of, write_kubeconfig
from tests.support.cluster.processes import Program
from tests.support.patience import PATIENCE
from tests.support.wire.ports import free_ports

LAST_WITH_INSECURE_PORT: Final = (1, 23)
LAST_TO_BE_TOLD_OF_EPHEMERAL_CONTAINERS: Final = (1, 22)


class Cluster:
    """Starts when it is made, and runs until ``stop``."""

    def __init__(self, assets: Path, folder: Path) -> None:
        self._folder = folder
        self._assets = assets
        self._authority = trustme.CA(organization_name="the tests")
        (self._etcd_port, peer_port, self.port) = free_ports(3)
        self._write_files()
        self._etcd = Program(self._etcd_command(peer_port), folder / "etcd.log")
        self._api_server = Program(self._api_server_command(), folder / "kube-apiserver.log")
        self.admin = ApiClient(self.access(ADMIN))
        try:
            self._etcd.start(self._etcd_is_ready)
            self.start_api_server()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_pem(self) -> bytes:
        return self._authority.cert_pem.bytes()

    def access(self, user: str, *, by_certificate: bool = False) -> Access:
        """Return how ``user`` gets in: by token, or by a client certificate."""
        if by_certificate:
            identity = self.identity(user, GROUPS[user]).read_bytes()
            return Access(server=self.url, user=user, identity=identity, ca=self.ca_pem)
        return Access(
            server=self.url, user=user, authorization=f"Bearer {token_of(user)}", ca=self.ca_pem
        )

    def kubeconfig(self, user: str = NODE, *, by_certificate: bool = False) -> Path:
        """Write a kubeconfig for ``user`` and return where it is."""
        return write_kubeconfig(
            self._folder / f"{file_name(user)}{'-certificate' * by_certificate}.kubeconfig",
            user,
            server=self.url,
            ca_file=self._folder / "ca.pem",
            identity_file=self.identity(user, GROUPS[user]) if by_certificate else None,
        )

    @property
    def ca_file(self) -> Path:
        """The authority of all certificates, of clients too."""
        return self._folder / "ca.pem"

    def start_api_server(self) -> None:
        """Start the API server and return once it is ready: at its port, with all that was stored."""
        self._api_server.start(self._api_server_is_ready)
        while not self._takes_objects():  # see ``heal``
            self.stop_api_server()
            self._api_server.start(self._api_server_is_ready)

    def bring_back(self) -> None:
        """Start the API server if it is stopped."""
        if not self._api_server_is_ready():
            self.stop_api_server()
            self.start_api_server()

    def heal(self) -> None:
        """Start the API server anew if it is not well.

        The 1.20 that comes for these tests is built with a newer Go than it was written for, and once
        in some ten thousand requests its JSON encoder writes where it should not: then it dies, or breaks
        off every connection that sends it an object.
        """
        if not self._api_server_is_ready() or not self._takes_objects():
            self.stop_api_server()
            self.start_api_server()

    def how_it_is(self) -> str:
        """Return in words whether the API server is well."""
        if not self._api_server_is_ready():
            return "the API server is not ready"
        return "the API server is well" if self._takes_objects() else "the API server is broken"

    def stop_api_server(self) -> None:
        """End the API server at once, in the middle of whatever it does. etcd goes on."""
        self._api_server.kill()

    def compact(self) -> None:
        """Have etcd forget all versions but the present ones. What the API server caches, it keeps."""
        revision = self._ask_etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        self._ask_etcd("/v3/kv/compaction", {"revision": revision, "physical": True})

    def back_up(self) -> Path:
        """Copy all that is stored, while nothing runs for that. Return where the copy is."""
        backup = self._folder / f"etcd-backup-{len([*self._folder.glob('etcd-backup-*')])}"
        self._restart_on(lambda data: shutil.copytree(data, backup))
        return backup

    def put_back(self, backup: Path) -> None:
        """Have stored what was stored when ``backup`` was made, and nothing of what came later."""

        def replace(data: Path) -> None:
            shutil.rmtree(data)
            shutil.copytree(backup, data)

        self._restart_on(replace)

    def _restart_on(self, work: Callable[[Path], object]) -> None:
        self.stop_api_server()
        self._etcd.kill()
        work(self._folder / "etcd")
        self._etcd.start(self._etcd_is_ready)
        self.start_api_server()

    def stop(self) -> None:
        """End both programs."""
        self.admin.close()
        self._api_server.kill()
        self._etcd.kill()

    def _etcd_command(self, peer_port: int) -> list[str]:
        clients, peers = (f"http://127.0.0.1:{port}" for port in (self._etcd_port, peer_port))
        return [
            str(self._assets / "etcd"),
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        ]

    def _api_server_command(self) -> list[str]:
        program, folder = str(self._assets / "kube-apiserver"), self._folder
        version = _version(program)
        old = ["--insecure-port=0"] * (version <= LAST_WITH_INSECURE_PORT)
        if version <= LAST_TO_BE_TOLD_OF_EPHEMERAL_CONTAINERS:
            old.append("--feature-gates=EphemeralContainers=true")
        return [
            program,
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            *old,
            # As newer ones have it by default: this old one would let in 250.
            "--http2-max-streams-per-connection=100",
            f"--cert-dir={folder}",
            f"--tls-cert-file={folder / 'server.pem'}",
            f"--tls-private-key-file={folder / 'server.pem'}",
            f"--client-ca-file={folder / 'ca.pem'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            # Nothing makes the service accounts that this one demands.
            "--disable-admission-plugins=ServiceAccount",
            f"--service-account-key-file={folder / 'accounts.pem'}",
            f"--service-account-signing-key-file={folder / 'accounts.pem'}",
            "--service-account-issuer=https://kubernetes.default",
            # Whom it is for nodes that it asks for logs and streams.
            f"--kubelet-client-certificate={folder / 'kubelet-client.pem'}",
            f"--kubelet-client-key={folder / 'kubelet-client.pem'}",
            "--kubelet-preferred-address-types=InternalIP",
        ]

    def _write_files(self) -> None:
        issued = self._authority.issue_cert("127.0.0.1", "localhost")
        issued.private_key_and_cert_chain_pem.write_to_path(self._folder / "server.pem")
        self._authority.cert_pem.write_to_path(self._folder / "ca.pem")
        client = self._authority.issue_cert(
            "client.example", common_name="kube-apiserver", organization_name="system:masters"
        )
        client.private_key_and_cert_chain_pem.write_to_path(self._folder / "kubelet-client.pem")
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        (self._folder / "accounts.pem").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        lines = (
            f'{token_of(user)},{user},{number},"{group}"\n'
            for number, (user, group) in enumerate(GROUPS.items())
        )
        (self._folder / "tokens.csv").write_text("".join(lines))

    def identity(self, user: str, group: str) -> Path:
        """Return a file with a key and a certificate that says who ``user`` is."""
        path = self._folder / f"{file_name(user)}.pem"
        if not path.exists():
            issued = self._authority.issue_cert(
                "client.example", common_name=user, organization_name=group
            )
            issued.private_key_and_cert_chain_pem.write_to_path(path)
        return path

    def _etcd_is_ready(self) -> bool:
        try:
            self._ask_etcd("/v3/kv/range", {"key": "AA=="})
        except OSError:
            return False
        return True

    def _api_server_is_ready(self) -> bool:
        try:
            return self.admin.text("/readyz") == "ok"
        except PyreqwestError:
            return False

    def _takes_objects(self) -> bool:
        labels = {"a": "b"}
        body = {"kind": "Namespace", "metadata": {"name": "heal", "labels": labels}}
        request = ApiRequest(
            verb=Verb.CREATE, path="/api/v1/namespaces", query={"dryRun": "All"}, body=body
        )
        try:
            self.admin.handle(request)
        except PyreqwestError:
            return False
        except StatusError:
            return True
        return True

    def _ask_etcd(self, path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        url = f"http://127.0.0.1:{self._etcd_port}{path}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=PATIENCE) as response:
            answer: dict[str, dict[str, str]] = json.load(response)
        return answer


def _version(program: str) -> tuple[int, int]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"v(\d+)\.(\d+)", said)
    assert found is not None, f"what version is {said!r}?"
    return int(found[1]), int(found[2])
