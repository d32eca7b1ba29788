"""The objects of the tests behind a real socket: TLS, HTTP/2, tokens, pages and watches.

For wire and process tests that need an API server but not its faithfulness in everything; the contract
suite says in what it is one. ``http`` is the hostile side: cuts, half-open connections, GOAWAY.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Final, Self

from kube.credentials.access import Access
from messages.api import ApiRequest, Patch, Verb
from messages.pods import JsonObject
from tests.support.apiserver.history import Change, event_of
from tests.support.apiserver.paths import Place
from tests.support.apiserver.status import StatusError, bad_request
from tests.support.apiserver.store import ApiStore
from tests.support.apiserver.users import (
    GROUPS,
    NODE,
    file_name,
    node_of,
    token_of,
    write_kubeconfig,
)
from tests.support.wire.http2_server import Exchange, Http2Server

LONGEST_WATCH: Final = 1800
BOOKMARK_BEFORE_END: Final = 2.0
"""Seconds: when the real one sends the last bookmark of a watch."""
MEDIA: Final = {patch.value: patch for patch in Patch}


class FakeApiServer:
    """Serves ``store`` while in its ``with``."""

    def __init__(self, store: ApiStore | None = None) -> None:
        self.store = store or ApiStore()
        self.http = Http2Server(self._serve)

    def __enter__(self) -> Self:
        self.http.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.http.__exit__(*error)  # type: ignore[arg-type]  # handed on as they come

    def access(self, user: str = NODE) -> Access:
        """Return how ``user`` gets in by token."""
        return Access(
            server=self.http.url,
            user=user,
            authorization=f"Bearer {token_of(user)}",
            ca=self.http.ca_pem,
        )

    def kubeconfig(self, folder: Path, user: str = NODE) -> Path:
        """Write a kubeconfig for ``user`` into ``folder`` and return where it is."""
        ca_file = folder / "ca.pem"
        ca_file.write_bytes(self.http.ca_pem)
        path = folder / f"{file_name(user)}.kubeconfig"
        return write_kubeconfig(path, user, server=self.http.url, ca_file=ca_file)

    async def _serve(self, exchange: Exchange) -> None:
        if exchange.path in {"/readyz", "/livez", "/healthz"}:
            await exchange.respond(200, b"ok")
            return
        try:
            user = _user_of(exchange)
            if exchange.query.get("watch") in {"true", "1"}:
                await self._watch(exchange, node_of(user))
                return
            answer = self.store.handle(_request_of(exchange), as_node=node_of(user))
        except StatusError as error:
            await exchange.respond(error.code, error.status)
            return
        await exchange.respond(201 if exchange.method == "POST" else 200, answer)

    async def _watch(self, exchange: Exchange, node: str) -> None:
        selector = exchange.query.get("fieldSelector", "")
        collection = self.store.collection(exchange.path, selector)
        if node:
            self.store.check_node_access(node, Verb.GET, collection, selector)
        await exchange.start(200, {"content-type": "application/json"})
        try:
            async with aclosing(self._events(exchange, collection, selector)) as events:
                async for event in events:
                    await exchange.send(json.dumps(event).encode() + b"\n")
        except StatusError as error:
            # Too old a version is an event of a watch that was opened in good order.
            event = {"type": "ERROR", "object": error.status}
            await exchange.send(json.dumps(event).encode() + b"\n")
        await exchange.finish()

    async def _events(
        self, exchange: Exchange, collection: Place, selector: str
    ) -> AsyncGenerator[JsonObject, None]:
        """Give the events of a watch until its time is over or its client has gone."""
        changes: asyncio.Queue[Change | None] = asyncio.Queue()
        since = exchange.query.get("resourceVersion", "")
        if since in {"", "0"}:
            since, present = self._present(collection, selector)
            for item in present:
                yield {"type": "ADDED", "object": item}
        stop = self.store.follow(since, _on_this_loop(changes))
        try:
            async for change in _until_the_end(exchange, changes):
                if change is None:
                    yield _bookmark(
                        collection, max(since, str(self.store.history.version), key=int)
                    )
                elif (event := event_of(change, collection, selector)) is not None:
                    yield {"type": event[0].value, "object": event[1]}
        finally:
            stop()

    def _present(self, collection: Place, selector: str) -> tuple[str, list[JsonObject]]:
        request = ApiRequest(verb=Verb.GET, path=collection.path, query={"fieldSelector": selector})
        listed = self.store.handle(request)
        kind = collection.kind
        typed = {"kind": kind.name, "apiVersion": kind.api_version}
        items: list[JsonObject] = [{**typed, **item} for item in listed["items"]]
        return str(listed["metadata"]["resourceVersion"]), items


async def _until_the_end(
    exchange: Exchange, changes: asyncio.Queue[Change | None]
) -> AsyncGenerator[Change | None, None]:
    """Give changes as they come, and None where a bookmark is due, until the watch is over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + float(exchange.query.get("timeoutSeconds", LONGEST_WATCH))
    wants_bookmarks = exchange.query.get("allowWatchBookmarks") == "true"
    stops = [end - BOOKMARK_BEFORE_END, end] if wants_bookmarks else [end]
    leaving = asyncio.ensure_future(exchange.closed())
    leaving.add_done_callback(lambda _: changes.put_nowait(None))
    try:
        for stop in stops:
            with suppress(TimeoutError):
                while (
                    change := await asyncio.wait_for(changes.get(), stop - loop.time())
                ) is not None:
                    yield change
                return
            if stop < end:
                yield None
    finally:
        leaving.cancel()


def _on_this_loop(changes: asyncio.Queue[Change | None]) -> Callable[[Change], None]:
    """Return what puts changes into the queue from whatever thread makes them."""
    loop = asyncio.get_running_loop()

    def put(change: Change) -> None:
        loop.call_soon_threadsafe(changes.put_nowait, change)

    return put


def _bookmark(collection: Place, version: str) -> JsonObject:
    kind = collection.kind
    metadata = {"resourceVersion": version, "creationTimestamp": None}
    return {
        "type": "BOOKMARK",
        "object": {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata},
    }


def _user_of(exchange: Exchange) -> str:
    named = exchange.headers.get("authorization", "")
    known = {f"Bearer {token_of(user)}": user for user in GROUPS}
    user = known.get(named) or (not named and exchange.client_common_name)
    if not user:
        raise StatusError(401, "Unauthorized", "Unauthorized")
    return user


def _request_of(exchange: Exchange) -> ApiRequest:
    try:
        body = json.loads(exchange.body) if exchange.body else None
    except ValueError:
        raise bad_request("the body is no JSON") from None
    return ApiRequest(
        verb=Verb(exchange.method),
        path=exchange.path,
        query=exchange.query,
        body=body,
        patch=MEDIA.get(exchange.headers.get("content-type", ""), Patch.MERGE),
    )
