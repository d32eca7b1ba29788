"""What is read from a client certificate."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from kube.credentials.access import CertificateError, read_certificate
from tests.support.kube.kubeconfigs import OLD_CERTIFICATE


@pytest.mark.parametrize("year", [1975, 2049, 2050, 2120])
def test_until_when_a_certificate_is_good(year: int) -> None:
    # Until 2049 years have two digits in there, after that four.
    begin, end = datetime(1970, 1, 2, tzinfo=UTC), datetime(year, 6, 1, 12, 30, tzinfo=UTC)
    leaf = trustme.CA().issue_cert("n1.example", not_before=begin, not_after=end)
    certificate = read_certificate(leaf.cert_chain_pems[0].bytes())
    assert (certificate.version, certificate.not_before, certificate.not_after) == (
        3,
        begin.timestamp(),
        end.timestamp(),
    )


def test_the_first_certificate_of_a_chain_counts() -> None:
    end = datetime(2040, 1, 1, tzinfo=UTC)
    authority = trustme.CA()
    leaf = authority.issue_cert("n1.example", not_after=end).cert_chain_pems[0].bytes()
    found = read_certificate(leaf + authority.cert_pem.bytes())
    assert found.not_after == end.timestamp()


def test_old_scripts_make_certificates_of_version_1() -> None:
    assert read_certificate(OLD_CERTIFICATE.encode()).version == 1


def x509_like(der: bytes) -> bytes:
    """Return ``der`` in the dress of a certificate."""
    return (
        b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE-----\n"
    )


@given(st.binary(max_size=60))
def test_bytes_that_are_no_certificate_are_refused_and_nothing_worse(der: bytes) -> None:
    with pytest.raises(CertificateError):
        read_certificate(x509_like(der))


def test_a_certificate_cut_short_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime(2024, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2034, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    der = made.public_bytes(serialization.Encoding.DER)
    for length in range(len(der)):
        with pytest.raises(CertificateError):
            read_certificate(x509_like(der[:length]))
