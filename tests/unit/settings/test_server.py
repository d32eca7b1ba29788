"""The TLS port: when it is open, who may come in, and with which certificate and ciphers it is served."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from settings.errors import UsageError
from settings.server import USUAL_CIPHERS
from tests.support.settings.settled import refusal, settled

JOINED = "--kubeconfig=k"
AUTHORITIES = "--client-ca-file=ca"
ANYBODY = ("--authorization-mode=AlwaysAllow", "--anonymous-auth")


@pytest.mark.parametrize(
    ("arguments", "port"),
    [
        ((), 0),
        (("--standalone",), 0),
        (("--port=10251",), 0),
        (("--client-ca-file=",), 0),
        ((AUTHORITIES,), 10250),
        ((AUTHORITIES, "--port=1"), 1),
        ((AUTHORITIES, "--port=0"), 0),
        ((AUTHORITIES, "--enable-server=false"), 0),
        ((JOINED,), 10250),
        (("--in-cluster",), 10250),
        ((JOINED, AUTHORITIES), 10250),
        ((JOINED, "--port=65535"), 65535),
        ((JOINED, "--port=0"), 0),
        ((JOINED, "--enable-server=false"), 0),
        ((JOINED, "--enable-server=false", "--port=10251"), 0),
    ],
    ids=str,
)
def test_the_port_is_open_where_it_is_known_who_asks(arguments: tuple[str, ...], port: int) -> None:
    assert settled(*arguments).server.port == port


# Who may.


@pytest.mark.parametrize("node", [(JOINED,), (AUTHORITIES,)])
@pytest.mark.parametrize("address", [(), ("--address=0.0.0.0",), ("--address=10.0.0.4",)])
def test_what_anybody_may_do_is_not_for_everybody_on_the_network(
    node: tuple[str, ...], address: tuple[str, ...]
) -> None:
    for insisting in ((), ("--allow-non-loopback",)):
        with pytest.raises(UsageError) as caught:
            settled(*node, *ANYBODY, *address, *insisting)
        assert caught.value.at == "authorization.mode"
        assert str(caught.value) == (
            "authorization.mode AlwaysAllow lets anybody run commands in containers while "
            "authentication.anonymous.enabled is true: take a loopback address, or one of both back"
        )


@pytest.mark.parametrize(
    "arguments",
    [
        (JOINED, "--address=127.0.0.1"),
        (JOINED, "--address=127.8.8.8"),
        (AUTHORITIES, "--address=::1"),
        (JOINED, "--port=0"),
        (JOINED, "--enable-server=false"),
        (),
    ],
    ids=str,
)
def test_anybody_may_do_everything_where_only_this_machine_asks(
    arguments: tuple[str, ...],
) -> None:
    server = settled(*arguments, *ANYBODY).server
    assert (server.allows_always, server.allows_anonymous) == (True, True)


@pytest.mark.parametrize(
    ("flags", "may"),
    [
        ((), (False, False)),
        (ANYBODY[:1], (True, False)),
        (ANYBODY[1:], (False, True)),
        (("--authorization-mode=Webhook", "--anonymous-auth=true"), (False, True)),
    ],
)
def test_one_of_both_is_for_every_address(flags: tuple[str, ...], may: tuple[bool, bool]) -> None:
    server = settled(JOINED, *flags).server
    assert (server.allows_always, server.allows_anonymous) == may


def test_a_file_that_lets_anybody_in_is_refused_as_well() -> None:
    fields: dict[str, Any] = {
        "authentication": {"anonymous": {"enabled": True}},
        "authorization": {"mode": "AlwaysAllow"},
    }
    assert refusal(lambda: settled(JOINED, **fields)).startswith("authorization.mode AlwaysAllow ")
    assert settled(JOINED, "--anonymous-auth=false", **fields).server.allows_always


# Certificates.


def test_a_certificate_and_its_key_are_given_together() -> None:
    for server in (
        settled("--tls-cert-file=/c", "--tls-private-key-file=/k").server,
        settled("--tls-cert-file=/c", tlsPrivateKeyFile="/k").server,
        settled(tlsCertFile="/c", tlsPrivateKeyFile="/k").server,
    ):
        assert (server.certificate_file, server.key_file) == (Path("/c"), Path("/k"))


@pytest.mark.parametrize(
    ("given", "other"),
    [("tlsCertFile", "tlsPrivateKeyFile"), ("tlsPrivateKeyFile", "tlsCertFile")],
)
@pytest.mark.parametrize("node", [(), (JOINED,), (AUTHORITIES,)])
def test_one_without_the_other_is_refused(given: str, other: str, node: tuple[str, ...]) -> None:
    for fields in ({given: "/x"}, {given: "/x", other: ""}):
        with pytest.raises(UsageError) as caught:
            settled(*node, **fields)
        assert str(caught.value) == f"{given} has no effect without {other}"
        assert caught.value.at == given


@pytest.mark.parametrize(
    ("arguments", "directory"),
    [
        ((), "/var/lib/actorlet/pki"),
        (("--root-dir=/r",), "/r/pki"),
        (("--root-dir=/r", "--cert-dir="), "/r/pki"),
        (("--root-dir=/r", "--cert-dir=/c"), "/c"),
        (("--cert-dir=/var/lib/kubelet/pki",), "/var/lib/kubelet/pki"),
    ],
    ids=str,
)
def test_the_node_keeps_its_certificate_below_its_root_directory(
    arguments: tuple[str, ...], directory: str
) -> None:
    assert settled(*arguments).server.certificate_directory == Path(directory)


# TLS.

SUITES = {
    f"TLS_ECDHE_{key}_WITH_{cipher}{end}": f"ECDHE-{key}-{name}"
    for key in ("ECDSA", "RSA")
    for cipher, ends, name in (
        ("AES_128_GCM_SHA256", ("",), "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", ("",), "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305", ("", "_SHA256"), "CHACHA20-POLY1305"),
    )
    for end in ends
}
"""By Go's names, those of OpenSSL."""


def offered(ciphers: str) -> list[str]:
    """Return which suites of TLS 1.2 OpenSSL offers when told ``ciphers``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(ciphers)
    return [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]


@pytest.mark.parametrize(("name", "suite"), SUITES.items())
def test_a_suite_is_told_to_openssl_by_its_name_there(name: str, suite: str) -> None:
    ciphers = settled(tlsCipherSuites=[name]).server.ciphers
    assert ciphers == suite
    assert offered(ciphers) == [suite]


def test_the_usual_suites_have_forward_secrecy_and_authenticate_what_they_encrypt() -> None:
    ciphers = settled().server.ciphers
    assert ciphers == USUAL_CIPHERS
    assert set(offered(ciphers)) == set(SUITES.values())


@pytest.mark.parametrize(
    ("names", "ciphers"),
    [
        (["TLS_AES_256_GCM_SHA384"], USUAL_CIPHERS),
        (
            ["TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"],
            "ECDHE-RSA-AES256-GCM-SHA384",
        ),
        (
            ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
            "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256",
        ),
        (
            ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"],
            "ECDHE-RSA-CHACHA20-POLY1305",
        ),
    ],
)
def test_suites_are_chosen_in_their_order_and_those_of_tls_1_3_not_at_all(
    names: list[str], ciphers: str
) -> None:
    assert settled(tlsCipherSuites=names).server.ciphers == ciphers


@pytest.mark.parametrize("text", ["", "VersionTLS12", "VersionTLS13"])
def test_a_version_has_its_name_in_python(text: str) -> None:
    least = ssl.TLSVersion[settled(tlsMinVersion=text).server.least_version]
    assert least is (ssl.TLSVersion.TLSv1_3 if "13" in text else ssl.TLSVersion.TLSv1_2)
