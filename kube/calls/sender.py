"""Sends one request and returns its result. This is the blocking part of the calls; it runs in threads.

Whatever can happen on the way is a value here; only bugs raise. What threads share is replaced and never
changed. If two threads find a rotated certificate at the same time, both build a client, which costs one
more connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Protocol

from pyreqwest.client import SyncClient
from pyreqwest.exceptions import PyreqwestError
from pyreqwest.request import SyncStreamRequest
from pyreqwest.response import SyncResponse
from typing_extensions import override

from kube.calls.request_info import attempt_of
from kube.clients import base_url, sync_client
from kube.credentials.access import Access, Credentials, CredentialsError
from kube.errors import ApiError, error_of_answer, error_of_transport
from messages.api import ApiFailure, ApiRequest, FailureKind, Verb
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp

LARGEST_ANSWER: Final = 64 << 20
"""Bytes after decompression. The largest object is 1.5 MiB, etcd's limit; a list of 10,000 pods of 5 kB
takes 50 MB."""
NO_ANSWER: Final = "<error>"
"""The code of a request without an answer in metrics, as in every Kubernetes component."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendResult:
    """The result of one request, and what is counted and shown of it.

    The ``repr`` leaves the outcome out: it may be a Secret.
    """

    outcome: JsonObject | ApiFailure = field(repr=False)
    server: str = ""
    """Empty when the credentials could not be read."""
    user: str = ""
    codes: tuple[str, ...] = ()
    """One for each time that a request went out: status codes, or ``NO_ANSWER``."""


class Sender(Protocol):
    """Sends requests. Many threads call it at the same time."""

    def send(self, request: ApiRequest, deadline: Seconds) -> SendResult:
        """Send ``request`` and return its result. May block a little longer than ``deadline``.

        ``deadline`` is for all of it, a second attempt included.
        """
        ...

    @property
    def credentials_trouble(self) -> str:
        """Why credentials could not be read at the last attempt; empty when they could."""
        return ""


@dataclass(frozen=True, slots=True)
class _Connected:
    key: tuple[object, ...] = field(repr=False)
    """Contains the private key and the proxy's password."""
    client: SyncClient


class HttpSender(Sender):
    """Sends over HTTP/2 or HTTP/1.1 with the current credentials.

    After a 401 the credentials are read again and the request is sent once more. A changed certificate,
    server or proxy makes a new client; the old one ends with the last request that uses it.
    """

    def __init__(
        self, credentials: Credentials, user_agent: str, largest_answer: int = LARGEST_ANSWER
    ) -> None:
        self._credentials = credentials
        self._user_agent = user_agent
        self._largest_answer = largest_answer
        self._connected: _Connected | None = None

    @override
    def send(self, request: ApiRequest, deadline: Seconds) -> SendResult:
        return _Exchange(self, request, deadline).run()

    def close(self) -> None:
        """Close the connections. Requests that are under way fail."""
        connected, self._connected = self._connected, None
        if connected is not None:
            connected.client.close()

    @property
    def credentials(self) -> Credentials:
        """Where accesses come from."""
        return self._credentials

    @property
    @override
    def credentials_trouble(self) -> str:
        return self._credentials.trouble

    @property
    def largest_answer(self) -> int:
        """The longest answer that is read, in bytes."""
        return self._largest_answer

    def client(self, access: Access) -> SyncClient:
        """Return a client with connections for ``access``."""
        connected = self._connected
        if connected is None or connected.key != access.connection_key:
            client = sync_client(access, self._user_agent)
            self._connected = connected = _Connected(access.connection_key, client)
        return connected.client

    def forget_address(self, access: Access) -> None:
        """Make the next request look up the server's name again, after this one got no answer.

        A client looks up addresses by itself. Only if the server's certificate is for another name was it
        told an address (``kube.clients``).
        """
        if access.tls_server_name:
            self._connected = None


class _Exchange:
    """One request and its second attempt, with what a sentence about it needs."""

    def __init__(self, sender: HttpSender, request: ApiRequest, deadline: Seconds) -> None:
        self._sender = sender
        self._request = request
        self._deadline = deadline
        self._ends_at = time.monotonic() + deadline
        self._access: Access | None = None
        self._codes: list[str] = []

    def run(self) -> SendResult:
        """Return the result."""
        try:
            outcome: JsonObject | ApiFailure = self._attempt()
        except ApiError as error:
            outcome = error.failure(attempt_of(self._request), self._access)
        access = self._access
        return SendResult(
            outcome=outcome,
            server=access.server if access is not None else "",
            user=access.user if access is not None else "",
            codes=tuple(self._codes),
        )

    def _attempt(self) -> JsonObject:
        credentials = self._sender.credentials
        access = self._read(credentials.access)
        try:
            return self._send(access)
        except ApiError as error:
            if error.kind is not FailureKind.UNAUTHORIZED:
                raise
        return self._send(self._read(lambda: credentials.reload(access)))

    def _read(self, read: Callable[[], Access]) -> Access:
        try:
            self._access = read()
        except CredentialsError as error:
            raise error_of_transport(error) from error
        return self._access

    def _send(self, access: Access) -> JsonObject:
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise error_of_transport(TimeoutError(), self._deadline)
        try:
            request = _built(self._sender.client(access), access, self._request, left)
        except CredentialsError as error:
            raise error_of_transport(error) from error
        self._codes.append(NO_ANSWER)
        try:
            with request as response:
                self._codes[-1] = str(response.status)
                body = self._body(response)
        except (PyreqwestError, TimeoutError) as error:
            if self._codes[-1] == NO_ANSWER:
                self._sender.forget_address(access)
            raise error_of_transport(error, self._deadline) from error
        return _object(self._request.verb, response.status, response.headers, body)

    def _body(self, response: SyncResponse) -> bytes:
        chunks: list[bytes] = []
        size = 0
        while (chunk := response.body_reader.read_chunk()) is not None:
            chunks.append(bytes(chunk))
            size += len(chunk)
            if size > self._sender.largest_answer:
                limit = self._sender.largest_answer >> 20
                raise _malformed(f"its answer is larger than {limit} MiB", response.status)
        return b"".join(chunks)


def _built(
    client: SyncClient, access: Access, request: ApiRequest, left: float
) -> SyncStreamRequest:
    """Return ``request`` ready to be sent. Raises ``CredentialsError``."""
    try:
        builder = client.request(request.verb.value, base_url(access) + request.path)
    except ValueError:
        raise CredentialsError("the server's URL cannot be used") from None
    builder = builder.query(dict(request.query)).timeout(timedelta(seconds=left))
    builder = builder.header("Accept", "application/json")
    if access.authorization:
        builder = builder.header("Authorization", access.authorization, is_sensitive=True)
    if request.body is not None:
        is_patch = request.verb is Verb.PATCH
        media_type = request.patch.value if is_patch else "application/json"
        body = json.dumps(request.body, separators=(",", ":"), default=_plain)
        builder = builder.header("Content-Type", media_type).body_bytes(body.encode())
    return builder.build_streamed()


def _plain(value: object) -> dict[str, Any]:
    """Return a mapping that is not a dict as one, for JSON."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON can say")


def _object(verb: Verb, status: int, headers: Mapping[str, str], body: bytes) -> JsonObject:
    """Return the object in an answer. Raises ``ApiError``."""
    if not 200 <= status < 300:
        raise error_of_answer(status, headers, body, Timestamp(time.time()))
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise _malformed("its answer is not JSON", status) from None
    if not isinstance(found, dict):
        raise _malformed("its answer is no JSON object", status)
    if not _is_of_the_api(found, verb):
        raise _malformed("its answer is no object of the API", status)
    return found


def _is_of_the_api(found: JsonObject, verb: Verb) -> bool:
    """Return whether an API server wrote ``found``, and not a gateway in its place.

    Every object has metadata, and so has a list. A Status is an answer to deletions only.
    """
    if found.get("kind") == "Status":
        return verb is Verb.DELETE
    return isinstance(found.get("metadata"), dict)


def _malformed(text: str, status: int) -> ApiError:
    return ApiError(text, kind=FailureKind.MALFORMED, status=status)
