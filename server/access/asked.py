"""What a request asks for, read once: the server decides who may, and what is done, on this alone. Pure.

A server that authorizes one reading of a path and carries out another one can be talked into anything. So a
path that could be read in two ways is refused.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_to_bytes

from messages.access import AccessVerb

LONGEST_PATH: Final = 8192
"""Bytes of a path. Queries hold commands; the limit of the request's head is theirs."""

_ESCAPED: Final = re.compile(r"(?:[^%]|%[0-9A-Fa-f]{2})*")
_PRINTABLE: Final = re.compile(r"[!-\"$-~]*")
"""Without ``#``: a request has no fragment."""
_VERBS: Final = {
    "GET": AccessVerb.GET,
    "HEAD": AccessVerb.GET,
    "POST": AccessVerb.CREATE,
    "PUT": AccessVerb.UPDATE,
    "PATCH": AccessVerb.PATCH,
    "DELETE": AccessVerb.DELETE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The first segment of paths that are served."""

    subresources: tuple[str, ...]
    """Of the Node: what somebody needs for these paths, in the order in which it is asked for."""
    is_command: bool = False
    """Whether it acts in a container. That is ``create``, whatever the method: WebSockets begin with a GET,
    and who may only look must not run commands by one."""
    may_be_stale: bool = True
    """Whether a decision that has expired may count while the API server is away."""


_COMMAND: Final = Root(subresources=("proxy",), is_command=True, may_be_stale=False)
_PODS: Final = Root(subresources=("pods", "proxy"))
ROOTS: Final = {
    "attach": _COMMAND,
    "checkpoint": Root(subresources=("checkpoint",), may_be_stale=False),
    "configz": Root(subresources=("configz", "proxy")),
    "containerLogs": Root(subresources=("proxy",)),
    "debug": Root(subresources=("proxy",), may_be_stale=False),
    "exec": _COMMAND,
    "flagz": Root(subresources=("configz",)),
    "healthz": Root(subresources=("healthz", "proxy")),
    "logs": Root(subresources=("log",)),
    "metrics": Root(subresources=("metrics",)),
    "pods": _PODS,
    "portForward": _COMMAND,
    "run": _COMMAND,
    "runningpods": _PODS,
    "stats": Root(subresources=("stats",)),
    "statusz": Root(subresources=("statusz",)),
}
"""All of them. A path elsewhere is not found, whoever asks; one below them is decided on first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request asks for."""

    segments: tuple[str, ...]
    """Of the path, decoded once. A slash at the end leaves none."""
    query: tuple[tuple[str, str], ...] = field(repr=False)
    """Names and values, decoded once, in their order. They may hold secrets."""
    verb: AccessVerb | None
    """None for a method that nothing is served for: it is refused once it is known who asks."""
    subresources: tuple[str, ...]
    """Of the Node, in the order in which they are asked for. One that is allowed is enough."""
    may_be_stale: bool
    """Whether a decision that has expired may count while the API server is away."""


@dataclass(frozen=True, slots=True)
class RefusedTarget:
    """A target that is none: the request is answered 400, whoever asks."""

    sentence: str


def read_request(method: str, target: str) -> Asked | RefusedTarget | None:
    """Return what a request with this method and target, as it was sent, asks for.

    None if no such path is served.
    """
    if not _PRINTABLE.fullmatch(target):
        return RefusedTarget(
            "the target of the request has characters that should be percent-encoded"
        )
    path, _, query = target.partition("?")
    try:
        segments, pairs = _segments(path), _pairs(query)
    except ValueError as error:
        return RefusedTarget(str(error))
    root = ROOTS.get(segments[0]) if segments else None
    if root is None:
        return None
    verb = AccessVerb.CREATE if root.is_command else _VERBS.get(method)
    return Asked(
        segments=segments,
        query=pairs,
        verb=verb,
        subresources=root.subresources,
        may_be_stale=root.may_be_stale and verb is AccessVerb.GET,
    )


def _segments(path: str) -> tuple[str, ...]:
    """Return the segments of ``path``. Raises ``ValueError`` with a sentence."""
    if len(path) > LONGEST_PATH:
        raise ValueError(f"the path is longer than {LONGEST_PATH} bytes")
    first, *raw = path.split("/")
    if first or not raw:
        raise ValueError("the target of the request is not a path")
    if not raw[-1]:
        raw.pop()
    return tuple(_checked(_decoded(each)) for each in raw)


def _checked(segment: str) -> str:
    if segment in {"", ".", ".."}:
        raise ValueError("the path has a segment that is empty, . or ..")
    if any(each in "/\\" or unicodedata.category(each) == "Cc" for each in segment):
        raise ValueError("the path has a segment with a slash, a backslash or a control character")
    return segment


def _pairs(query: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of ``query``. Raises ``ValueError`` with a sentence."""
    found = (each.replace("+", " ").partition("=") for each in query.split("&") if each)
    return tuple((_decoded(name), _decoded(value)) for name, _, value in found)


def _decoded(text: str) -> str:
    """Return ``text`` decoded once. Raises ``ValueError`` with a sentence."""
    if not _ESCAPED.fullmatch(text):
        raise ValueError("the target of the request has a % without two hexadecimal digits")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise ValueError("the target of the request is not UTF-8") from None
