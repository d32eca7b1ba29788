"""Connections of hooks, on the event loop. What goes wrong is said without anything that was sent."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
import threading
from typing import Any, Final, TypeAlias

from probes.connections import tls_context

MOST_BYTES: Final = 16_384
"""Of a line, and of what is read ahead."""
MOST_LOOKUPS: Final = 8
"""Threads that look names up. One whose name server is silent hangs for half a minute."""

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_lookups = threading.BoundedSemaphore(MOST_LOOKUPS)


class HookConnectionError(Exception):
    """A hook could not be carried out. The text is for people, and names host and port alone."""


class PlainAnswerError(HookConnectionError):
    """HTTPS was asked for, and what came is not TLS."""


async def connect(host: str, port: int, *, is_https: bool = False) -> Streams:
    """Return a new connection. Raises ``HookConnectionError``."""
    where = f"{host}:{port}"
    addresses = [host] if _is_address(host) else await _look_up(host, where)
    trouble: HookConnectionError | None = None
    for address in addresses:
        try:
            return await _open(address, host, port, is_https=is_https)
        except ssl.SSLError as error:
            if error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}:
                raise PlainAnswerError(f"{where}: the answer is not TLS") from None
            trouble = HookConnectionError(f"{where}: {error.reason or 'TLS failed'}")
        except OSError as error:
            trouble = HookConnectionError(f"{where}: {_reason(error)}")
    raise trouble or HookConnectionError(f"{where}: the name has no address") from None


def close(writer: asyncio.StreamWriter) -> None:
    """Close a connection at once, whatever is still to be sent or read."""
    writer.transport.abort()


async def _open(address: str, host: str, port: int, *, is_https: bool) -> Streams:
    options: dict[str, Any] = {}
    if is_https:
        # A name is what the server may choose its certificate by; an address says nothing.
        options = {"ssl": tls_context(), "server_hostname": "" if _is_address(host) else host}
    return await asyncio.open_connection(address, port, limit=MOST_BYTES, **options)


async def _look_up(host: str, where: str) -> list[str]:
    """Return the addresses of a name. The threads for that are few, and end by themselves."""
    if not _lookups.acquire(blocking=False):
        raise HookConnectionError(f"{where}: too many names are being looked up")
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()
    finder = threading.Thread(
        target=_find, args=(host, loop, found), name="hooks-name", daemon=True
    )
    try:
        finder.start()
    except RuntimeError:  # the machine has no thread left
        _lookups.release()
        raise HookConnectionError(f"{where}: there is no thread to look the name up") from None
    return await found


def _find(host: str, loop: asyncio.AbstractEventLoop, found: asyncio.Future[list[str]]) -> None:
    addresses: list[str] = []
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
    except (OSError, UnicodeError):
        pass  # no address
    finally:
        _lookups.release()
    if not loop.is_closed():
        loop.call_soon_threadsafe(_settle, found, addresses)


def _settle(found: asyncio.Future[list[str]], addresses: list[str]) -> None:
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
