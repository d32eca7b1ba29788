"""Single calls over loopback sockets: connections that break, certificates and proxies that do not fit."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from pyreqwest.exceptions import PyreqwestError

from kube.clients import base_url, streaming_client
from kube.credentials.access import Access
from kube.errors import error_of_transport
from messages.api import (
    ApiFailure,
    FailureKind,
    Retry,
)
from tests.support.kube.calls_wire import (
    AGENT,
    POD,
    WEB,
    MakeSender,
    NoCredentials,
    access_to,
    answering,
    failed,
    reason,
    send,
    senders,
)
from tests.support.kube.kubeconfigs import CANARY
from tests.support.wire.http2_server import Exchange, Handler, Http2Server
from tests.support.wire.proxy import ConnectProxy, Http1, serving

# --- connections that break --------------------------------------------------------------------------


def test_a_slow_answer_is_waited_for_until_the_deadline(sender_for: MakeSender) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.send(b'{"kind": ')
        await exchange.closed()

    with Http2Server(handler) as server:
        sent = send(sender_for(access_to(server)), deadline=0.3)
        assert reason(sent) == "no answer within 0.3 s"
        assert failed(sent).kind is FailureKind.TIMEOUT
        server.wait_until(lambda: server.open_streams == 0)


def test_no_answer_at_all_is_waited_for_until_the_deadline(sender_for: MakeSender) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.closed()

    with Http2Server(handler) as server:
        sent = send(sender_for(access_to(server)), deadline=0.3)
        assert reason(sent) == "no answer within 0.3 s"
        assert sent.codes == ("<error>",)


def test_the_second_try_has_only_what_is_left_of_the_deadline(sender_for: MakeSender) -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.headers["authorization"] == "Bearer first":
            await exchange.respond(401, b"{}")
        else:
            await exchange.closed()

    with Http2Server(handler) as server:
        sent = send(
            sender_for(access_to(server, "first"), access_to(server, "second")), deadline=1.0
        )
        assert sent.codes == ("401", "<error>")
        assert reason(sent) == "no answer within 1 s"


def test_a_deadline_that_is_over_sends_nothing(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server:
        sent = send(sender_for(access_to(server)), deadline=0.0)
        assert failed(sent).kind is FailureKind.TIMEOUT
        assert sent.codes == ()
        assert server.requests == []


async def _cut_in_the_body(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.send(b'{"kind": ')
    await exchange.cut()


async def _cut_at_once(exchange: Exchange) -> None:
    await exchange.cut()


async def _reset(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.send(b'{"kind": ')
    await exchange.reset()


@pytest.mark.parametrize("handler", [_cut_in_the_body, _cut_at_once, _reset])
def test_a_connection_that_breaks_is_an_answer_and_the_next_call_goes_on(
    sender_for: MakeSender, handler: Handler
) -> None:
    trouble: list[Handler] = [handler]

    async def first_so(exchange: Exchange) -> None:
        await (trouble.pop() if trouble else answering(200))(exchange)

    with Http2Server(first_so) as server:
        sender = sender_for(access_to(server))
        assert failed(send(sender)).kind is FailureKind.UNREACHABLE
        assert send(sender).outcome == WEB


def test_a_server_that_is_not_there(sender_for: MakeSender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    sent = send(sender_for(Access(server=f"https://127.0.0.1:{port}", user="n1")))
    assert reason(sent) == "connection refused"
    assert sent.codes == ("<error>",)


def test_a_name_that_is_none(sender_for: MakeSender) -> None:
    sent = send(sender_for(Access(server="https://no-such-host.invalid", user="n1")))
    assert reason(sent) in {"no such host", "its name cannot be looked up at present"}


def test_credentials_that_cannot_be_read_are_an_answer() -> None:
    with senders(NoCredentials()) as sender_for:
        sent = send(sender_for())
    assert failed(sent) == ApiFailure(
        kind=FailureKind.CREDENTIALS,
        retry=Retry.AFTER_DELAY,
        sentence=(
            "cannot get pod default/web: kubeconfig /k cannot be read: no such file or directory"
        ),
    )
    assert (sent.server, sent.codes) == ("", ())


# --- certificates ------------------------------------------------------------------------------------


def test_a_server_of_another_authority_is_not_trusted(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server:
        sent = send(sender_for(access_to(server, ca=trustme.CA().cert_pem.bytes())))
        assert reason(sent) == "its certificate is signed by an unknown authority"
        assert server.requests == []


def test_a_server_that_nobody_checks_is_trusted(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server:
        assert send(sender_for(access_to(server, ca=None, verify=False))).codes == ("200",)


def test_a_server_with_an_expired_certificate_is_not_trusted(sender_for: MakeSender) -> None:
    authority = trustme.CA()
    expired = authority.issue_cert(
        "127.0.0.1",
        not_before=datetime(2020, 1, 1, tzinfo=UTC),
        not_after=datetime(2021, 1, 1, tzinfo=UTC),
    )
    with Http2Server(answering(200), authority=authority, certificate=expired) as server:
        sent = send(sender_for(access_to(server)))
        assert reason(sent) == "its certificate has expired"


def test_the_name_in_the_certificate_may_be_another_than_the_host(sender_for: MakeSender) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("kubernetes.example")
    with Http2Server(answering(200), authority=authority, certificate=certificate) as server:
        # By its address it is not whom its certificate speaks of; by the name it is.
        sent = send(sender_for(access_to(server)))
        assert reason(sent) == "its certificate is for another name"

        named = access_to(server, tls_server_name="kubernetes.example")
        sent = send(sender_for(named))
        assert (sent.codes, sent.server) == (("200",), server.url)

        by_name = access_to(
            server,
            server=f"https://localhost:{server.port}",
            tls_server_name="kubernetes.example",
        )
        assert send(sender_for(by_name)).codes == ("200",)


def test_a_host_behind_another_name_is_looked_up_again_once_nobody_is_there(
    sender_for: MakeSender,
) -> None:
    """With tls-server-name a client is told the address, and asks no name server itself."""
    authority = trustme.CA()
    certificate = authority.issue_cert("kubernetes.example")
    with Http2Server(answering(200), authority=authority, certificate=certificate) as server:
        access = access_to(server, tls_server_name="kubernetes.example")
        sender = sender_for(access)
        told = sender.client(access)
        assert send(sender).codes == ("200",)
        assert sender.client(access) is told
        server.stop_listening()
        server.cut_connections()
        assert send(sender).codes == ("<error>",)
        assert sender.client(access) is not told


def test_a_host_behind_another_name_that_is_not_there(sender_for: MakeSender) -> None:
    access = Access(server="https://no-such-host.invalid", user="n1", tls_server_name="kube")
    assert reason(send(sender_for(access))) == "no such host"


@pytest.mark.parametrize(
    ("server", "name", "url"),
    [
        ("https://10.0.0.1:6443", "", "https://10.0.0.1:6443"),
        ("https://10.0.0.1:6443/path", "kube", "https://kube:6443/path"),
        ("https://[::1]:6443", "kube", "https://kube:6443"),
        ("https://host", "::1", "https://[::1]"),
    ],
)
def test_what_urls_begin_with(server: str, name: str, url: str) -> None:
    assert base_url(Access(server=server, user="n1", tls_server_name=name)) == url


CA = trustme.CA()
LEAF, OTHER = CA.issue_cert("a.example"), CA.issue_cert("b.example")
CHAIN, KEY = LEAF.cert_chain_pems[0].bytes(), LEAF.private_key_pem.bytes()
BROKEN = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"ca": CANARY.encode()},
            "the certificate authority's file holds no PEM certificate",
        ),
        ({"ca": BROKEN}, "the certificate authority cannot be read"),
        (
            {"identity": CANARY.encode()},
            "the client certificate and its key are not a pair of PEM texts",
        ),
        (
            {"identity": CHAIN + OTHER.private_key_pem.bytes()},
            "the client key does not belong to the client certificate",
        ),
        (
            {"identity": BROKEN + KEY},
            "the client certificate, its key or the certificate authority cannot be read",
        ),
        ({"proxy": f"me:{CANARY}@"}, "the proxy's URL cannot be used"),
        (
            {"proxy": "http://proxy:1", "tls_server_name": "a"},
            "tls-server-name does not work together with a proxy",
        ),
    ],
)
def test_certificates_that_cannot_be_used_are_an_answer(
    sender_for: MakeSender, changes: dict[str, object], text: str
) -> None:
    fields: dict[str, object] = {"server": "https://127.0.0.1:1", "user": "n1", **changes}
    sent = send(sender_for(Access(**fields)))  # type: ignore[arg-type]
    assert reason(sent) == text
    assert failed(sent).kind is FailureKind.CREDENTIALS


def test_an_address_that_is_none(sender_for: MakeSender) -> None:
    sent = send(sender_for(Access(server="https://a b", user="n1")))
    assert reason(sent) == "the server's URL cannot be used"


SCRIPT = """
import asyncio
import sys
from pathlib import Path
from kube.credentials.access import Access, CredentialsError
from kube.clients import call_client

server, ca = sys.argv[1:]
access = Access(server=server, user="n1", ca=Path(ca).read_bytes() if ca else None)
async def fetched():
    return await call_client(access, "actorlet/1").get(server).build().send()
try:
    print(asyncio.run(fetched()).status)
except CredentialsError as error:
    print(error)
"""


def fetched_where_the_system_trusts(system: Path, server: str, ca: Path | str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, server, str(ca)],
        env={"SSL_CERT_FILE": str(system), "SSL_CERT_DIR": "/nowhere", "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def test_the_authorities_of_the_system_are_trusted_too(tmp_path: Path) -> None:
    """What ``kube/clients.py`` warns of: if this fails, the warning can go."""
    other, system = tmp_path / "other.crt", tmp_path / "system.crt"
    other.write_bytes(trustme.CA().cert_pem.bytes())
    with Http2Server(answering(200)) as server:
        system.write_bytes(server.ca_pem)
        assert fetched_where_the_system_trusts(system, server.url, other) == "200"


def test_where_nobody_is_trusted_it_says_so(tmp_path: Path) -> None:
    said = fetched_where_the_system_trusts(tmp_path / "gone", "https://127.0.0.1:1", "")
    assert said == "there is no certificate authority: neither here nor in the system"


# --- proxies -----------------------------------------------------------------------------------------


def test_a_proxy_joins_us_to_the_server(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server, serving(ConnectProxy) as (proxy, seen):
        sender = sender_for(access_to(server, proxy=f"http://me:{CANARY}@{proxy}"))
        assert send(sender).codes == ("200",)
        assert [target for target, _ in seen] == [f"127.0.0.1:{server.port}"]
        sender.let_go()


def test_a_proxy_that_wants_to_know_who_we_are(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server, serving(ConnectProxy) as (proxy, _):
        sent = send(sender_for(access_to(server, proxy=f"http://{proxy}")))
        assert reason(sent) == "the proxy wants to know who we are"
        assert server.requests == []


def test_a_proxy_that_is_away_is_named_and_not_the_server_taken_for_it(
    sender_for: MakeSender,
) -> None:
    with Http2Server(answering(200)) as server:
        sent = send(sender_for(access_to(server, proxy=f"http://me:{CANARY}@127.0.0.1:1")))
        assert reason(sent) == "the proxy 127.0.0.1:1: connection refused"
        assert server.requests == []


def test_the_environment_is_not_asked_for_a_proxy(
    sender_for: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It was asked when the credentials were read, if it was to be.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Http2Server(answering(200)) as server:
        assert send(sender_for(access_to(server))).codes == ("200",)


# --- the client of watch streams ----------------------------------------------------------------------


@pytest.mark.parametrize("tls", [True, False])
def test_streams_of_one_client_share_one_connection_from_the_start(tls: bool) -> None:  # noqa: FBT001  # parametrized
    async def fetch(access: Access) -> list[int]:
        async with streaming_client(access, AGENT) as client:
            url = base_url(access) + POD.path
            requests = [client.get(url).build().send() for _ in range(20)]
            return [answer.status for answer in await asyncio.gather(*requests)]

    with Http2Server(answering(200), tls=tls) as server:
        assert asyncio.run(fetch(access_to(server))) == [200] * 20
        assert server.connections_accepted == 1
        assert server.requests[0].headers["user-agent"] == AGENT


def test_a_server_that_speaks_only_http_1_is_no_server_for_streams() -> None:
    async def fetch(access: Access) -> None:
        async with streaming_client(access, AGENT) as client:
            await client.get(base_url(access) + POD.path).build().send()

    with serving(Http1) as (host, _), pytest.raises(PyreqwestError) as caught:
        asyncio.run(fetch(Access(server=f"http://{host}", user="n1")))
    assert str(error_of_transport(caught.value)) == "it speaks no HTTP/2"
