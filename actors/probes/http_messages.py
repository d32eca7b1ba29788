"""What is sent to ask for a page, and what is read of an answer of HTTP/1. Pure.

A request may carry confidential headers. No ``repr`` shows them.

Status and place to go on are read from the head, at most 64 KiB of it. Of the body 10 KiB are read, and the
beginning is kept. What is neither is an error with its reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from manifests.handlers import HttpGetAction

_RESERVED: Final = "%/:?#[]@!$&'()*+,;=~"


class UnusableLocationError(Exception):
    """An answer leads to what is no page. The text is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPage:
    """What is asked for, and how."""

    is_https: bool
    host: str
    """A name or an address, without brackets."""
    port: int
    target: str
    """Path and query as they are sent."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Of the probe. They win over those that are sent anyway."""
    user_agent: str = ""

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole of it, for people too."""
        return f"{'https' if self.is_https else 'http'}://{self.authority}{self.target}"


def page_of(probe: HttpGetAction, ip: str, user_agent: str) -> HttpPage:
    """Return the page that ``probe`` asks for. ``ip`` is the pod's."""
    return HttpPage(
        is_https=probe.is_https,
        host=probe.host.strip("[]") or ip,
        port=probe.port,
        target=_target(probe.path),
        headers=probe.headers,
        user_agent=user_agent,
    )


def request_of(page: HttpPage) -> bytes:
    """Return the request for ``page``, as a kubelet sends it.

    Headers of the probe win. An empty ``Accept`` or ``User-Agent`` means that there is none.
    """
    given = {name.lower() for name, _ in page.headers}
    defaults = (("Host", page.authority), ("User-Agent", page.user_agent), ("Accept", "*/*"))
    headers = [(name, value) for name, value in defaults if name.lower() not in given]
    headers += [
        (name, value)
        for name, value in page.headers
        if name.lower() != "connection" and (value or name.lower() not in {"accept", "user-agent"})
    ]
    lines = [f"GET {page.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8", "replace")


def led_to(page: HttpPage, location: str) -> HttpPage | None:
    """Return the page to go on with; None if it is on another host, where no probe is sent.

    A ``Host`` of the probe's own is meant for this server, so it is kept where only the path changes.
    Raises ``UnusableLocationError``.
    """
    try:
        parts = urlsplit(urljoin(page.url, location))
        host, port = parts.hostname or "", parts.port
        is_relative = not urlsplit(location).netloc
        before = urlsplit(page.url).hostname or ""
    except ValueError:
        raise UnusableLocationError("failed to parse Location header") from None
    if parts.scheme not in {"http", "https"}:
        raise UnusableLocationError(f'unsupported protocol scheme "{parts.scheme[:32]}"')
    if host != before:
        return None
    is_https = parts.scheme == "https"
    kept = tuple(each for each in page.headers if is_relative or each[0].lower() != "host")
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path
    return replace(
        page,
        is_https=is_https,
        port=port or (443 if is_https else 80),
        target=_target(path),
        headers=kept,
    )


def _target(path: str) -> str:
    """Return a path as it is sent, with its query and without a fragment."""
    path = path.partition("#")[0]
    return quote(path if path.startswith("/") else f"/{path}", safe=_RESERVED)


MOST_OF_HEAD: Final = 65_536
"""Bytes of a head, with those of all interim answers before it."""
MOST_OF_BODY: Final = 10 * 1024
"""Bytes of a body that are read, as a kubelet does."""
KEPT_OF_BODY: Final = 1_024
MOST_OF_CHUNK_LINE: Final = 4_096
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""Statuses of answers that lead elsewhere."""

_BEGINNING: Final = b"HTTP/1."
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.\d (\d{3})(?![^ \r\n])")
_LENGTH: Final = re.compile(rb"\ncontent-length:[ \t]*(\d{1,15})[ \t]*(?![^\r\n])")
_CHUNKED: Final = re.compile(rb"\ntransfer-encoding:[^\n]*chunked[ \t]*(?![^\r\n])")
_LOCATION: Final = re.compile(rb"\nlocation:([^\n]*)", re.IGNORECASE)
_CHUNK_SIZE: Final = re.compile(rb"[0-9a-fA-F]{1,15}")
_WITHOUT_BODY: Final = frozenset({101, 204, 304})


class HttpAnswerError(Exception):
    """What came is no answer. The text is for people."""


class EndlessHeadError(HttpAnswerError):
    """The head is longer than anybody reads."""


class HttpAnswerReader:
    """One answer, piece by piece."""

    __slots__ = (
        "_buffer",
        "_chunk_left",
        "_expected",
        "_is_chunked",
        "_read",
        "_seen",
        "body",
        "location",
        "status",
    )

    def __init__(self) -> None:
        self.status = 0
        """0 until the head is there."""
        self.location = ""
        """Where the answer leads; empty for nowhere."""
        self.body = b""
        """The beginning of the body."""
        self._buffer = b""
        """What is not understood yet: a part of the head, or of the line before a chunk."""
        self._seen = 0
        """Bytes of the interim heads."""
        self._read = 0
        """Bytes of the body that came."""
        self._expected: int | None = None
        """Bytes of the body that are read if the answer is whole; None for as many as come."""
        self._is_chunked = False
        self._chunk_left = 0
        """Bytes of the chunk, and of the end of its line, that are still to come."""

    def feed(self, data: bytes) -> bool:
        """Take ``data``. Return whether the answer is complete. Raises ``HttpAnswerError``."""
        if not self.status:
            data = self._read_head(data)
            if not self.status:
                return False
        if self._is_chunked:
            return self._read_chunks(data)
        expected = MOST_OF_BODY if self._expected is None else self._expected
        self._take(data[: expected - self._read])
        return self._read >= expected

    def end(self) -> None:
        """Take that nothing follows. Raises ``HttpAnswerError`` if something is missing."""
        if not self.status:
            raise HttpAnswerError("unexpected EOF" if self._buffer or self._seen else "EOF")
        if self._is_chunked or self._read < (self._expected or 0):
            raise HttpAnswerError("unexpected EOF")

    # --- head ------------------------------------------------------------------------------------------

    def _read_head(self, data: bytes) -> bytes:
        """Take a part of the head. Return what follows on it."""
        searched = max(0, len(self._buffer) - 3)
        buffer = self._buffer + data if self._buffer else data
        while end := _HEAD_END.search(buffer, searched):
            self._check_length(end.end())
            self._understand(buffer[: end.start()])
            buffer, searched = buffer[end.end() :], 0
            if self.status:
                self._buffer = b""
                return buffer
            self._seen += end.end()
        self._check_length(len(buffer))
        if not _BEGINNING.startswith(buffer[: len(_BEGINNING)]):
            raise _malformed(buffer)
        self._buffer = buffer
        return b""

    def _check_length(self, more: int) -> None:
        if self._seen + more > MOST_OF_HEAD:
            raise EndlessHeadError(f"the headers are longer than {MOST_OF_HEAD} bytes")

    def _understand(self, head: bytes) -> None:
        line = _STATUS_LINE.match(head)
        if line is None:
            raise _malformed(head)
        status = int(line[1])
        if 100 <= status < 200 and status != 101:
            return  # an interim answer: another head follows
        fields = head.lower()
        if status in _WITHOUT_BODY:
            self._expected = 0
        elif _CHUNKED.search(fields):
            self._is_chunked = True
        elif length := _LENGTH.search(fields):
            self._expected = min(int(length[1]), MOST_OF_BODY)
        if 300 <= status < 400 and (location := _LOCATION.search(head)):
            self.location = location[1].strip().decode("utf-8", "replace")
        self.status = status

    # --- body ------------------------------------------------------------------------------------------

    def _take(self, data: bytes) -> None:
        self._read += len(data)
        if len(self.body) < KEPT_OF_BODY:
            self.body += data[: KEPT_OF_BODY - len(self.body)]

    def _read_chunks(self, data: bytes) -> bool:
        while data and self._read < MOST_OF_BODY:
            if self._chunk_left:
                taken = data[: self._chunk_left]
                # The last two are the end of the line, which belongs to no body.
                self._take(taken[: max(0, self._chunk_left - 2)])
                self._chunk_left -= len(taken)
                data = data[len(taken) :]
                continue
            line, is_whole, data = (self._buffer + data).partition(b"\n")
            if len(line) > MOST_OF_CHUNK_LINE:
                raise HttpAnswerError("malformed chunked encoding")
            self._buffer = b"" if is_whole else line
            if is_whole and self._begin_chunk(line) == 0:
                return True
        return self._read >= MOST_OF_BODY

    def _begin_chunk(self, line: bytes) -> int:
        """Take the line before a chunk. Return how long the chunk is."""
        size = line.partition(b";")[0].strip()
        if not _CHUNK_SIZE.fullmatch(size):
            raise HttpAnswerError("malformed chunked encoding")
        length = int(size, 16)
        self._chunk_left = length + 2
        return length


def _malformed(data: bytes) -> HttpAnswerError:
    first = data[:64].partition(b"\n")[0].strip()
    return HttpAnswerError(f"malformed HTTP response {first.decode('latin-1')!a}")
