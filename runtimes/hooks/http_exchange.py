"""Asks for a page as a kubelet's hooks do, on the event loop.

Any answer will do, whatever its status. Ten kB of a body are read and thrown away, or all of it if it is
shorter: a hook lasts until its answer is complete.
"""

from __future__ import annotations

import asyncio
from typing import Final

from runtimes.hooks.actions import HttpGetHook
from runtimes.hooks.connections import HookConnectionError, PlainAnswerError, close, connect
from runtimes.hooks.http_texts import (
    AnswerHead,
    UnusableTextError,
    head_of,
    redirected,
    request_of,
    without_credentials,
)

MOST_REDIRECTS: Final = 10
MOST_OF_HEAD: Final = 65_536
"""Bytes of the beginning of an answer. A longer one is no answer."""
MOST_OF_BODY: Final = 10 * 1024

FALLBACK: Final = "HTTPS was answered by plain HTTP, and it was asked for once more by that"


async def get(action: HttpGetHook, user_agent: str) -> str:
    """Ask for a page. Return what people should know of it, mostly nothing.

    Raises ``HookConnectionError``.
    """
    remark, page = "", action
    for _ in range(MOST_REDIRECTS):
        try:
            following = await _following(page, user_agent)
        except PlainAnswerError:
            following, remark = without_credentials(page), FALLBACK
        if following is None:
            return remark
        page = following
    raise HookConnectionError(f"stopped after {MOST_REDIRECTS} redirects")


async def _following(page: HttpGetHook, user_agent: str) -> HttpGetHook | None:
    """Ask for a page. Return the one that the answer leads to; None if it leads to none."""
    try:
        head = await _ask(page, user_agent)
        return redirected(page, head.location) if head.location else None
    except UnusableTextError as error:
        raise HookConnectionError(f"{page.host}:{page.port}: {error}") from None


async def _ask(page: HttpGetHook, user_agent: str) -> AnswerHead:
    request = request_of(page, user_agent)
    reader, writer = await connect(page.host, page.port, is_https=page.is_https)
    where = f"{page.host}:{page.port}"
    try:
        writer.write(request)
        head = await _head(reader)
        await _discard_body(reader, head)
    except (OSError, EOFError) as error:
        raise HookConnectionError(f"{where}: the connection ended without an answer") from error
    except (ValueError, asyncio.LimitOverrunError):
        raise HookConnectionError(f"{where}: the answer is too long") from None
    finally:
        close(writer)
    return head


async def _head(reader: asyncio.StreamReader) -> AnswerHead:
    left = MOST_OF_HEAD
    while True:
        lines: list[bytes] = []
        while (line := await reader.readuntil(b"\n")).strip() or not lines:
            left -= len(line)
            if left < 0:
                raise ValueError
            lines.append(line.rstrip(b"\r\n"))
        head = head_of(lines)
        if not head.is_interim:
            return head


async def _discard_body(reader: asyncio.StreamReader, head: AnswerHead) -> None:
    """Read what belongs to the answer. A body that breaks off, or is nonsense, does not matter."""
    try:
        if head.is_chunked:
            await _discard_chunks(reader)
        else:
            length = MOST_OF_BODY if head.length is None else head.length
            await _discard(reader, min(length, MOST_OF_BODY))
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        pass


async def _discard(reader: asyncio.StreamReader, count: int) -> None:
    while count > 0:
        read = await reader.read(count)
        if not read:
            return
        count -= len(read)


async def _discard_chunks(reader: asyncio.StreamReader) -> None:
    left = MOST_OF_BODY
    while left > 0:
        line = await reader.readuntil(b"\n")
        size = int(line.partition(b";")[0].strip(), 16)
        if size <= 0:
            return
        await _discard(reader, min(size + 2, left))
        left -= size + 2
