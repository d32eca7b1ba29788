"""One GET of the manifest URL, and its answer. Knows nothing of pods or actors.

It blocks, and another thread can break it off at any moment. So it runs pyreqwest's asynchronous client, on
a loop that lives as long as the request. A read of the synchronous client cannot be broken off (measured:
closing the client leaves it waiting until the deadline).

URL and headers may hold secrets, and the library's errors contain the URL. So no text of the library is shown
as it is.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import (
    BuilderError,
    ConnectError,
    DetailedPyreqwestError,
    PyreqwestError,
)
from pyreqwest.http import Url
from pyreqwest.request import StreamRequest
from pyreqwest.response import Response

from kernel.loop_thread import raise_if_cancelled
from manifests.texts import cut, one_line
from messages.sources import RejectReason
from messages.units import Seconds
from settings.addresses import is_loopback
from settings.version import version
from sources.http.asking import Body, FetchError, Unmodified, Validators
from sources.http.bodies import MOST_BYTES

DEADLINE: Final = Seconds(10.0)
"""The time from the first connection to the last byte of the body, as in a kubelet (rule H2)."""

MOST_REQUESTS: Final = 10
"""The first request and those that redirects lead to. Go's client gives up at the tenth redirect."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_DEFAULT_PORTS: Final = frozenset({80, 443})
_DATE: Final = "%a, %d %b %Y %H:%M:%S GMT"
"""As every server has to write it (RFC 9110, section 5.6.7)."""
_CAUSE_LEN: Final = 200
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class HttpFetcher:
    """Asks one URL over HTTP/1.1, as Go's default client would, with these differences:

    - None of ``headers`` is sent on to another host or port: any of them may be a token, where Go
      knows only some by name. Nor is the URL's user.
    - A redirect from https to http is refused, where Go follows.
    - The authorities of ``ca_file`` are trusted beside the system's. It is read for every request.
    """  # noqa: D400, D415  # a list follows

    def __init__(
        self,
        url: str,
        headers: Mapping[str, tuple[str, ...]],
        ca_file: Path | None,
        deadline: Seconds = DEADLINE,
        most: int = MOST_BYTES,
    ) -> None:
        self._url = url
        self._headers = headers
        self._ca_file = ca_file
        self._deadline = deadline
        self._most = most
        self._closed = False
        self._break_off: Callable[[], object] = lambda: None

    def fetch(self, known: Validators | None) -> Body | Unmodified:
        """Return the answer, within the deadline. Raises ``FetchError``."""
        try:
            return asyncio.run(self._fetch(known))
        except asyncio.CancelledError:
            raise FetchError("broken off") from None
        except TimeoutError:  # of asyncio or of the library, which has the same deadline
            raise FetchError(f"no complete answer within {self._deadline:g} s") from None
        except ValueError:
            # From the library, whose text may show the value of a header.
            raise FetchError("the URL or a header cannot be sent as it is") from None
        except PyreqwestError as error:
            raise FetchError(_sentence(error)) from None

    def close(self) -> None:
        """Break off the request that is under way. One that begins later is broken off at once."""
        self._closed = True
        with suppress(RuntimeError):  # that loop is closed: the request is over
            self._break_off()

    async def _fetch(self, known: Validators | None) -> Body | Unmodified:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101  # a coroutine that runs is one
        self._break_off = lambda: loop.call_soon_threadsafe(task.cancel)
        if (
            self._closed
        ):  # checked after the line above, since ``close`` sets it before it breaks off
            raise asyncio.CancelledError
        async with asyncio.timeout(self._deadline):
            return await self._follow(known)

    async def _follow(self, known: Validators | None) -> Body | Unmodified:
        first = url = self._first_url()
        ours = True
        for _ in range(MOST_REQUESTS):
            asked = known if known is not None and known.url == str(url) else None
            async with (
                self._client(url) as client,
                self._request(client, url, asked, ours=ours) as response,
            ):
                raise_if_cancelled()  # if the first cancel was lost, nothing would end later requests in time
                if response.status not in _REDIRECTS:
                    return await _answer(response, url, asked, self._most)
                target = _target(url, response)
            raise_if_cancelled()
            # Once another server was asked this stays false: that one may redirect back on purpose.
            ours = ours and _is_same_server(first, target)
            url = _with_user(target, url) if ours else target
        raise FetchError(f"redirected more than {MOST_REQUESTS - 1} times")

    def _first_url(self) -> Url:
        url = Url(self._url)
        if url.scheme not in {"http", "https"}:
            raise FetchError("the URL is neither http nor https")
        if any(name.lower() == "authorization" for name in self._headers):
            return url.with_username("").with_password(None)  # as in Go: the header wins
        return url

    def _client(self, url: Url) -> Client:
        builder = (
            ClientBuilder()
            .follow_redirects(enable=False)
            .timeout(timedelta(seconds=self._deadline))
            .user_agent(f"actorlet/{version()}")
            .brotli(enable=False)
            .deflate(enable=False)
            .zstd(enable=False)
        )
        for certificate in _certificates(self._ca_file):
            builder = builder.add_root_certificate_pem(certificate)
        # The environment's proxies apply, as to a kubelet, but never to this machine itself.
        builder = builder.no_proxy() if _is_this_machine(url) else builder
        try:
            return builder.build()
        except BuilderError:
            sentence = f"the CA file {self._ca_file} holds a certificate that cannot be used"
            raise FetchError(sentence if self._ca_file else "no HTTP client can be had") from None

    def _request(
        self, client: Client, url: Url, asked: Validators | None, *, ours: bool
    ) -> StreamRequest:
        request = client.get(url)
        for name, values in self._headers.items() if ours else ():
            for value in values:
                request = request.header(name, value, is_sensitive=True)
        if asked is not None and asked.etag:
            request = request.header("If-None-Match", asked.etag)
        if asked is not None and asked.last_modified:
            request = request.header("If-Modified-Since", asked.last_modified)
        return request.build_streamed()


async def _answer(
    response: Response, url: Url, asked: Validators | None, most: int
) -> Body | Unmodified:
    if response.status == 304 and asked is not None:
        return Unmodified()
    if response.status == 304:
        raise FetchError("answered 304 although it was asked for the whole body")
    if response.status != 200:
        raise FetchError(f"answered with status {response.status}")
    data = bytearray()
    while (chunk := await response.body_reader.read_chunk()) is not None:
        raise_if_cancelled()
        data += chunk
        if len(data) >= most:
            sentence = f"the body is {most / 1e6:g} MB or more"
            raise FetchError(sentence, RejectReason.TOO_LARGE)
    etag, last_modified = _header(response, "ETag"), _last_modified(response)
    offered = Validators(url=str(url), etag=etag, last_modified=last_modified)
    return Body(data=bytes(data), validators=offered if etag or last_modified else None)


def _last_modified(response: Response) -> str:
    """Return when the body was changed, if no later body can have the same time; else nothing.

    The time has whole seconds. A body that was sent within that second may have changed once more in it, and
    a server that is asked for something newer would never tell (RFC 9110, section 8.8.2.2).
    """
    changed, sent = _header(response, "Last-Modified"), _header(response, "Date")
    try:
        is_over = time.strptime(changed, _DATE) < time.strptime(sent, _DATE)
    except ValueError:
        return ""  # one of them is missing or cannot be read
    return changed if is_over else ""


def _header(response: Response, name: str) -> str:
    try:
        return response.get_header(name) or ""
    except ValueError:
        return ""  # not ASCII: as good as none


def _target(url: Url, response: Response) -> Url:
    """Return where a redirect leads to. Raises ``FetchError`` when it is not to be followed."""
    location = _header(response, "Location")
    if not location:
        raise FetchError(f"answered with status {response.status} without saying where to go")
    try:
        target = url.join(location)
    except ValueError:
        raise FetchError("redirected to something that is no URL") from None
    if target.scheme not in {"http", "https"}:
        raise FetchError("redirected to something else than http or https")
    if url.scheme == "https" and target.scheme == "http":
        raise FetchError("redirected from https to http, which is not followed")
    return target


def _is_same_server(first: Url, target: Url) -> bool:
    """Return whether headers for ``first`` may go to ``target``: the same host and port, or its https."""
    ports = first.port_or_known_default, target.port_or_known_default
    return first.host_str == target.host_str and (
        ports[0] == ports[1] or _DEFAULT_PORTS.issuperset(ports)
    )


def _with_user(target: Url, url: Url) -> Url:
    if target.username or target.password:
        return target
    return target.with_username(url.username).with_password(url.password)


def _is_this_machine(url: Url) -> bool:
    host = (url.host_str or "").strip("[]")
    try:
        return host == "localhost" or is_loopback(host)
    except ValueError:
        return False  # a name


def _certificates(path: Path | None) -> list[bytes]:
    if path is None:
        return []
    try:
        found = _CERTIFICATE.findall(path.read_bytes())
    except OSError as error:
        raise FetchError(f"the CA file {path} cannot be read: {error.strerror}") from None
    if not found:
        raise FetchError(f"the CA file {path} holds no certificate")
    return found


def _sentence(error: PyreqwestError) -> str:
    """Return what went wrong, with the innermost cause where it cannot hold a URL."""
    attempt = "no connection" if isinstance(error, ConnectError) else "no usable answer"
    causes = error.details.get("causes") if isinstance(error, DetailedPyreqwestError) else None
    cause = one_line(cut(causes[-1]["message"], _CAUSE_LEN)) if causes else ""
    return attempt if not cause or "://" in cause else f"{attempt}: {cause}"
