"""A program that makes and reads certificates. A question comes in, an answer goes out.

The only module that imports ``cryptography``, which takes 0.2 s and 18 MB. The agent runs this program as a
process that ends, and never imports it; ``key_program`` has the agent's end.

Questions and answers are documents of JSON, with keys in them: it touches none of the user's files. What it
calls good, TLS takes: it has tried.
"""

from __future__ import annotations

import ipaddress
import json
import os
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Document: TypeAlias = Mapping[str, Any]

LONGEST_COMMON_NAME: Final = 64
"""Characters: X.520 has no room for more. The whole name is among those that count."""
_SIGNS_ALONE: Final = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


class _RefusedError(Exception):
    """What was asked about cannot be used. The text contains nothing of it."""


def answer(question: Document) -> Document:
    """Return what was asked for, or why it is refused."""
    try:
        return _ANSWERS[question["ask"]](question)
    except _RefusedError as error:
        return {"refused": str(error)}


# --- making -------------------------------------------------------------------------------------------------


def _make(question: Document) -> Document:
    key = ec.generate_private_key(ec.SECP256R1())
    name = question["names"][0][:LONGEST_COMMON_NAME]
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names: list[x509.GeneralName] = [x509.DNSName(each) for each in question["names"]]
    names += [x509.IPAddress(ipaddress.ip_address(each)) for each in question["addresses"]]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .serial_number(x509.random_serial_number())
        .public_key(key.public_key())
        .not_valid_before(datetime.fromtimestamp(question["since"], UTC))
        .not_valid_after(datetime.fromtimestamp(question["until"], UTC))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_SIGNS_ALONE, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem = certificate.public_bytes(Encoding.PEM).decode("ascii")
    return {"certificate": pem, "key": private.decode("ascii"), **_facts(certificate)}


# --- reading ------------------------------------------------------------------------------------------------


def _read(question: Document) -> Document:
    certificate_pem, key_pem = question["certificate"], question["key"]
    certificate, key = _certificates(certificate_pem)[0], _key(key_pem)
    if _public(certificate) != _public(key):
        raise _RefusedError("the key does not fit the certificate")
    with _in_memory(certificate_pem) as chain, _in_memory(key_pem) as private:
        _try_with_tls(lambda context: context.load_cert_chain(chain, private))
    return _facts(certificate)


def _read_authorities(question: Document) -> Document:
    pem = question["authorities"]
    read = _certificates(pem)
    _try_with_tls(lambda context: context.load_verify_locations(cadata=pem))
    return {"authorities": len(read)}


def _certificates(pem: str) -> list[x509.Certificate]:
    if "-----BEGIN CERTIFICATE-----" not in pem:
        raise _RefusedError("there is no PEM certificate")
    try:
        return x509.load_pem_x509_certificates(pem.encode("ascii"))
    except ValueError:
        raise _RefusedError("there is a certificate that cannot be read") from None


def _key(pem: str) -> PrivateKeyTypes:
    if "PRIVATE KEY-----" not in pem:
        raise _RefusedError("there is no PEM key")
    try:
        return load_pem_private_key(pem.encode("ascii"), None)
    except TypeError:
        raise _RefusedError("the key has a password") from None
    except (ValueError, UnsupportedAlgorithm):
        raise _RefusedError("the key cannot be read") from None


def _public(whose: x509.Certificate | PrivateKeyTypes) -> bytes:
    try:
        key = whose.public_key()
        return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except (ValueError, UnsupportedAlgorithm):
        raise _RefusedError("the certificate has a key of an unknown kind") from None


def _facts(certificate: x509.Certificate) -> Document:
    names, addresses = _names(certificate)
    return {
        "since": certificate.not_valid_before_utc.timestamp(),
        "until": certificate.not_valid_after_utc.timestamp(),
        "names": names,
        "addresses": addresses,
        "is_self_signed": certificate.subject == certificate.issuer,
    }


def _names(certificate: x509.Certificate) -> tuple[list[str], list[str]]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return [], []
    except ValueError:
        raise _RefusedError("there is a certificate that cannot be read") from None
    found = extension.value
    addresses = found.get_values_for_type(x509.IPAddress)
    return found.get_values_for_type(x509.DNSName), [str(each) for each in addresses]


def _try_with_tls(load: Callable[[ssl.SSLContext], None]) -> None:
    try:
        load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "no reason"
        raise _RefusedError(f"TLS does not take it ({reason})") from None


@contextmanager
def _in_memory(content: str) -> Iterator[str]:
    """Give the path of a file in memory, since the standard library loads keys from paths alone."""
    descriptor = os.memfd_create("certificate")
    try:
        os.write(descriptor, content.encode("ascii"))
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


_ANSWERS: Final[Mapping[str, Callable[[Document], Document]]] = {
    "make": _make,
    "read": _read,
    "read authorities": _read_authorities,
}

if __name__ == "__main__":
    # Where memory is short, the kernel ends this process, and not the agent that asks.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
