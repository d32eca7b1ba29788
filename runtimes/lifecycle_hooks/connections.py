"""Connections of hooks, on the event loop. What goes wrong is said without anything that was sent."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from actors.probes.connections import tls_context
from actors.probes.names import HostAddresses, LookUp, found_by, looked_up
from kernel import Lane

MOST_BYTES: Final = 16_384
"""Of a line, and of what is read ahead."""

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


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
