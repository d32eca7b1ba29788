"""A client of an API server for tests: requests, one at a time, and watches, event by event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Self

from pyreqwest.client import SyncClient, SyncClientBuilder
from pyreqwest.request import SyncRequestBuilder
from pyreqwest.response import SyncResponse
from typing_extensions import override

from kube.clients import base_url
from kube.credentials.access import Access
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.apiserver.admin import AdminApi
from tests.support.apiserver.status import StatusError
from tests.support.patience import PATIENCE

ANSWERS_WITHIN = timedelta(seconds=PATIENCE)


class ApiClient(AdminApi):
    """An ``AdminApi`` over HTTP. Close it, or use it in a ``with``."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._client = _client(access)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    @override
    def handle(self, request: ApiRequest) -> JsonObject:
        builder = self._request(request.verb.value, request.path, dict(request.query))
        if request.body is not None:
            is_patch = request.verb is Verb.PATCH
            media = request.patch.value if is_patch else "application/json"
            builder = builder.body_bytes(json.dumps(request.body).encode())
            builder = builder.header("content-type", media)
        return _document(builder.timeout(ANSWERS_WITHIN).build().send())

    def text(self, path: str) -> str:
        """Return what the server says at ``path``, such as ``/readyz``, whatever the status."""
        return self._request("GET", path, {}).timeout(ANSWERS_WITHIN).build().send().text()

    @contextmanager
    def watch(
        self, path: str, *, since: str, selector: str = "", seconds: int = int(PATIENCE)
    ) -> Iterator[Iterator[JsonObject]]:
        """Open a watch with bookmarks, which ends after ``seconds``; give its events as they come."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": since,
            "fieldSelector": selector,
            "timeoutSeconds": str(seconds),
        }
        builder = self._request("GET", path, query).streamed_read_buffer_limit(0)
        builder = builder.timeout(ANSWERS_WITHIN + timedelta(seconds=seconds))
        with builder.build_streamed() as response:
            if response.status >= 400:
                _document(response)
            yield _events(response)

    def _request(self, method: str, path: str, query: dict[str, str]) -> SyncRequestBuilder:
        builder = self._client.request(method, base_url(self._access) + path).query(query)
        if self._access.authorization:
            builder = builder.header("authorization", self._access.authorization)
        return builder


def _document(response: SyncResponse) -> JsonObject:
    body: Any = response.json()
    if response.status >= 400:
        raise StatusError(
            response.status, body.get("reason", ""), body.get("message", ""), body.get("details")
        )
    document: JsonObject = body
    return document


def _events(response: SyncResponse) -> Iterator[JsonObject]:
    rest = b""
    while (chunk := response.body_reader.read_chunk()) is not None:
        *lines, rest = (rest + bytes(chunk)).split(b"\n")
        yield from map(json.loads, lines)


def _client(access: Access) -> SyncClient:
    builder = SyncClientBuilder().user_agent("actorlet-tests").no_proxy().http2(enable=True)
    if access.ca is not None:
        builder = builder.add_root_certificate_pem(access.ca)
    if access.identity is not None:
        builder = builder.identity_pem(access.identity)
    return builder.danger_accept_invalid_certs(enable=not access.verify).build()
