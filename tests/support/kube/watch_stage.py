"""The keeper of watches against a server that a test scripts: an API with one small collection."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeAlias

from pyreqwest.client import Client, ClientBuilder
from typing_extensions import override

from kernel import AskTimeoutError, ChildSpec, SupervisorSpec
from kube.api_connections import ApiConnections
from kube.clients import streaming_client
from kube.credentials.access import Access, Credentials
from kube.streams.actor import WATCHES, Watches
from kube.streams.connections import MakeClient
from kube.streams.rules import ConnectionRoom, WatchRules
from kube.streams.shared import WatchMemory
from messages.api import FailureKind
from messages.port import Port
from messages.units import Seconds
from messages.watches import (
    DescribeWatches,
    ListAllAnew,
    ListTarget,
    ObjectsAre,
    TargetListed,
    Unwatch,
    Watch,
    WatchDescribed,
    WatchesDescribed,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchTarget,
)
from tests.support.canary import hidden
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, live_stage
from tests.support.patience import PATIENCE
from tests.support.wire.http2_server import Exchange, Handler, Http2Server

Answer: TypeAlias = Callable[[Exchange], Awaitable[None]]

PASSWORD = b64encode(hidden("1").encode()).decode()
PODS = WatchTarget(path="/api/v1/pods", field_selector="spec.nodeName=n1")


def secret(name: str, version: str, **data: str) -> dict[str, Any]:
    """Return a Secret as events have it, with a value that nobody may see."""
    metadata = {"name": name, "namespace": "default", "resourceVersion": version}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "data": {"password": PASSWORD, **data},
    }


def secret_target(name: str) -> WatchTarget:
    """Return what the watch of one Secret follows."""
    return WatchTarget(
        path="/api/v1/namespaces/default/secrets", field_selector=f"metadata.name={name}"
    )


def secret_list(version: str, *items: dict[str, Any], token: str = "") -> dict[str, Any]:
    """Return a list as the API server sends it: its items have neither apiVersion nor kind."""
    bare = [{k: v for k, v in item.items() if k not in {"apiVersion", "kind"}} for item in items]
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return {"apiVersion": "v1", "kind": "SecretList", "metadata": metadata, "items": bare}


def event_line(kind: str, what: dict[str, Any]) -> bytes:
    """Return one event as it stands in a stream."""
    return json.dumps({"type": kind, "object": what}, ensure_ascii=False).encode() + b"\n"


def bookmark(version: str) -> bytes:
    """Return a bookmark."""
    return event_line("BOOKMARK", {"kind": "Secret", "metadata": {"resourceVersion": version}})


def status(code: int, reason: str = "", **more: Any) -> dict[str, Any]:
    """Return a v1 Status."""
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, **more}


def refuse(code: int, reason: str = "", **headers: str) -> Answer:
    """Return what answers with a Status."""

    async def answer(exchange: Exchange) -> None:
        await exchange.respond(code, status(code, reason), headers)

    return answer


def stream(*data: bytes, then: Callable[[Exchange], Awaitable[None]] | None = None) -> Answer:
    """Return what opens a stream and sends ``data``; it then stays open, or does as ``then`` says."""

    async def answer(exchange: Exchange) -> None:
        await exchange.start(200)
        for each in data:
            await exchange.send(each)
            await asyncio.sleep(0)  # a chunk of its own
        await (then or Exchange.closed)(exchange)

    return answer


def listing(document: dict[str, Any]) -> Answer:
    """Return what answers with a document."""

    async def answer(exchange: Exchange) -> None:
        await exchange.respond(200, document)

    return answer


class Feed:
    """Opens streams, and sends what a test gives it to all that are open."""

    def __init__(self) -> None:
        self._open: list[tuple[asyncio.AbstractEventLoop, asyncio.Queue[bytes]]] = []

    async def __call__(self, exchange: Exchange) -> None:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._open.append((asyncio.get_running_loop(), queue))
        await exchange.start(200)
        while True:
            await exchange.send(await queue.get())

    def send(self, data: bytes) -> None:
        """Send ``data`` on every stream."""
        for loop, queue in self._open:
            loop.call_soon_threadsafe(queue.put_nowait, data)


class Held:
    """Answers as ``answer`` does, once ``released`` is set."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.released = asyncio.Event()

    async def __call__(self, exchange: Exchange) -> None:
        await self.released.wait()
        await self._answer(exchange)


class Script:
    """Answers lists and watches in the order given; the last answer of each is for all further ones."""

    def __init__(self, lists: list[Answer], watches: list[Answer]) -> None:
        self._lists = lists
        self._watches = watches

    async def __call__(self, exchange: Exchange) -> None:
        answers = self._watches if "watch" in exchange.query else self._lists
        await (answers.pop(0) if len(answers) > 1 else answers[0])(exchange)


WEB, DB = secret_target("web"), secret_target("db")
EMPTY = listing(secret_list("10"))
"""Answers with a list of nothing."""


def secret_targets(count: int) -> list[WatchTarget]:
    """Return what so many watches of one Secret each follow."""
    return [secret_target(f"s{number}") for number in range(count)]


class Tokens(Credentials):
    """Credentials with tokens in a row: each ``reload`` takes the next, and the last one stays."""

    def __init__(self, server: Http2Server, *tokens: str, identity: bytes | None = None) -> None:
        self._server = server
        self._tokens = list(tokens) or ["first"]
        self.identity = identity
        self.reloads = 0

    @override
    def access(self) -> Access:
        return Access(
            server=self._server.url,
            user="n1-user",
            authorization=f"Bearer {self._tokens[0]}",
            ca=self._server.ca_pem if self._server.url.startswith("https") else None,
            identity=self.identity,
        )

    @override
    def reload(self, refused: Access) -> Access:
        self.reloads += 1
        del self._tokens[: len(self._tokens) > 1]
        return self.access()


def quick_rules(**changed: Any) -> WatchRules:
    """Return rules for tests: the same proportions, a fiftieth of the time.

    But no target becomes uncertain, since it depends on the machine how long a stream takes to return.
    """
    numbers: dict[str, Any] = {
        "user_agent": "actorlet/test",
        "first_backoff": Seconds(0.02),
        "first_forbidden_backoff": Seconds(0.02),
        "first_revoked_backoff": Seconds(0.04),
        "longest_backoff": Seconds(0.2),
        "request_window": Seconds(0.1),
        "first_probe": Seconds(0.01),
        "shortest_probe": Seconds(0.02),
        "longest_probe": Seconds(0.04),
        "spread": Seconds(0.06),
        "healthy_after": Seconds(0.2),
        "close_idle_after": Seconds(0.1),
        "confirmed_after": Seconds(0.02),
        "uncertain_after": Seconds(60.0),
        "uncertain_after_list": Seconds(60.0),
    }
    return WatchRules(**{**numbers, **changed})


def quick_pings(access: Access, user_agent: str) -> Client:
    """Return a client that notices a half-open connection in half a second."""
    builder = ClientBuilder().user_agent(user_agent).http2_prior_knowledge().no_proxy()
    builder = builder.add_root_certificate_pem(access.ca or b"")
    builder = builder.http2_keep_alive_interval(timedelta(seconds=0.2))
    builder = builder.http2_keep_alive_timeout(timedelta(seconds=0.2))
    return builder.http2_keep_alive_while_idle(enabled=True).build()


class WatchStage:
    """A running keeper of watches, and one subscriber."""

    def __init__(self, stage: Stage, memory: WatchMemory) -> None:
        self.stage = stage
        self.memory = memory
        self.probe: Probe[WatchFact] = Probe()
        self.listed: Probe[TargetListed] = Probe()

    def watch(
        self, *targets: WatchTarget, probe: Probe[WatchFact] | None = None, mark: int = 0
    ) -> None:
        """Have the targets followed."""
        for target in targets:
            self._tell(Watch(target=target, subscriber=probe or self.probe, mark=mark))

    def unwatch(self, *targets: WatchTarget) -> None:
        """Have the targets followed no longer."""
        for target in targets:
            self._tell(Unwatch(target=target, subscriber=self.probe))

    def list_once(self, *targets: WatchTarget, mark: int = 0) -> None:
        """Have the targets listed beside their watches; ``listed`` is told."""
        for target in targets:
            self._tell(ListTarget(target=target, reply_to=self.listed, mark=mark))

    def described(self, *, in_detail: bool = True) -> WatchesDescribed:
        """Return how the watches are."""

        def question(reply_to: Port[WatchesDescribed]) -> DescribeWatches:
            return DescribeWatches(reply_to=reply_to, in_detail=in_detail)

        return self.stage.ask(WATCHES, question)

    def wait_until_open(self, streams: int) -> None:
        """Return once so many streams are open, as the keeper sees it."""
        self.wait_until(lambda described: described.streams == streams)

    def wait_until_waiting(self, requests: int) -> WatchDescribed:
        """Return how the only watch is once it waits, so many requests having been answered."""
        described = self.wait_until(
            lambda described: (
                sum(described.requests.values()) == requests
                and described.watches[0].state == "waiting"
            )
        )
        return described.watches[0]

    def wait_until(self, is_so: Callable[[WatchesDescribed], bool]) -> WatchesDescribed:
        """Return how the watches are once ``is_so``."""
        deadline = time.monotonic() + PATIENCE
        pause = threading.Event()
        while (described := self._described_if_alive()) is None or not is_so(described):
            assert time.monotonic() < deadline, described
            pause.wait(0.005)
        return described

    def _described_if_alive(self) -> WatchesDescribed | None:
        """Return how the watches are; None when the question came just as their keeper crashed."""
        try:
            return self.described()
        except AskTimeoutError:
            return None

    def next_list(self) -> ObjectsAre:
        """Return what is told next, which must be a list."""
        told = self.probe.next()
        assert isinstance(told, ObjectsAre), told
        return told

    def next_list_of_next_life(self) -> ObjectsAre:
        """Return the first list of what was followed, and is again by the keeper's next life."""
        told = self.next_failure()
        assert told.failure.kind is FailureKind.LOST, told
        assert self.next_failure() == told
        return self.next_list()

    def next_change(self) -> WatchEvent:
        """Return what is told next, which must be a change."""
        told = self.probe.next()
        assert isinstance(told, WatchEvent), told
        return told

    def next_failure(self) -> WatchFailed:
        """Return what is told next, which must be a failure."""
        told = self.probe.next()
        assert isinstance(told, WatchFailed), told
        return told

    def list_all_anew(self) -> None:
        """Say that the API server was put back into its past."""
        self._tell(ListAllAnew())

    def _tell(self, message: Watch | Unwatch | ListTarget | ListAllAnew) -> None:
        self.stage.system.address(WATCHES).tell(message)


@contextmanager
def watch_stage(
    credentials: Credentials,
    rules: WatchRules | None = None,
    make_client: MakeClient = streaming_client,
    room: ConnectionRoom | None = None,
    connections: ApiConnections | None = None,
) -> Iterator[WatchStage]:
    """Run a keeper of watches in a tree of its own, perhaps with connections that others share."""
    memory, are_shared = WatchMemory(), connections is not None
    connections = connections or ApiConnections(
        rules or quick_rules(), make_client, random.Random(7)
    )
    shared = connections.shared(credentials)

    def factory() -> Watches:
        return Watches(shared, memory, connections.streams, room)

    root = SupervisorSpec(name="root", children=(ChildSpec(key=WATCHES, factory=factory),))
    try:
        with live_stage(root) as stage:
            assert stage.system.wait_started(Seconds(PATIENCE))
            yield WatchStage(stage, memory)
    finally:
        if not are_shared:
            connections.close()


@contextmanager
def watched_server(
    handler: Handler,
    *,
    rules: WatchRules | None = None,
    room: ConnectionRoom | None = None,
    **server: Any,
) -> Iterator[tuple[Http2Server, WatchStage]]:
    """Run a server that answers as ``handler`` does, and a keeper of watches that follows its objects."""
    with (
        Http2Server(handler, **server) as http,
        watch_stage(Tokens(http), rules, room=room) as watches,
    ):
        yield http, watches
