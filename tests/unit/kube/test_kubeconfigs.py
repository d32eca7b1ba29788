"""What is said of a kubeconfig that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest

from tests.support.kube.kubeconfigs import (
    CA,
    CANARY,
    CERTIFICATE,
    KEY,
    OLD_CERTIFICATE,
    SERVER,
    Kubeconfig,
    encoded,
    pair,
    refusal,
)

EXPIRED, EXPIRED_KEY = pair(
    CA.issue_cert(
        "n1@example.com",
        not_before=datetime(2020, 1, 1, tzinfo=UTC),
        not_after=datetime(2021, 1, 1, tzinfo=UTC),
    )
)


Spoil: TypeAlias = Callable[[Kubeconfig], object]


def _with(cluster: Any = None, user: Any = None) -> Spoil:
    return lambda kubeconfig: kubeconfig.is_for(cluster=cluster, user=user)


def _without(field: str) -> Spoil:
    def write(kubeconfig: Kubeconfig) -> None:
        document = {**kubeconfig.document()}
        del document[field]
        kubeconfig.write(document)

    return write


def _text(text: str) -> Spoil:
    return lambda kubeconfig: kubeconfig.path.write_text(text)


def _directory(kubeconfig: Kubeconfig) -> None:
    kubeconfig.path.unlink()
    kubeconfig.path.mkdir()


def _identity(certificate: bytes, key: bytes) -> Spoil:
    return lambda kubeconfig: kubeconfig.identifies(certificate, key)


BAD: dict[str, tuple[Spoil, str]] = {
    "no file": (lambda it: it.path.unlink(), "cannot be read: no such file or directory"),
    "a directory": (
        _directory,
        "cannot be read: is a directory",
    ),
    "empty": (_text(""), "is empty or no kubeconfig"),
    "a list": (_text("- 1"), "is empty or no kubeconfig"),
    "no YAML": (_text(f"a: 1\nb: [{CANARY}\nc: }}"), "is not YAML in line 3"),
    "control characters": (_text(f"a: {CANARY}\x00"), "is not YAML"),
    "too deep": (_text("[" * 5000), "is not YAML"),
    "no contexts": (_without("contexts"), 'has no context "it"'),
    "no current context": (_without("current-context"), "has no current-context"),
    "no cluster": (_without("clusters"), 'has no cluster "c1"'),
    "no user": (_without("users"), 'has no user "n1"'),
    "users are no list": (
        lambda it: it.write({**it.document(), "users": {"n1": CANARY}}),
        "has users that are not a list",
    ),
    "a user is no mapping": (
        lambda it: it.write({**it.document(), "users": [{"name": "n1", "user": CANARY}]}),
        'has a user "n1" that is not a mapping',
    ),
    "a number as token": (
        _with(user={"token": 12}),
        "has a token of the user that is not a string",
    ),
    "no server": (_with(cluster={}), "has no server of the form https://host:port in its cluster"),
    "no URL": (
        _with(cluster={"server": "api:6443"}),
        "has no server of the form https://host:port in its cluster",
    ),
    "a bad port": (
        _with(cluster={"server": "https://api:port"}),
        "has no server of the form https://host:port in its cluster",
    ),
    "a password in the URL": (
        _with(cluster={"server": f"https://me:{CANARY}@api"}),
        "has a password in the URL of its server, where it does not belong",
    ),
    "neither true nor false": (
        _with(cluster={"server": SERVER, "insecure-skip-tls-verify": "yes"}),
        "has an insecure-skip-tls-verify that is neither true nor false",
    ),
    "an auth-provider": (
        _with(user={"auth-provider": {"name": "oidc"}}),
        "has a user with an auth-provider, which Kubernetes gave up; use exec",
    ),
    "impersonation": (
        _with(user={"as": "admin"}),
        "has a user with impersonation (as), which this agent cannot do",
    ),
    "bad base64": (
        _with(user={"client-key-data": CANARY, "client-certificate-data": ""}),
        "has a client-key-data that is not base64",
    ),
    "no key": (
        _with(user={"client-certificate-data": encoded(CERTIFICATE)}),
        "has a client certificate without a key",
    ),
    "no certificate": (
        _with(user={"client-key-data": encoded(KEY)}),
        "has a client key without a certificate",
    ),
    "no certificate in the data": (
        _identity(CANARY.encode(), KEY),
        "has a client certificate of user n1 that is no PEM certificate",
    ),
    "no key in the data": (
        _identity(CERTIFICATE, CANARY.encode()),
        "has a client certificate of user n1 that has no PEM key",
    ),
    "an encrypted key": (
        _identity(CERTIFICATE, b"-----BEGIN ENCRYPTED PRIVATE KEY-----"),
        "has a client certificate of user n1 that has an encrypted key",
    ),
    "an old certificate": (
        _identity(OLD_CERTIFICATE.encode(), KEY),
        "has a client certificate of user n1 that is of X.509 version 1, not 3",
    ),
    "an expired certificate": (
        _identity(EXPIRED, EXPIRED_KEY),
        "has a client certificate of user n1 that expired on 2021-01-01 00:00:00 UTC",
    ),
    "no header": (
        _with(user={"token": f"{CANARY}\n{CANARY}"}),
        "has a token with characters that no header can carry",
    ),
    "a blank token": (_with(user={"token": " "}), "has an empty token"),
}


@pytest.mark.parametrize("name", BAD)
def test_of_a_kubeconfig_that_cannot_be_used_it_is_said_why(
    kubeconfig: Kubeconfig, name: str
) -> None:
    spoil, sentence = BAD[name]
    spoil(kubeconfig)
    assert kubeconfig.refusal() == sentence


def test_an_unknown_context_is_named(kubeconfig: Kubeconfig) -> None:
    text = refusal(kubeconfig.read_by("other"))
    assert text == f'kubeconfig {kubeconfig.path} has no context "other"'


@pytest.mark.parametrize(
    ("name", "why"),
    [("gone", "that cannot be read: no such file or directory"), ("blank", "that is empty")],
)
@pytest.mark.parametrize(
    "field", ["certificate-authority", "client-certificate", "client-key", "tokenFile"]
)
def test_a_file_that_is_missing_or_empty_is_named(
    kubeconfig: Kubeconfig, field: str, name: str, why: str
) -> None:
    present = kubeconfig.file("present", CERTIFICATE + KEY)
    kubeconfig.file("blank", "\n")
    files = {"client-certificate": present, "client-key": present, field: name}
    authority = {"certificate-authority": files.pop("certificate-authority", present)}
    kubeconfig.is_for(cluster={"server": SERVER, **authority}, user=files)
    path = kubeconfig.folder / name
    assert kubeconfig.refusal() == f"names a {field} {path} {why}"


def test_a_token_file_of_bytes_is_no_token(
    kubeconfig: Kubeconfig,
) -> None:
    kubeconfig.is_for(user={"tokenFile": kubeconfig.file("token", b"\xff\xfe")})
    assert kubeconfig.refusal().endswith("that holds no token")
