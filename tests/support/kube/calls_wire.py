"""What wire tests of single calls have in common: senders with given accesses, and servers that answer."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from typing_extensions import override

from kube.api_loop import ApiLoop, SharedCredentials
from kube.calls.sender import CallClients, HttpSender, Sender, SendResult
from kube.credentials.access import Access, Credentials, CredentialsError
from messages.api import (
    ApiFailure,
    ApiRequest,
    Verb,
)
from messages.pods import JsonObject
from messages.units import Seconds
from tests.support.kube.kubeconfigs import CANARY, TOKEN
from tests.support.patience import PATIENCE, SLOWNESS
from tests.support.wire.http2_server import Exchange, Handler, Http2Server

LATE = 2.0 * SLOWNESS
"""Seconds that a deadline may be late on a busy machine."""
AGENT = "actorlet/1.2.3"
POD = ApiRequest(verb=Verb.GET, path="/api/v1/namespaces/default/pods/web")
WEB: JsonObject = {"kind": "Pod", "metadata": {"name": "web"}}
"""What is answered when it does not matter what."""


class GivenCredentials(Credentials):
    """Accesses that the test gives; a reload goes on to the next one."""

    def __init__(self, *accesses: Access) -> None:
        self.accesses = list(accesses)
        self.reloads = 0

    @override
    def access(self) -> Access:
        return self.accesses[0]

    @override
    def reload(self, refused: Access) -> Access:
        self.reloads += 1
        if len(self.accesses) > 1:
            del self.accesses[0]
        return self.accesses[0]


class NoCredentials(Credentials):
    """Nothing can be read."""

    @override
    def access(self) -> Access:
        raise CredentialsError("kubeconfig /k cannot be read: no such file or directory")

    @override
    def reload(self, refused: Access) -> Access:
        raise NotImplementedError


class WireSender(Sender):
    """A sender of the product, which may be asked and waited for, and let go."""

    def __init__(self, sender: HttpSender, loop: ApiLoop) -> None:
        self._sender: HttpSender | None = sender
        self._loop = loop

    @override
    def begin(
        self, request: ApiRequest, deadline: Seconds, done: Callable[[SendResult], None]
    ) -> None:
        assert self._sender is not None
        self._sender.begin(request, deadline, done)

    def send(self, request: ApiRequest, deadline: Seconds) -> SendResult:
        """Return what comes of ``request``, once that is known."""
        results: queue.SimpleQueue[SendResult] = queue.SimpleQueue()
        self.begin(request, deadline, results.put)
        return results.get(timeout=deadline + PATIENCE)

    def client(self, access: Access) -> object:
        """Return what the sender reaches ``access`` with."""
        assert self._sender is not None
        return self._loop.thread.run(self._sender.client(access)).result(PATIENCE)

    def let_go(self) -> None:
        """Let go of the sender, and so of what it alone is connected by."""
        self._sender = None


class MakeSender(Protocol):
    """Makes a sender. All of a test have one loop and one set of clients, as agents of a process do."""

    def __call__(self, *accesses: Access, largest_answer: int = 1 << 20) -> WireSender:
        """Return one with these accesses, of which each reload gives the next."""
        ...


@contextmanager
def senders(credentials: Credentials | None = None) -> Iterator[MakeSender]:
    """Give what makes senders, with ``credentials`` or with what each is given; end their loop after that."""
    loop = ApiLoop()
    clients = CallClients(loop, AGENT)

    def make(*accesses: Access, largest_answer: int = 1 << 20) -> WireSender:
        given = credentials or GivenCredentials(*accesses)
        shared = SharedCredentials(given, loop, Seconds(1.0))
        return WireSender(HttpSender(shared, clients, largest_answer), loop)

    yield make
    loop.close(PATIENCE)


def access_to(server: Http2Server, token: str = TOKEN, /, **changes: object) -> Access:
    """Return an access to ``server``, otherwise as a kubeconfig would give it."""
    fields: dict[str, object] = {
        "server": server.url,
        "user": "n1",
        "authorization": f"Bearer {token}",
        "ca": server.ca_pem,
        **changes,
    }
    return Access(**fields)  # type: ignore[arg-type]


def send(sender: WireSender, request: ApiRequest = POD, deadline: float = PATIENCE) -> SendResult:
    """Return what came of ``request``; fails if anything in it is nobody's business."""
    begin = time.monotonic()
    sent = sender.send(request, Seconds(deadline))
    assert time.monotonic() - begin < deadline + LATE, "the deadline is not kept"
    assert CANARY not in repr(sent)
    return sent


def failed(sent: SendResult) -> ApiFailure:
    """Return the failure; fails if it is none."""
    assert isinstance(sent.outcome, ApiFailure)
    return sent.outcome


def reason(sent: SendResult) -> str:
    """Return what is behind server and user in the sentence."""
    start = f"cannot get pod default/web at {sent.server} as n1: "
    sentence = failed(sent).sentence
    assert sentence.startswith(start)
    return sentence.removeprefix(start)


def answering(status: int, body: object = WEB, headers: dict[str, str] | None = None) -> Handler:
    """Return a handler that always answers so."""

    async def handler(exchange: Exchange) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        await exchange.respond(status, data, headers or {})

    return handler
