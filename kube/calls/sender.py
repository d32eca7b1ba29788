"""Sends one request and tells its result. Requests are tasks on the loop of the process.

Whatever can happen on the way is a value here; only bugs raise. If two requests find a rotated certificate at
the same time, both build a client, which costs one more connection.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakValueDictionary

import structlog
from pyreqwest.client import Client
from pyreqwest.exceptions import PyreqwestError
from pyreqwest.request import StreamRequest
from pyreqwest.response import Response
from typing_extensions import override

from kube.api_loop import ApiLoop, SharedCredentials
from kube.calls.request_info import attempt_of
from kube.clients import base_url, call_client
from kube.credentials.access import Access, CredentialsError
from kube.errors import ApiError, error_of_answer, error_of_transport
from messages.api import ApiFailure, ApiRequest, FailureKind, Verb
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp

LARGEST_ANSWER: Final = 64 << 20
"""Bytes after decompression. The largest object is 1.5 MiB, etcd's limit; a list of 10,000 pods of 5 kB
takes 50 MB."""
NO_ANSWER: Final = "<error>"
"""The code of a request without an answer in metrics, as in every Kubernetes component."""
ACCESS_AGE: Final = Seconds(1.0)
"""Credentials that were read longer ago are read again before the next request."""

R = TypeVar("R")

_log = structlog.get_logger("api-calls")


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
    """Sends requests. Any thread may call it."""

    def begin(
        self, request: ApiRequest, deadline: Seconds, done: Callable[[SendResult], None]
    ) -> None:
        """Send ``request``, and return at once. ``done`` is called once with the result, on any thread.

        That may be a little later than ``deadline``, which is for all of it, a second attempt included.
        """
        ...

    @property
    def credentials_trouble(self) -> str:
        """Why credentials could not be read at the last attempt; empty when they could."""
        return ""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Connected:
    """A client, and what it was made for."""

    key: tuple[object, ...] = field(repr=False)
    """Contains the private key and the proxy's password."""
    client: Client


class CallClients:
    """The clients of all calls of a process: senders whose accesses may share connections have the same one.

    A client ends with the last sender and request that use it. Lives on the loop.
    """

    def __init__(self, loop: ApiLoop, user_agent: str) -> None:
        self.loop = loop
        self._user_agent = user_agent
        self._connected: WeakValueDictionary[tuple[object, ...], Connected] = WeakValueDictionary()

    async def connected(self, access: Access) -> Connected:
        """Return a client for ``access``. Raises ``CredentialsError`` and ``ApiError``."""
        found = self._connected.get(access.connection_key)
        return found if found is not None else await self.connected_anew(access)

    async def connected_anew(self, access: Access) -> Connected:
        """Return a new client for ``access``, which looks up the server's name again. Raises the same."""
        make = partial(call_client, access, self._user_agent)
        client = await self.loop.run_blocking(make)
        made = Connected(access.connection_key, client)
        self._connected[access.connection_key] = made
        return made


class HttpSender(Sender):
    """Sends over HTTP/2 or HTTP/1.1 with the current credentials.

    After a 401 the credentials are read again and the request is sent once more. A changed certificate,
    server or proxy makes a new client; the old one ends with the last request that uses it.
    """

    def __init__(
        self,
        credentials: SharedCredentials,
        clients: CallClients,
        largest_answer: int = LARGEST_ANSWER,
    ) -> None:
        self._credentials = credentials
        self._clients = clients
        self._largest_answer = largest_answer
        self._connected: Connected | None = None
        self._is_address_stale = False

    @override
    def begin(
        self, request: ApiRequest, deadline: Seconds, done: Callable[[SendResult], None]
    ) -> None:
        sending = self._clients.loop.thread.run(_Exchange(self, request, deadline).run())
        sending.add_done_callback(partial(_tell, done, attempt_of(request)))

    @property
    def credentials(self) -> SharedCredentials:
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

    async def client(self, access: Access) -> Client:
        """Return a client with connections for ``access``. Raises ``CredentialsError`` and ``ApiError``."""
        connected = self._connected
        if self._is_address_stale:
            self._is_address_stale = False
            connected = await self._clients.connected_anew(access)
        elif connected is None or connected.key != access.connection_key:
            connected = await self._clients.connected(access)
        self._connected = connected
        return connected.client

    def forget_address(self, access: Access) -> None:
        """Make the next request look up the server's name again, after this one got no answer.

        A client looks up addresses by itself. Only if the server's certificate is for another name was it
        told an address (``kube.clients``).
        """
        if access.tls_server_name:
            self._is_address_stale = True


class _Exchange:
    """One request and its second attempt, with what a sentence about it needs."""

    def __init__(self, sender: HttpSender, request: ApiRequest, deadline: Seconds) -> None:
        self._sender = sender
        self._request = request
        self._deadline = deadline
        self._ends_at = time.monotonic() + deadline
        self._access: Access | None = None
        self._codes: list[str] = []

    async def run(self) -> SendResult:
        """Return the result."""
        try:
            outcome: JsonObject | ApiFailure = await self._attempt()
        except ApiError as error:
            outcome = error.failure(attempt_of(self._request), self._access)
        access = self._access
        return SendResult(
            outcome=outcome,
            server=access.server if access is not None else "",
            user=access.user if access is not None else "",
            codes=tuple(self._codes),
        )

    async def _attempt(self) -> JsonObject:
        credentials = self._sender.credentials
        access = await self._read(credentials.access(ACCESS_AGE))
        try:
            return await self._send(access)
        except ApiError as error:
            if error.kind is not FailureKind.UNAUTHORIZED:
                raise
        return await self._send(await self._read(credentials.reload(access)))

    async def _read(self, reading: Awaitable[Access]) -> Access:
        self._access = await self._in_time(reading)
        return self._access

    async def _in_time(self, work: Awaitable[R]) -> R:
        """Return what comes of ``work`` if the deadline lets it. Raises ``ApiError``."""
        try:
            async with asyncio.timeout(max(0.0, self._ends_at - time.monotonic())):
                return await work
        except TimeoutError as late:
            raise error_of_transport(late, self._deadline) from None

    async def _send(self, access: Access) -> JsonObject:
        try:
            client = await self._in_time(self._sender.client(access))
            left = self._ends_at - time.monotonic()
            if left <= 0:
                raise error_of_transport(TimeoutError(), self._deadline)
            request = _built(client, access, self._request, left)
        except CredentialsError as error:
            raise error_of_transport(error) from error
        self._codes.append(NO_ANSWER)
        try:
            async with request as response:
                self._codes[-1] = str(response.status)
                body = await self._body(response)
        except (PyreqwestError, TimeoutError) as error:
            if self._codes[-1] == NO_ANSWER:
                self._sender.forget_address(access)
            raise error_of_transport(error, self._deadline) from error
        return _object(self._request.verb, response.status, response.headers, body)

    async def _body(self, response: Response) -> bytes:
        chunks: list[bytes] = []
        size = 0
        while (chunk := await response.body_reader.read_chunk()) is not None:
            chunks.append(bytes(chunk))
            size += len(chunk)
            if size > self._sender.largest_answer:
                limit = self._sender.largest_answer >> 20
                raise _malformed(f"its answer is larger than {limit} MiB", response.status)
        return b"".join(chunks)


def _tell(done: Callable[[SendResult], None], attempt: str, sending: Future[SendResult]) -> None:
    """Tell what came of a request, whatever that is: nobody else does."""
    if sending.cancelled():
        done(_lost(attempt, "the loop of the requests ended"))
    elif (bug := sending.exception()) is not None:
        _log.error("a bug in sending", request=attempt, exc_info=bug)
        done(_lost(attempt, f"a bug in the agent: {type(bug).__name__}"))
    else:
        done(sending.result())


def _lost(attempt: str, why: str) -> SendResult:
    """Return the result of a request of which nobody knows what came of it."""
    return SendResult(outcome=ApiError(why, kind=FailureKind.LOST).failure(attempt, None))


def _built(client: Client, access: Access, request: ApiRequest, left: float) -> StreamRequest:
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
