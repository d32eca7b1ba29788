"""What is sent to ask for a page, and where an answer leads. Pure.

A request may carry confidential headers. No ``repr`` shows them.
"""

from __future__ import annotations

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
