"""What is sent to ask for a page, and what the beginning of an answer says. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from runtimes.hooks.actions import HttpGetHook

_RESERVED: Final = "%/:?#[]@!$&'()*+,;=~"
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_WITHOUT_BODY: Final = frozenset({204, 304})


class UnusableTextError(Exception):
    """Something cannot be sent, or what came is no HTTP. The text is for people and quotes nothing."""


class AnswerHead(NamedTuple):
    """The beginning of an answer."""

    status: int
    location: str
    """Where to go on; empty for nowhere."""
    length: int | None
    """Of the body in bytes; None if that is not said."""
    is_chunked: bool

    @property
    def is_interim(self) -> bool:
        """Whether another beginning follows."""
        return 100 <= self.status < 200 and self.status != 101


def request_of(action: HttpGetHook, user_agent: str) -> bytes:
    """Return the request for a page. Headers of the hook win. Raises ``UnusableTextError``."""
    given = {name.lower() for name, _ in action.headers}
    defaults = (("Host", authority(action)), ("User-Agent", user_agent), ("Accept", "*/*"))
    headers = [(name, value) for name, value in defaults if name.lower() not in given]
    headers += [
        (name, value) for name, value in action.headers if value or name.lower() != "accept"
    ]
    headers = [(name, value) for name, value in headers if value or name.lower() != "user-agent"]
    headers = [each for each in headers if each[0].lower() != "connection"]
    lines = [f"GET {target_of(action.path)} HTTP/1.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers]
    if any(set("\r\n\0") & set(line) for line in lines):
        raise UnusableTextError("a header cannot be sent")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


def target_of(path: str) -> str:
    """Return a path as it is sent, with its query and without a fragment."""
    path = path.partition("#")[0]
    return quote(path if path.startswith("/") else f"/{path}", safe=_RESERVED)


def authority(action: HttpGetHook) -> str:
    """Return host and port as they stand in a URL."""
    host = f"[{action.host}]" if ":" in action.host else action.host
    return f"{host}:{action.port}"


def head_of(lines: list[bytes]) -> AnswerHead:
    """Return what the lines of a beginning say. Raises ``UnusableTextError``."""
    version, _, rest = lines[0].partition(b" ")
    code = rest[:3]
    if not version.startswith(b"HTTP/1.") or not (code.isdigit() and len(code) == 3):
        raise UnusableTextError("the answer is no HTTP")
    fields: dict[bytes, bytes] = {}
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        fields.setdefault(name.strip().lower(), value.strip())
    status, length = int(code), fields.get(b"content-length", b"")
    has_length = length.isdigit() and len(length) < 16
    return AnswerHead(
        status=status,
        location=fields.get(b"location", b"").decode("utf-8", "replace")
        if status in _REDIRECTS
        else "",
        length=0 if status in _WITHOUT_BODY else int(length) if has_length else None,
        is_chunked=fields.get(b"transfer-encoding", b"").lower().endswith(b"chunked"),
    )


def redirected(action: HttpGetHook, location: str) -> HttpGetHook | None:
    """Return the page to go on with; None if it is on another host, where nobody is sent by a pod.

    Raises ``UnusableTextError``.
    """
    scheme = "https" if action.is_https else "http"
    before = f"{scheme}://{authority(action)}{target_of(action.path)}"
    try:
        parts = urlsplit(urljoin(before, location))
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UnusableTextError("the answer leads nowhere") from None
    if parts.scheme not in {"http", "https"}:
        raise UnusableTextError("the answer leads nowhere")
    if host != (urlsplit(before).hostname or ""):
        return None
    is_https = parts.scheme == "https"
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return HttpGetHook(
        is_https=is_https,
        host=action.host,
        port=port or (443 if is_https else 80),
        path=path,
        headers=action.headers,
    )


def without_credentials(action: HttpGetHook) -> HttpGetHook:
    """Return the same page, asked for by plain HTTP and without an ``Authorization``."""
    return HttpGetHook(
        is_https=False,
        host=action.host,
        port=action.port,
        path=action.path,
        headers=tuple(each for each in action.headers if each[0].lower() != "authorization"),
    )
