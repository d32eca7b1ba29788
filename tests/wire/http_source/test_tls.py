"""The manifest URL over real sockets: which servers are trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from sources.http.asking import Body, FetchError
from sources.http.fetch import HttpFetcher
from tests.support.sources.http_wire import (
    SECRET,
    TOKEN,
    failure,
    fetched,
)
from tests.support.wire.http1_server import Http1Server, reply


def test_a_server_that_the_ca_file_vouches_for_is_trusted(
    secure: Http1Server, ca_file: Path
) -> None:
    secure.routes["/"] = reply(b"x")
    assert fetched(secure.url(), ca_file=ca_file) == Body(data=b"x", validators=None)


def test_any_of_several_authorities_of_the_file_may_vouch(
    secure: Http1Server, ca_file: Path
) -> None:
    secure.routes["/"] = reply(b"x")
    ca_file.write_bytes(trustme.CA().cert_pem.bytes() + b"\n# ours:\n" + ca_file.read_bytes())
    assert fetched(secure.url(), ca_file=ca_file) == Body(data=b"x", validators=None)


def test_a_server_that_nobody_vouches_for_is_not_asked(secure: Http1Server, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    trustme.CA().cert_pem.write_to_path(wrong)
    assert "certificate" in failure(secure.url(f"/?{SECRET}"), TOKEN, ca_file=wrong).sentence
    assert "certificate" in failure(secure.url(f"/?{SECRET}"), TOKEN).sentence
    assert secure.seen == []


def test_a_certificate_for_another_name_is_not_trusted(secure: Http1Server, ca_file: Path) -> None:
    assert "certificate" in failure(secure.url(host="localhost"), ca_file=ca_file).sentence


def test_a_ca_file_is_read_at_each_poll(secure: Http1Server, ca_file: Path) -> None:
    secure.routes["/"] = reply(b"x")
    fetcher = HttpFetcher(secure.url(), {}, ca_file)
    good = ca_file.read_bytes()
    ca_file.write_bytes(b"nothing")
    with pytest.raises(FetchError, match=r"^the CA file .*ca.pem holds no certificate$"):
        fetcher.fetch(None)
    ca_file.unlink()
    with pytest.raises(FetchError, match=r"ca.pem cannot be read: No such file or directory$"):
        fetcher.fetch(None)
    ca_file.write_bytes(good)
    assert isinstance(fetcher.fetch(None), Body)


def test_a_ca_file_with_a_broken_certificate_is_an_error(
    secure: Http1Server, ca_file: Path
) -> None:
    ca_file.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    sentence = failure(secure.url(), ca_file=ca_file).sentence
    assert sentence == f"the CA file {ca_file} holds a certificate that cannot be used"
    assert secure.seen == []
