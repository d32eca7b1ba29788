"""What only the real program of certificates can show: that TLS takes them, and what of users it does not."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Final

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from actors.certificates.key_process import answer
from actors.certificates.key_program import (
    KeyProgram,
    KeysUnaskedError,
    UnusableError,
    ask_process,
)
from actors.certificates.pairs import Pair, WantedNames
from messages.units import Timestamp

PROGRAM: Final = KeyProgram(answer)
NOW: Final = Timestamp(ssl.cert_time_to_seconds("Jan  1 00:00:00 2026 GMT"))
DECADES: Final = Timestamp(ssl.cert_time_to_seconds("Jan  1 00:00:00 2099 GMT"))


def shaken_hands(pair: Pair, folder: Path, asked_for: str) -> None:
    """Have a client that trusts the certificate alone ask for ``asked_for``. Raises ``ssl.SSLError``."""
    chain, key = folder / "crt", folder / "key"
    chain.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(chain, key)
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asking.load_verify_locations(cadata=pair.certificate.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    client = asking.wrap_bio(to_client, to_server, server_hostname=asked_for)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert client.getpeercert()


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Pair:
    """Return a pair that counts whatever the time of the machine is."""
    monkeypatch.setattr("actors.certificates.key_program.LIFE", DECADES - NOW)
    return PROGRAM.make(WantedNames.of("n1", ["192.0.2.7", "2001:db8::7"]), Timestamp(NOW - 86_400))


@pytest.mark.parametrize("asked_for", ["n1", "192.0.2.7", "2001:db8::7"])
def test_a_client_that_trusts_the_certificate_finds_the_node_by_name_and_address(
    pair: Pair, tmp_path: Path, asked_for: str
) -> None:
    shaken_hands(pair, tmp_path, asked_for)


def test_a_client_finds_no_other_node_by_it(pair: Pair, tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken_hands(pair, tmp_path, "192.0.2.8")


def test_the_longest_name_of_a_node_is_in_its_certificate() -> None:
    name = ".".join(["n" * 63] * 3 + ["n" * 61])
    assert PROGRAM.make(WantedNames.of(name, ()), NOW).names == (name,)


def test_a_chain_of_an_authority_is_read_by_its_first_certificate() -> None:
    issued = trustme.CA().create_child_ca().issue_cert("n1", "192.0.2.7")
    chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
    assert chain.count(b"BEGIN") > 1
    read = PROGRAM.read(chain, issued.private_key_pem.bytes())
    assert (read.names, read.addresses, read.is_self_signed) == (("n1",), ("192.0.2.7",), False)


def test_a_key_with_a_password_cannot_be_used(pair: Pair) -> None:
    key = load_pem_private_key(pair.key, None)
    with_password = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    with pytest.raises(UnusableError, match=r"^the key has a password$"):
        PROGRAM.read(pair.certificate, with_password)


def test_a_pair_that_fits_and_that_tls_does_not_take_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The library of certificates says nothing against such a key.
    weak = rsa.generate_private_key(65537, 1024)
    making = "actors.certificates.key_process.ec.generate_private_key"
    monkeypatch.setattr(making, lambda _curve: weak)
    made = PROGRAM.make(WantedNames.of("n1", ()), NOW)
    with pytest.raises(UnusableError, match=r"^TLS does not take it \(\w*KEY_TOO_SMALL\)$"):
        PROGRAM.read(made.certificate, made.key)


def test_where_there_is_no_program_it_is_said_and_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    said = "^the process that makes and reads keys needs a Python interpreter, and none is known$"
    with pytest.raises(KeysUnaskedError, match=said):
        KeyProgram(ask_process).make(WantedNames.of("n1", ()), NOW)
