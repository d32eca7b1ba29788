"""Reads from a client certificate what must be checked before it is sent to a server.

Reads just enough of the DER to find the version and the dates. The standard library has no parser for it,
and a complete one would be a large dependency for two fields. Trusts nothing and checks no signature.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from messages.units import Timestamp

_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17


class CertificateError(ValueError):
    """There is no certificate, or it cannot be read. The text says no more than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The fields of one certificate that matter here."""

    version: int
    """3, or 1 for certificates that old scripts make."""
    not_before: Timestamp
    not_after: Timestamp


def read_certificate(pem: bytes) -> Certificate:
    """Return the fields of the first certificate in ``pem``: the client's; its issuers follow.

    Raises ``CertificateError``.
    """
    found = _PEM.search(pem)
    if found is None:
        raise CertificateError("holds no PEM certificate")
    try:
        der = base64.b64decode(b"".join(found[1].split()), validate=True)
        return _read(der)
    except (ValueError, IndexError):
        raise CertificateError("holds a certificate that cannot be read") from None


def _read(der: bytes) -> Certificate:
    _, certificate, _ = _element(der)
    _, rest, _ = _element(certificate)
    tag, value, after = _element(rest)
    version = 1
    if tag == _VERSION:
        version = value[-1] + 1
        _, _, after = _element(after)  # the serial number
    _, _, after = _element(after)  # the algorithm
    _, _, after = _element(after)  # the issuer
    _, validity, _ = _element(after)
    first, not_before, after = _element(validity)
    second, not_after, _ = _element(after)
    return Certificate(
        version=version,
        not_before=_time(first, not_before),
        not_after=_time(second, not_after),
    )


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Return the tag and the content of the first element in ``data``, and the bytes after it."""
    length, begin = data[1], 2
    if length & 0x80:
        begin += length & 0x7F
        length = int.from_bytes(data[2:begin], "big")
    if len(data) < begin + length:
        raise ValueError("cut short")
    return data[0], data[begin : begin + length], data[begin + length :]


def _time(tag: int, value: bytes) -> Timestamp:
    text = value.decode("ascii")
    if tag == _UTC_TIME:
        # RFC 5280, 4.1.2.5.1: years of two digits are those from 1950 to 2049.
        text = ("19" if text[:2] >= "50" else "20") + text
    return Timestamp(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp())
