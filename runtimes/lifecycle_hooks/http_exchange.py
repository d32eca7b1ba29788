"""Asks for a page as a kubelet's hooks do, on the event loop.

What is sent and read is as for probes; what becomes of it is not. Any answer will do, whatever its status.
Ten kB of a body are read and thrown away, or all of it if it is shorter: a hook lasts until its answer is
complete.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from actors.probes.http_answers import (
    REDIRECTS,
    EndlessHeadError,
    HttpAnswerError,
    HttpAnswerReader,
)
from actors.probes.http_requests import HttpPage, UnusableLocationError, led_to, page_of, request_of
from manifests.handlers import HttpGetAction
from runtimes.lifecycle_hooks.connections import (
    MOST_BYTES,
    HookConnectionError,
    Names,
    PlainAnswerError,
    close,
    connect,
)

MOST_REDIRECTS: Final = 10

FALLBACK: Final = "HTTPS was answered by plain HTTP, and it was asked for once more by that"


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
