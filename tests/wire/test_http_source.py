"""The manifest URL over real sockets: what is sent, what is understood, and what goes wrong."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
import trustme

from kernel import ChildSpec, SupervisorSpec
from manifests.reading.document import MAX_BYTES
from messages.sources import (
    RejectReason,
    Rescan,
    SourceListed,
)
from messages.units import Seconds
from settings.version import version
from sources.http.answers import Body, FetchError, Unmodified, Validators
from sources.http.fetch import HttpFetcher
from sources.http.source import HTTP_SOURCE, HttpMemory, HttpSource
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import live_stage
from tests.support.sources.http_source_stage import http_rules, list_body, pod_body, pod_item
from tests.support.sources.questions import described
from tests.support.wire.http1_server import Http1Server, Seen, Send, http1_server, redirect, reply

SECRET = "hunter2"
Headers: TypeAlias = Mapping[str, tuple[str, ...]]
NO_HEADERS: Headers = {}
TOKEN: Headers = {"Authorization": (f"Bearer {SECRET}",), "X-Token": (SECRET,)}
OK = "HTTP/1.1 200 OK\r\n"


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


def fetched(
    url: str,
    headers: Headers = NO_HEADERS,
    known: Validators | None = None,
    *,
    ca_file: Path | None = None,
    deadline: float = 5.0,
) -> Body | Unmodified:
    return HttpFetcher(url, headers, ca_file, Seconds(deadline)).fetch(known)


def body(url: str, headers: Headers = NO_HEADERS, known: Validators | None = None) -> Body:
    answer = fetched(url, headers, known)
    assert isinstance(answer, Body)
    return answer


def failure(
    url: str,
    headers: Headers = NO_HEADERS,
    *,
    ca_file: Path | None = None,
    deadline: float = 5.0,
) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetched(url, headers, ca_file=ca_file, deadline=deadline)
    assert SECRET not in caught.value.sentence
    assert "://" not in caught.value.sentence
    return caught.value


# --- what is sent --------------------------------------------------------------------------------------


def test_scenario_19_a_configured_header_is_sent_exactly(server: Http1Server) -> None:
    server.routes["/pods"] = reply(b"x")
    assert body(server.url("/pods?a=b"), {"Metadata-Flavor": ("Google",)}).data == b"x"
    (seen,) = server.seen
    assert seen.target == "/pods?a=b"
    assert seen.values("metadata-flavor") == ["Google"]
    assert seen.values("user-agent") == [f"actorlet/{version()}"]
    assert seen.values("accept-encoding") == ["gzip"]


def test_rule_h2_all_values_of_a_header_are_sent(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x")
    body(server.url(), {"X-Zone": ("a", "b"), "user-agent": ("mine",), "Host": ("pods.example",)})
    (seen,) = server.seen
    assert seen.values("x-zone") == ["a", "b"]
    assert seen.values("user-agent") == ["mine"]
    assert seen.values("host") == ["pods.example"]


def test_the_url_s_user_is_sent_unless_a_header_says_who_it_is(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x")
    body(server.url(user="me:p%40ss"))
    body(server.url(user="me:p%40ss"), {"authorization": ("Bearer t",)})
    assert [seen.values("authorization") for seen in server.seen] == [
        ["Basic bWU6cEBzcw=="],
        ["Bearer t"],
    ]


@pytest.mark.parametrize("headers", [{"X-Token": ("hunter2\r\nHost: a",)}, {"X Token": (SECRET,)}])
def test_a_header_that_cannot_be_sent_is_an_error(server: Http1Server, headers: Headers) -> None:
    assert failure(server.url(), headers).sentence == "the URL or a header cannot be sent as it is"
    assert server.seen == []


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("ftp://hunter2@host/", "the URL is neither http nor https"),
        ("hunter2", "the URL or a header cannot be sent as it is"),
        ("http://[hunter2/", "the URL or a header cannot be sent as it is"),
    ],
)
def test_an_url_that_cannot_be_asked_is_an_error(url: str, sentence: str) -> None:
    assert failure(url).sentence == sentence


def test_a_proxy_of_the_environment_is_asked_for_others_but_not_for_this_machine(
    server: Http1Server, other: Http1Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.routes["/"] = other.routes["*"] = reply(b"x")
    monkeypatch.setenv("HTTP_PROXY", other.url())
    monkeypatch.setenv("http_proxy", other.url())
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    body(server.url())
    body(server.url(host="localhost"))
    assert (len(server.seen), len(other.seen)) == (2, 0)
    body("http://pods.example/node1")
    assert [seen.target for seen in other.seen] == ["http://pods.example/node1"]


# --- not modified --------------------------------------------------------------------------------------


NOON = "Fri, 20 Nov 2026 12:00:00 GMT"
A_SECOND_LATER = "Fri, 20 Nov 2026 12:00:01 GMT"


def test_what_the_server_offers_is_given_back_to_it(server: Http1Server) -> None:
    server.routes["/"] = reply(
        b"x", 'ETag: "a"', f"Last-Modified: {NOON}", f"Date: {A_SECOND_LATER}"
    )
    known = body(server.url()).validators
    server.routes["/"] = reply(status="304 Not Modified")
    assert fetched(server.url(), known=known) == Unmodified()
    assert server.seen[1].values("if-none-match") == ['"a"']
    assert server.seen[1].values("if-modified-since") == [NOON]


def test_a_body_that_was_changed_and_then_changed_again_in_the_same_second_is_seen(
    server: Http1Server,
) -> None:
    # As of servers that know times of files and nothing else: b"y" has the same time as b"x".
    server.routes["/"] = reply(b"x", f"Last-Modified: {NOON}", f"Date: {NOON}")
    known = body(server.url()).validators
    server.routes["/"] = reply(b"y", f"Last-Modified: {NOON}", f"Date: {A_SECOND_LATER}")
    answer = body(server.url(), known=known)
    assert server.seen[1].values("if-modified-since") == []

    # From now on a change has another time.
    server.routes["/"] = reply(status="304 Not Modified")
    assert fetched(server.url(), known=answer.validators) == Unmodified()
    assert server.seen[2].values("if-modified-since") == [NOON]


@pytest.mark.parametrize(
    ("changed", "sent"),
    [
        (NOON, None),
        (NOON, NOON),
        (A_SECOND_LATER, NOON),
        (NOON, "now"),
        ("yesterday", NOON),
        (NOON, f"Fri, 20 Nov {'9' * 40} 12:00:00 GMT"),
    ],
)
def test_a_time_that_another_body_may_have_too_is_not_given_back_and_a_tag_is(
    server: Http1Server, changed: str, sent: str | None
) -> None:
    date = [f"Date: {sent}"] if sent is not None else []
    server.routes["/"] = reply(b"x", 'ETag: "a"', f"Last-Modified: {changed}", *date)
    body(server.url(), known=body(server.url()).validators)
    assert server.seen[1].values("if-none-match") == ['"a"']
    assert server.seen[1].values("if-modified-since") == []


def test_another_tag_is_another_body(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x", 'ETag: "a"')
    known = body(server.url()).validators
    server.routes["/"] = reply(b"y", 'ETag: "b"')
    answer = body(server.url(), known=known)
    assert (answer.data, answer.validators and answer.validators.etag) == (b"y", '"b"')


@pytest.mark.parametrize("header", ["X: y", "ETag: caf\xe9", "ETag: "])
def test_a_server_that_offers_nothing_usable_is_asked_for_the_whole_body(
    server: Http1Server, header: str
) -> None:
    server.routes["/"] = reply(b"x", header)
    assert body(server.url()).validators is None


def test_not_modified_without_having_asked_for_it_is_an_error(server: Http1Server) -> None:
    server.routes["/"] = reply(status="304 Not Modified")
    assert failure(server.url()).sentence == "answered 304 although it was asked for the whole body"


def test_a_tag_is_given_back_only_where_it_came_from(server: Http1Server) -> None:
    # Both places call their body "a".
    server.routes["/"] = redirect("/blue")
    server.routes["/blue"] = server.routes["/green"] = reply(b"x", 'ETag: "a"')
    known = body(server.url()).validators
    body(server.url(), known=known)
    server.routes["/"] = redirect("/green")
    body(server.url(), known=known)
    asked = [(seen.target, seen.values("if-none-match")) for seen in server.seen[2:]]
    assert asked == [("/", []), ("/blue", ['"a"']), ("/", []), ("/green", [])]


# --- redirects -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["301 A", "302 B", "303 C", "307 D", "308 E"])
def test_a_redirect_on_the_same_server_is_followed_with_everything(
    server: Http1Server, status: str
) -> None:
    server.routes["/"] = redirect("pods?x=1", status)
    server.routes["/pods"] = reply(b"x")
    assert body(server.url(user="me:pw"), {"X-Token": (SECRET,)}).data == b"x"
    assert server.seen[1].target == "/pods?x=1"
    assert server.seen[1].values("x-token") == [SECRET]
    assert server.seen[1].values("authorization") == ["Basic bWU6cHc="]
    assert server.seen[1].values("referer") == []


def test_a_redirect_to_the_same_server_by_its_full_name_keeps_the_user(server: Http1Server) -> None:
    server.routes["/"] = redirect(server.url("/pods"))
    server.routes["/pods"] = reply(b"x")
    body(server.url(user="me:pw"))
    assert server.seen[1].values("authorization") == ["Basic bWU6cHc="]


def test_a_redirect_that_names_a_user_is_followed_as_that_user(server: Http1Server) -> None:
    server.routes["/"] = redirect(server.url("/pods", user="you:pw"))
    server.routes["/pods"] = reply(b"x")
    body(server.url(user="me:pw"))
    assert server.seen[1].values("authorization") == ["Basic eW91OnB3"]


def test_no_header_and_no_user_is_sent_on_to_another_server(
    server: Http1Server, other: Http1Server
) -> None:
    server.routes["/"] = redirect(other.url("/pods"))
    other.routes["/pods"] = reply(b"x")
    assert body(server.url(user="me:pw"), {**TOKEN, "User-Agent": ("mine",)}).data == b"x"
    assert body(server.url(user="me:pw")).data == b"x"
    agent, host = ("user-agent", f"actorlet/{version()}"), ("host", f"127.0.0.1:{other.port}")
    usual = [("accept", "*/*"), ("accept-encoding", "gzip"), host, agent]
    assert [sorted(seen.headers) for seen in other.seen] == [usual, usual]


def test_who_was_led_away_and_back_stays_a_stranger(
    server: Http1Server, other: Http1Server
) -> None:
    server.routes["/"] = redirect(other.url("/away"))
    other.routes["/away"] = redirect(server.url("/back"))
    server.routes["/back"] = reply(b"x")
    body(server.url(user="me:pw"), {"X-Token": (SECRET,)})
    assert server.seen[1].values("x-token") == server.seen[1].values("authorization") == []


def test_a_loop_ends_after_ten_requests(server: Http1Server) -> None:
    server.routes["/"] = redirect("/")
    assert failure(server.url()).sentence == "redirected more than 9 times"
    assert len(server.seen) == 10


def test_https_is_not_left_for_http(
    secure: Http1Server, server: Http1Server, ca_file: Path
) -> None:
    secure.routes["/"] = redirect(server.url("/?hunter2"))
    error = failure(secure.url(), ca_file=ca_file)
    assert error.sentence == "redirected from https to http, which is not followed"
    assert server.seen == []


def test_http_may_lead_to_https(secure: Http1Server, server: Http1Server, ca_file: Path) -> None:
    server.routes["/"] = redirect(secure.url("/pods"))
    secure.routes["/pods"] = reply(b"x")
    assert fetched(server.url(), TOKEN, ca_file=ca_file) == Body(data=b"x", validators=None)
    assert secure.seen[0].values("x-token") == []  # another port is another server


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (redirect("ftp://hunter2/"), "redirected to something else than http or https"),
        (redirect("http://[hunter2"), "redirected to something that is no URL"),
        (reply(status="302 Found"), "answered with status 302 without saying where to go"),
    ],
)
def test_a_redirect_to_nowhere_is_an_error(
    server: Http1Server, answer: bytes, sentence: str
) -> None:
    server.routes["/"] = answer
    assert failure(server.url()).sentence == sentence


# --- bodies ---------------------------------------------------------------------------------------------


def test_the_type_of_the_body_does_not_matter_and_it_comes_as_it_is(server: Http1Server) -> None:
    latin = "name: café".encode("latin-1")
    server.routes["/"] = reply(latin, "Content-Type: image/png; charset=latin-1")
    assert body(server.url()).data == latin


def test_a_packed_body_is_unpacked(server: Http1Server) -> None:
    server.routes["/"] = reply(gzip.compress(b"x" * 100_000), "Content-Encoding: gzip")
    assert body(server.url()).data == b"x" * 100_000


def test_just_below_the_limit_is_read(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x" * (MAX_BYTES - 1))
    assert len(body(server.url()).data) == MAX_BYTES - 1


def test_rule_h3_ten_mebibytes_are_refused(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x" * MAX_BYTES)
    error = failure(server.url())
    assert (error.sentence, error.code) == ("the body is 10 MiB or more", RejectReason.TOO_LARGE)


@pytest.mark.parametrize("packed", [False, True])
def test_a_body_without_end_is_refused_while_it_is_read(
    server: Http1Server, *, packed: bool
) -> None:
    # 30 MB and no end of it; packed it is 30 kB.
    data = gzip.compress(b"0" * 30_000_000) if packed else b"0" * 1_000_000
    encoding = "Content-Encoding: gzip\r\n" if packed else ""
    server.routes["/"] = server.trickle(f"{OK}{encoding}\r\n".encode(), data, pause=0.0)
    assert failure(server.url()).code is RejectReason.TOO_LARGE
    assert server.hung_up.wait(5.0)


@pytest.mark.parametrize(
    "status", ["204 No Content", "206 Partial", "401 No", "403 No", "404 No", "418 Tea", "500 Oh"]
)
def test_rule_h3_any_other_status_is_an_error(server: Http1Server, status: str) -> None:
    server.routes["/"] = reply(b"", status=status)
    error = failure(server.url())
    assert error.sentence == f"answered with status {status[:3]}"
    assert error.code is None


# --- trouble --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"rubbish\r\n\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", id="half a body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="half a head"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", id="half a chunk"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", id="no chunk"),
        pytest.param(reply(b"hunter2", "Content-Encoding: gzip"), id="no gzip"),
        pytest.param(
            reply(gzip.compress(b"hunter2" * 999)[:-20], "Content-Encoding: gzip"), id="half a gzip"
        ),
    ],
)
def test_an_answer_that_is_cut_or_wrong_is_an_error(server: Http1Server, answer: bytes) -> None:
    server.routes["/"] = answer
    assert failure(server.url(f"/?{SECRET}")).sentence.startswith(
        ("no connection", "no usable answer")
    )


def test_scenario_15_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    sentence = failure(f"http://me:{SECRET}@127.0.0.1:{port}/?{SECRET}").sentence
    assert sentence.startswith("no connection: Connection refused")


def test_a_body_that_trickles_ends_at_the_deadline(server: Http1Server) -> None:
    server.routes["/"] = server.trickle(f"{OK}\r\n".encode(), b"x")
    assert failure(server.url(), deadline=0.3).sentence == "no complete answer within 0.3 s"
    assert server.hung_up.wait(5.0)


def test_redirects_do_not_prolong_the_deadline(server: Http1Server) -> None:
    def slow(_seen: Seen, send: Send) -> None:
        server.closing.wait(0.2)
        send(redirect("/"))

    server.routes["/"] = slow
    # With a deadline for each of them this would be a word about too many redirects.
    assert failure(server.url(), deadline=0.5).sentence == "no complete answer within 0.5 s"


def test_a_deadline_that_meets_an_answer_ends_the_redirects_all_the_same() -> None:
    """The library forgets a cancelling in such a moment: one time in twenty here."""

    def kind(number: int) -> str:
        with http1_server() as server:

            def slow(_seen: Seen, send: Send) -> None:
                server.closing.wait(0.02)
                send(redirect("/"))

            server.routes["/"] = slow
            sentence = failure(server.url(), deadline=0.05 + number / 5000).sentence
            return sentence.partition(" within")[0]

    with ThreadPoolExecutor(12) as many:
        assert set(many.map(kind, range(100))) == {"no complete answer"}


def test_a_server_that_says_nothing_ends_at_the_deadline(server: Http1Server) -> None:
    server.routes["/"] = server.trickle(b"", b"")
    assert failure(server.url(), deadline=0.3).sentence == "no complete answer within 0.3 s"


# --- TLS ------------------------------------------------------------------------------------------------


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


# --- breaking off, and the whole source -------------------------------------------------------------------


@pytest.mark.parametrize("says", ["nothing", "a head", "bytes for ever"])
def test_a_request_is_broken_off_at_once_wherever_it_is(server: Http1Server, says: str) -> None:
    head = b"" if says == "nothing" else f"{OK}\r\n".encode()
    chunk = b"x" if says == "bytes for ever" else b""
    server.routes["/"] = server.trickle(head, chunk)
    fetcher = HttpFetcher(server.url(), {}, None)
    ended: Probe[str] = Probe()

    def fetch() -> None:
        with pytest.raises(FetchError) as caught:
            fetcher.fetch(None)
        ended.tell(caught.value.sentence)

    thread = threading.Thread(target=fetch)
    thread.start()
    assert server.asked.wait(5.0)
    fetcher.close()
    thread.join(1.0)
    assert not thread.is_alive()
    assert ended.next() == "broken off"


def test_what_was_closed_asks_nobody_and_closing_twice_is_closing_once(server: Http1Server) -> None:
    server.routes["/"] = reply(b"x")
    fetcher = HttpFetcher(server.url(), {}, None)
    fetcher.fetch(None)
    fetcher.close()
    fetcher.close()
    with pytest.raises(FetchError, match="broken off"):
        fetcher.fetch(None)
    assert len(server.seen) == 1


def helpers_left(within: float) -> list[str]:
    """Return the names of helper threads that do not end by themselves."""
    helpers = [thread for thread in threading.enumerate() if "http-fetch" in thread.name]
    for thread in helpers:
        thread.join(within)
    return [thread.name for thread in helpers if thread.is_alive()]


def test_the_source_serves_what_the_server_has_and_keeps_it_through_its_troubles(
    server: Http1Server,
) -> None:
    told: Probe[SourceListed] = Probe()
    memory = HttpMemory()
    rules = replace(http_rules(server.url("/pods")), check_frequency=Seconds(0.02))
    server.routes["/pods"] = reply(pod_body("web"), 'ETag: "1"')
    child = ChildSpec(key=HTTP_SOURCE, factory=lambda: HttpSource(rules, told, memory, HttpFetcher))
    with live_stage(SupervisorSpec(name="root", children=(child,))) as play:
        assert [pod.name for pod in told.next().pods] == ["web-node1"]
        server.routes["/pods"] = reply(status="500 Oh")
        server.asked.clear()
        assert server.asked.wait(5.0)
        play.port(HTTP_SOURCE).tell(Rescan())
        server.routes["/pods"] = reply(list_body(pod_item("web"), pod_item("db")), 'ETag: "2"')
        assert [pod.name for pod in told.next().pods] == ["db-node1", "web-node1"]
        assert described(play, HTTP_SOURCE).ready
        assert {tuple(seen.values("if-none-match")) for seen in server.seen} >= {(), ('"1"',)}


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\nkind: Pod"])
def test_the_source_stops_within_a_second_in_the_middle_of_a_request(
    server: Http1Server, head: bytes
) -> None:
    server.routes["/"] = server.trickle(head, b"")
    told: Probe[SourceListed] = Probe()
    child = ChildSpec(
        key=HTTP_SOURCE,
        factory=lambda: HttpSource(http_rules(server.url()), told, HttpMemory(), HttpFetcher),
    )
    with live_stage(SupervisorSpec(name="root", children=(child,))) as play:
        assert server.asked.wait(5.0)
        assert not described(play, HTTP_SOURCE).ready
        play.system.stop()
        assert play.system.wait(Seconds(1.0)) == 0
    assert helpers_left(within=1.0) == []
