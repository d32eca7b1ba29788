"""Where hooks that need a connection are carried out: one thread with an event loop, made when it is needed.

The actor decides which hooks are carried out, and until when. A hook that waits costs neither a thread nor
more than 100 kB, however little or much its target sends. A page is asked for as a probe asks; any answer
will do, whatever its status. Ten kB of a body are read and thrown away, or all of it if it is shorter: a
hook lasts until its answer is complete. Texts of failures show nothing that was sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
from asyncio import AbstractEventLoop, Semaphore
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from typing_extensions import override

from actors.probes.connections import tls_context
from actors.probes.http_messages import (
    REDIRECTS,
    EndlessHeadError,
    HttpAnswerError,
    HttpAnswerReader,
    HttpPage,
    UnusableLocationError,
    led_to,
    page_of,
    request_of,
)
from actors.probes.names import NAMES, HostAddresses, LookUp, found_by, looked_up, system_look_up
from kernel import Lane
from kernel.lanes import InFlight, Lanes
from kernel.loop_thread import LoopThread
from manifests.handlers import HttpGetAction, TcpSocketAction
from runtimes.lifecycle_hooks.messages import HookOutcome, HookSockets

MOST_BYTES: Final = 16_384
"""Of a line, and of what is read ahead."""

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

MOST_REDIRECTS: Final = 10

FALLBACK: Final = "HTTPS was answered by plain HTTP, and it was asked for once more by that"

USER_AGENT: Final = "kube-lifecycle/1.34"
"""A kubelet's name with the version whose rules are kept. Servers of pods look at it."""
MOST_AT_ONCE: Final = 512
"""Connections. Further hooks wait for one of them to end."""


class HookConnectionError(Exception):
    """A hook could not be carried out. The text is for people, and names host and port alone."""


class PlainAnswerError(HookConnectionError):
    """HTTPS was asked for, and what came is not TLS."""


class Names(NamedTuple):
    """How the addresses of a host are found."""

    lane: Lane
    look_up: LookUp


async def connect(host: str, port: int, names: Names, *, is_https: bool = False) -> Streams:
    """Return a new connection. Raises ``HookConnectionError``."""
    where = f"{host}:{port}"
    found = HostAddresses((host,)) if _is_address(host) else await _look_up(host, names)
    trouble: HookConnectionError | None = None
    for address in found.addresses:
        try:
            return await _open(address, host, port, is_https=is_https)
        except ssl.SSLError as error:
            if error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}:
                raise PlainAnswerError(f"{where}: the answer is not TLS") from None
            trouble = HookConnectionError(f"{where}: {error.reason or 'TLS failed'}")
        except OSError as error:
            trouble = HookConnectionError(f"{where}: {_reason(error)}")
    raise trouble or HookConnectionError(f"{where}: {found.why}") from None


def close(writer: asyncio.StreamWriter) -> None:
    """Close a connection at once, whatever is still to be sent or read."""
    writer.transport.abort()


async def _open(address: str, host: str, port: int, *, is_https: bool) -> Streams:
    options: dict[str, Any] = {}
    if is_https:
        # A name is what the server may choose its certificate by; an address says nothing.
        options = {"ssl": tls_context(), "server_hostname": "" if _is_address(host) else host}
    return await asyncio.open_connection(address, port, limit=MOST_BYTES, **options)


async def _look_up(host: str, names: Names) -> HostAddresses:
    """Return the addresses of a name. Who is given up meanwhile waits for no thread any more."""
    found: asyncio.Future[HostAddresses] = asyncio.get_running_loop().create_future()
    work = partial(looked_up, host, names.look_up)
    job = names.lane.start(work, partial(_note, found))
    try:
        return await found
    finally:
        job.abandon()


def _note(found: asyncio.Future[HostAddresses], outcome: object) -> None:
    """Tell what came of a look-up, from a thread of a lane."""
    with suppress(RuntimeError):  # the loop has ended
        found.get_loop().call_soon_threadsafe(_settle, found, found_by(outcome))


def _settle(found: asyncio.Future[HostAddresses], addresses: HostAddresses) -> None:
    if not found.done():
        found.set_result(addresses)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _reason(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else type(error).__name__


async def get(action: HttpGetAction, user_agent: str, names: Names) -> str:
    """Ask for a page. Return what people should know of it, mostly nothing.

    Raises ``HookConnectionError``.
    """
    remark, page = "", _page(action, user_agent)
    for _ in range(MOST_REDIRECTS):
        try:
            following = await _following(page, names)
        except PlainAnswerError:
            following, remark = _without_credentials(page), FALLBACK
        if following is None:
            return remark
        page = following
    raise HookConnectionError(f"stopped after {MOST_REDIRECTS} redirects")


def _page(action: HttpGetAction, user_agent: str) -> HttpPage:
    if action.has_unusable_header:
        raise HookConnectionError(f"{action.host}:{action.port}: a header cannot be sent")
    return page_of(action, "", user_agent)


def _without_credentials(page: HttpPage) -> HttpPage:
    """Return the same page, asked for by plain HTTP and without an ``Authorization``."""
    headers = tuple(each for each in page.headers if each[0].lower() != "authorization")
    return replace(page, is_https=False, headers=headers)


async def _following(page: HttpPage, names: Names) -> HttpPage | None:
    """Ask for a page. Return the one that the answer leads to; None if it leads to none."""
    answer = await _ask(page, names)
    if answer.status not in REDIRECTS or not answer.location:
        return None
    try:
        return led_to(page, answer.location)
    except UnusableLocationError:
        raise HookConnectionError(f"{page.host}:{page.port}: the answer leads nowhere") from None


async def _ask(page: HttpPage, names: Names) -> HttpAnswerReader:
    reader, writer = await connect(page.host, page.port, names, is_https=page.is_https)
    where, answer = f"{page.host}:{page.port}", HttpAnswerReader()
    try:
        writer.write(request_of(page))
        await _read(reader, answer)
    except OSError as error:
        if not answer.status:
            raise HookConnectionError(f"{where}: the connection ended without an answer") from error
    except EndlessHeadError:
        raise HookConnectionError(f"{where}: the answer is too long") from None
    except HttpAnswerError:
        # What follows on a head does not matter, nonsense or broken off.
        if not answer.status:
            raise HookConnectionError(f"{where}: the answer is no HTTP") from None
    finally:
        close(writer)
    return answer


async def _read(reader: asyncio.StreamReader, answer: HttpAnswerReader) -> None:
    while data := await reader.read(MOST_BYTES):
        if answer.feed(data):
            return
    if not answer.status:
        raise ConnectionError


class _Connection(InFlight):
    """A hook in progress."""

    has_begun = True
    """Its time counts, also while it waits for room."""

    def __init__(self, task: Future[None]) -> None:
        self._task = task

    @override
    def abandon(self) -> None:
        self._task.cancel()


class LoopSockets(HookSockets):
    """Hooks on one event loop. It belongs to the process, and outlives the actor's lives."""

    def __init__(self, names: Lanes[str], look_up: LookUp = system_look_up) -> None:
        """Look ``names`` up in these lanes."""
        self._loop = LoopThread("hooks")
        self._names = Names(names[NAMES], look_up)
        self._room: tuple[AbstractEventLoop, Semaphore] | None = None
        """Of one loop: no other can use it."""

    @override
    def start(
        self, action: HttpGetAction | TcpSocketAction, done: Callable[[HookOutcome], None], /
    ) -> InFlight:
        return _Connection(self._loop.run(self._carry_out(action, done)))

    def close(self) -> None:
        """End the event loop. What is in progress is dropped."""
        self._loop.close()

    def _room_now(self) -> Semaphore:
        running = asyncio.get_running_loop()
        if self._room is None or self._room[0] is not running:
            self._room = running, Semaphore(MOST_AT_ONCE)
        return self._room[1]

    async def _carry_out(
        self, action: HttpGetAction | TcpSocketAction, done: Callable[[HookOutcome], None]
    ) -> None:
        try:
            async with self._room_now():
                outcome = await self._outcome(action)
        except HookConnectionError as error:
            outcome = HookOutcome(str(error))
        except Exception as error:  # noqa: BLE001  # whatever a target sends ends its own hook alone
            outcome = HookOutcome(f"{action.host}:{action.port}: {type(error).__name__}")
        done(outcome)

    async def _outcome(self, action: HttpGetAction | TcpSocketAction) -> HookOutcome:
        if isinstance(action, HttpGetAction):
            return HookOutcome(remark=await get(action, USER_AGENT, self._names))
        _, writer = await connect(action.host, action.port, self._names)
        close(writer)
        return HookOutcome()
