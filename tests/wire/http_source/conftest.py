"""Servers of manifests, with and without TLS."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from tests.support.wire.http1_server import Http1Server, http1_server


@pytest.fixture
def server() -> Iterator[Http1Server]:
    with http1_server() as server:
        yield server


@pytest.fixture
def other() -> Iterator[Http1Server]:
    with http1_server() as server:
        yield server


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[Http1Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with http1_server(context) as server:
        yield server


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return path
