"""What a kubeconfig or a service account makes of itself: whom to call, as whom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kube.credentials.access import Access
from kube.credentials.client_process import answer
from kube.credentials.loading import InClusterCredentials
from tests.support.kube.kubeconfigs import (
    CA,
    CANARY,
    CERTIFICATE,
    KEY,
    SERVER,
    TOKEN,
    Kubeconfig,
    encoded,
    refusal,
)

# --- what an access says -----------------------------------------------------------------------------


def test_a_token_in_place(kubeconfig: Kubeconfig) -> None:
    access = kubeconfig.access()
    assert access == Access(server=SERVER, user="n1", authorization=f"Bearer {TOKEN}")


def test_neither_a_reading_nor_its_repr_shows_the_token(kubeconfig: Kubeconfig) -> None:
    assert CANARY not in repr(kubeconfig.access())


def test_certificates_in_place(kubeconfig: Kubeconfig) -> None:
    kubeconfig.is_for(
        cluster={"server": SERVER, "certificate-authority-data": encoded(CA.cert_pem.bytes())},
        user={
            "client-certificate-data": encoded(CERTIFICATE),
            "client-key-data": encoded(KEY),
        },
    )
    access = kubeconfig.access()
    assert access.ca == CA.cert_pem.bytes()
    assert access.identity is not None
    assert CERTIFICATE.strip() in access.identity
    assert KEY in access.identity
    assert access.authorization == ""


def test_relative_paths_begin_where_the_kubeconfig_is(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.is_for(
        cluster={
            "server": SERVER,
            "certificate-authority": kubeconfig.file("ca.crt", CA.cert_pem.bytes()),
        },
        user={
            "client-certificate": kubeconfig.file("n1.crt", CERTIFICATE),
            "client-key": kubeconfig.file("n1.key", KEY),
        },
    )
    access = kubeconfig.access()
    assert access.ca == CA.cert_pem.bytes()
    assert access.identity == CERTIFICATE.rstrip() + b"\n" + KEY


def test_a_certificate_and_key_in_one_file_are_taken_once(
    kubeconfig: Kubeconfig,
) -> None:
    # As a kubelet writes what it rotates.
    both = kubeconfig.file("kubelet-client-current.pem", CERTIFICATE + KEY)
    kubeconfig.is_for(user={"client-certificate": both, "client-key": both})
    assert kubeconfig.access().identity == CERTIFICATE + KEY


def test_a_password_makes_basic_authorization(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.is_for(user={"username": "n1", "password": "secret"})
    assert kubeconfig.access().authorization == f"Basic {encoded(b'n1:secret')}"


def test_a_token_file_wins_over_a_token_and_loses_its_line_break(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.is_for(user={"token": "old", "tokenFile": kubeconfig.file("token", f"{TOKEN}\n")})
    assert kubeconfig.access().authorization == f"Bearer {TOKEN}"


def test_how_to_get_to_the_server(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.is_for(
        cluster={
            "server": f"{SERVER}/clusters/one/",
            "insecure-skip-tls-verify": True,
            "tls-server-name": "kubernetes",
            "proxy-url": f"http://me:{CANARY}@proxy.example:3128",
        }
    )
    access = kubeconfig.access()
    assert access.server == f"{SERVER}/clusters/one"
    assert access.verify is False
    assert access.tls_server_name == "kubernetes"
    assert access.proxy == f"http://me:{CANARY}@proxy.example:3128"
    assert CANARY not in repr(access)


def test_another_context_than_the_current_one(kubeconfig: Kubeconfig) -> None:
    document = {
        **kubeconfig.document(),
        "current-context": "gone",
        "contexts": [{"name": "other", "context": {"cluster": "c1"}}],
    }
    kubeconfig.write(document)
    access = kubeconfig.read_by("other").access()
    # Without a user it is the context that sentences speak of.
    assert access == Access(server=SERVER, user="other")


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({"HTTPS_PROXY": "http://proxy:1"}, "http://proxy:1"),
        ({"https_proxy": "proxy:1"}, "http://proxy:1"),
        ({"ALL_PROXY": "http://proxy:1"}, "http://proxy:1"),
        ({"HTTP_PROXY": "http://proxy:1"}, ""),
        ({"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "example"}, ""),
        ({"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "other.example"}, "http://proxy:1"),
    ],
)
def test_without_a_proxy_of_its_own_the_environment_says(
    kubeconfig: Kubeconfig,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    proxy: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert kubeconfig.access().proxy == proxy


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxy"),
    [
        ("https://10.96.0.1", "10.96.0.0/12", ""),
        ("https://10.96.0.1", "nonsense/99,10.97.0.0/16", "http://proxy:1"),
        ("https://127.0.0.1:6443", "", ""),
        ("https://[::1]:6443", "", ""),
        ("https://localhost:6443", "", ""),
    ],
)
def test_ranges_of_addresses_and_this_machine_need_no_proxy(
    kubeconfig: Kubeconfig,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    no_proxy: str,
    proxy: str,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    kubeconfig.is_for(cluster={"server": server})
    assert kubeconfig.access().proxy == proxy


# --- inside the cluster ------------------------------------------------------------------------------

POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "ca.crt").write_bytes(CA.cert_pem.bytes())
    return tmp_path


def test_a_service_account(account: Path) -> None:
    access = InClusterCredentials(account, POD, ask=answer).access()
    assert access == Access(
        server="https://10.96.0.1:443",
        user=f"the service account in {account}",
        authorization=f"Bearer {TOKEN}",
        ca=CA.cert_pem.bytes(),
    )


def test_the_token_of_a_service_account_rotates(account: Path, kubeconfig: Kubeconfig) -> None:
    credentials = InClusterCredentials(account, POD, kubeconfig.clock, answer)
    credentials.access()
    (account / "token").write_text("second")
    kubeconfig.later(1.0)
    assert credentials.access().authorization == "Bearer second"


def test_outside_of_a_cluster_it_says_so(account: Path) -> None:
    text = refusal(InClusterCredentials(account, {}, ask=answer))
    assert text == "this is no pod of a cluster: KUBERNETES_SERVICE_HOST is not set"


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda folder: (folder / "token").unlink(), ": service token file does not exist"),
        (lambda folder: (folder / "token").write_text(""), ": token file exists but empty"),
        (lambda folder: (folder / "token").write_bytes(b"\xff"), " cannot be read: not text"),
        (lambda folder: (folder / "ca.crt").write_text(""), ": cert file exists but empty"),
    ],
)
def test_of_a_service_account_that_cannot_be_used_it_is_said_why(
    account: Path, spoil: Callable[[Path], object], why: str
) -> None:
    spoil(account)
    text = refusal(InClusterCredentials(account, POD, ask=answer))
    assert text == f"the service account in {account}{why}"
