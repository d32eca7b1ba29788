"""Single calls over loopback sockets: what goes out, what rotates, what comes back."""

from __future__ import annotations

import json
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType

import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from kernel import ChildSpec, SupervisorSpec
from kube.calls.actor import API_CALLS, ApiCalls, CallMemory, CallRules
from kube.calls.sender import SendResult
from kube.credentials.access import Access
from messages.api import (
    ApiAnswered,
    ApiRequest,
    CallApi,
    FailureKind,
    Patch,
    Retry,
    Verb,
)
from messages.units import Seconds
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import live_stage
from tests.support.kube.calls_wire import (
    AGENT,
    POD,
    WEB,
    GivenCredentials,
    MakeSender,
    access_to,
    answering,
    failed,
    reason,
    send,
    senders,
)
from tests.support.kube.kubeconfigs import CANARY, TOKEN
from tests.support.patience import PATIENCE
from tests.support.wire.http2_server import Exchange, Http2Server
from tests.support.wire.proxy import Http1, serving

# --- a request as it goes out ------------------------------------------------------------------------


def test_a_request_says_what_it_wants_and_who_asks(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server:
        request = ApiRequest(verb=Verb.GET, path="/api/v1/pods", query={"limit": "5", "a": "b c&d"})
        sent = send(sender_for(access_to(server)), request)
        (seen,) = server.requests
        assert sent == SendResult(outcome=WEB, server=server.url, user="n1", codes=("200",))
        assert (seen.method, seen.path) == ("GET", "/api/v1/pods")
        assert seen.query == {"limit": "5", "a": "b c&d"}
        assert seen.headers["user-agent"] == AGENT
        assert seen.headers["authorization"] == f"Bearer {TOKEN}"
        assert seen.headers["accept"] == "application/json"
        assert "content-type" not in seen.headers


@pytest.mark.parametrize(
    ("verb", "media_type"),
    [
        (Verb.CREATE, "application/json"),
        (Verb.UPDATE, "application/json"),
        (Verb.DELETE, "application/json"),
        (Verb.PATCH, "application/strategic-merge-patch+json"),
    ],
)
def test_a_body_goes_out_as_what_it_is(sender_for: MakeSender, verb: Verb, media_type: str) -> None:
    body = {"metadata": MappingProxyType({"name": "wéb"}), "list": ("a", "b")}
    with Http2Server(answering(201)) as server:
        request = ApiRequest(verb=verb, path="/api/v1/nodes/n1", body=body, patch=Patch.STRATEGIC)
        send(sender_for(access_to(server)), request)
        (seen,) = server.requests
        assert seen.method == verb.value
        assert seen.headers["content-type"] == media_type
        assert json.loads(seen.body) == {"metadata": {"name": "wéb"}, "list": ["a", "b"]}


def test_the_path_of_a_gateway_comes_first(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server:
        send(sender_for(access_to(server, server=f"{server.url}/clusters/one")))
        assert server.requests[0].path == f"/clusters/one{POD.path}"


def test_a_client_certificate_says_who_asks(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server:
        identity = server.issue_client_identity("n1")
        send(sender_for(access_to(server, authorization="", identity=identity)))
        (seen,) = server.requests
        assert seen.client_common_name == "n1"
        assert "authorization" not in seen.headers


def test_many_requests_at_once_share_one_connection(sender_for: MakeSender) -> None:
    with Http2Server(answering(200)) as server:
        sender = sender_for(access_to(server))
        send(sender)
        with ThreadPoolExecutor(8) as threads:
            sent = list(threads.map(lambda _: send(sender), range(100)))
        assert {codes.codes for codes in sent} == {("200",)}
        assert server.connections_accepted == 1


def test_a_server_that_speaks_only_http_1_is_no_trouble(sender_for: MakeSender) -> None:
    with serving(Http1) as (host, _):
        sender = sender_for(Access(server=f"http://{host}", user="n1"))
        assert send(sender).outcome == {"metadata": {"name": "by-http-1.1"}}
        sender.let_go()


# --- what rotates ------------------------------------------------------------------------------------


def test_after_a_401_it_reads_its_credentials_again_and_tries_once_more(
    sender_for: MakeSender,
) -> None:
    async def handler(exchange: Exchange) -> None:
        is_new = exchange.headers["authorization"] == "Bearer new"
        await exchange.respond(200 if is_new else 401, json.dumps(WEB).encode())

    with Http2Server(handler) as server:
        sender = sender_for(access_to(server, f"{CANARY}-old"), access_to(server, "new"))
        assert send(sender) == SendResult(
            outcome=WEB, server=server.url, user="n1", codes=("401", "200")
        )
        assert server.connections_accepted == 1


def test_a_401_that_stays_is_answered_after_one_more_try(sender_for: MakeSender) -> None:
    with Http2Server(answering(401, {"kind": "Status", "message": "Unauthorized"})) as server:
        sender = sender_for(access_to(server))
        sent = send(sender)
        assert reason(sent) == "unauthorized (HTTP 401)"
        assert sent.codes == ("401", "401")
        assert failed(sent).retry is Retry.AFTER_DELAY


def test_another_certificate_needs_another_connection_and_the_old_one_ends(
    sender_for: MakeSender,
) -> None:
    is_refused = threading.Event()

    async def handler(exchange: Exchange) -> None:
        refused = is_refused.is_set() and exchange.client_common_name == "n1"
        await exchange.respond(401 if refused else 200, json.dumps(WEB).encode())

    with Http2Server(handler) as server:
        first, second = (server.issue_client_identity(name) for name in ("n1", "n2"))
        sender = sender_for(access_to(server, identity=first), access_to(server, identity=second))
        send(sender)
        is_refused.set()
        assert send(sender).codes == ("401", "200")
        assert [seen.client_common_name for seen in server.requests] == ["n1", "n1", "n2"]
        assert server.connections_accepted == 2
        server.wait_until(lambda: server.open_connections == 1)


# --- answers that are none ---------------------------------------------------------------------------


def test_a_403_is_answered_as_often_as_it_comes(sender_for: MakeSender) -> None:
    body = {"kind": "Status", "reason": "Forbidden", "message": 'pods "web" is forbidden'}
    with Http2Server(answering(403, body)) as server:
        sender = sender_for(access_to(server))
        assert reason(send(sender)) == 'forbidden: pods "web" is forbidden'
        assert send(sender).codes == ("403",)


@pytest.mark.parametrize(
    ("headers", "wish"),
    [
        ({"retry-after": "3"}, 3.0),
        (
            {
                "retry-after": "Tue, 14 Nov 2023 22:13:50 GMT",
                "date": "Tue, 14 Nov 2023 22:13:20 GMT",
            },
            30.0,
        ),
    ],
)
def test_a_429_says_how_long_to_wait(
    sender_for: MakeSender, headers: dict[str, str], wish: float
) -> None:
    with Http2Server(answering(429, b"slow down", headers)) as server:
        failure = failed(send(sender_for(access_to(server))))
        assert (failure.kind, failure.retry_after) == (FailureKind.THROTTLED, wish)


def test_of_a_page_of_some_proxy_nothing_is_passed_on(sender_for: MakeSender) -> None:
    page = f"<html>{CANARY}</html>".encode()
    with Http2Server(answering(500, page)) as server:
        assert reason(send(sender_for(access_to(server)))) == "server error (HTTP 500)"


def test_a_redirect_is_not_followed(sender_for: MakeSender) -> None:
    with (
        Http2Server(answering(200)) as elsewhere,
        Http2Server(answering(307, b"", {"location": f"{elsewhere.url}/"})) as server,
    ):
        sent = send(sender_for(access_to(server)))
        assert reason(sent) == "HTTP 307: a redirect, which is not followed"
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "its answer is not JSON"),
        (b"<html>" + CANARY.encode(), "its answer is not JSON"),
        (b"\xff\xfe", "its answer is not JSON"),
        (b"[" * 100_000, "its answer is not JSON"),
        (b"[1]", "its answer is no JSON object"),
        # As gateways and captive portals answer.
        (b"{}", "its answer is no object of the API"),
        (b'{"message": "ok"}', "its answer is no object of the API"),
        (b'{"kind": "Pod", "metadata": null}', "its answer is no object of the API"),
        (b'{"kind": "Pod", "metadata": []}', "its answer is no object of the API"),
        (b'{"kind": "Status", "metadata": {}}', "its answer is no object of the API"),
    ],
)
def test_a_good_answer_that_holds_no_object(sender_for: MakeSender, body: bytes, text: str) -> None:
    with Http2Server(answering(200, body)) as server:
        sent = send(sender_for(access_to(server)))
        assert reason(sent) == text
        assert failed(sent).kind is FailureKind.MALFORMED


@pytest.mark.parametrize("metadata", [{}, {"metadata": {}}], ids=["bare", "with metadata"])
def test_a_deletion_may_be_answered_with_a_status(
    sender_for: MakeSender, metadata: dict[str, object]
) -> None:
    status = {"kind": "Status", "status": "Success", **metadata}
    with Http2Server(answering(200, status)) as server:
        sent = send(sender_for(access_to(server)), replace(POD, verb=Verb.DELETE))
        assert sent.outcome == status


def test_an_answer_without_end_is_not_read_to_its_end(sender_for: MakeSender) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        while True:
            await exchange.send(b" " * 65536)

    with Http2Server(handler) as server:
        sent = send(sender_for(access_to(server)))
        assert reason(sent) == "its answer is larger than 1 MiB"
        server.wait_until(lambda: server.open_streams == 0)


def test_an_answer_of_the_largest_size_is_read(sender_for: MakeSender) -> None:
    start, end = b'{"metadata":{"name":"', b'"}}'
    name = b"a" * ((1 << 20) - len(start + end))
    with Http2Server(answering(200, start + name + end)) as server:
        sent = send(sender_for(access_to(server), largest_answer=1 << 20))
        assert sent.outcome == {"metadata": {"name": name.decode()}}


# --- the actor, the loop and the server --------------------------------------------------------------


def test_an_actor_calls_and_is_answered_over_the_wire(sender_for: MakeSender) -> None:
    release = threading.Event()

    async def handler(exchange: Exchange) -> None:
        answer = {"metadata": {"name": exchange.path}}
        await exchange.respond(200, json.dumps(answer).encode())

    with Http2Server(handler) as server:
        sender = sender_for(access_to(server))
        child = ChildSpec(
            key=API_CALLS,
            factory=lambda: ApiCalls(sender, CallMemory(), CallRules(qps=0.0)),
        )
        caller: Probe[ApiAnswered] = Probe()
        with live_stage(SupervisorSpec(name="root", children=(child,))) as play:
            requests = [ApiRequest(verb=Verb.GET, path=f"/api/v1/nodes/{n}") for n in range(50)]
            play.tell_all(API_CALLS, *(CallApi(request=r, reply_to=caller) for r in requests))
            answers = [caller.next() for _ in requests]
        release.set()
    named = {r.path: {"metadata": {"name": r.path}} for r in requests}
    assert {a.request.path: a.outcome for a in answers} == named


def test_a_bug_in_sending_is_an_answer_that_shows_nothing_and_the_others_go_on(
    sender_for: MakeSender,
) -> None:
    with Http2Server(answering(200)) as server, capture_logs() as logs:
        sender = sender_for(access_to(server))
        bug = ApiRequest(verb=Verb.CREATE, path="/api/v1/nodes", body={"a": {CANARY}})
        sent = failed(sender.send(bug, Seconds(PATIENCE)))
        assert CANARY not in repr(sent) + repr(logs)
        assert (sent.kind, sent.sentence) == (
            FailureKind.LOST,
            "cannot create node: a bug in the agent: TypeError",
        )
        assert send(sender).outcome == WEB


def test_a_request_is_lost_that_is_under_way_when_the_loop_ends() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.closed()

    told: queue.SimpleQueue[SendResult] = queue.SimpleQueue()
    with Http2Server(handler) as server:
        with senders() as sender_for:
            sender_for(access_to(server)).begin(POD, Seconds(PATIENCE), told.put)
            server.wait_until(lambda: len(server.requests) == 1)
        assert failed(told.get(timeout=PATIENCE)).kind is FailureKind.LOST


def test_senders_with_the_same_server_share_a_connection_until_the_last_of_them_is_gone(
    sender_for: MakeSender,
) -> None:
    with Http2Server(answering(200)) as server:
        one = sender_for(access_to(server, "one"))
        two = sender_for(access_to(server, "two"))
        assert {send(each).codes for each in (one, two)} == {("200",)}
        assert server.connections_accepted == 1
        one.let_go()
        assert send(two).codes == ("200",)
        assert server.connections_accepted == 1
        two.let_go()
        server.wait_until(lambda: server.open_connections == 0)
        assert send(sender_for(access_to(server))).codes == ("200",)


class HangingCredentials(GivenCredentials):
    """Reading them takes as long as the test wants."""

    def __init__(self, *accesses: Access) -> None:
        super().__init__(*accesses)
        self.released = threading.Event()

    @override
    def access(self) -> Access:
        assert self.released.wait(PATIENCE)
        return super().access()


def test_credentials_that_hang_are_waited_for_until_the_deadline_and_by_nobody_else() -> None:
    with Http2Server(answering(200)) as server:
        hanging = HangingCredentials(access_to(server))
        with senders(hanging) as stuck_for, senders() as sender_for:
            late = stuck_for().send(POD, Seconds(0.2))
            assert failed(late).kind is FailureKind.TIMEOUT
            assert send(sender_for(access_to(server))).outcome == WEB
            hanging.released.set()
