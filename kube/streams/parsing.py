"""Parses what the API server sends: events, one per line, and lists. Each document is parsed once, as JSON.

Lines are split as bytes and decoded as a whole: a Secret of 1 MiB comes in about 64 chunks, which may end
inside a UTF-8 character. The standard library's ``json`` takes 7 of the 150 us that one event costs, so a
faster parser would not be noticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from kube.errors import ApiError
from manifests.versions import resource_version
from messages.api import FailureKind
from messages.pods import JsonObject

BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
TOO_NEW: Final = "Too large resource version"
"""What every release of the API server says of a version that it has not seen yet."""
EVENT_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED", BOOKMARK, ERROR})


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """One line of a watch. ``object`` is a Status when the type is ERROR."""

    type: str
    object: JsonObject = field(repr=False)
    version: str
    """The object's resourceVersion; empty for an ERROR."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """One answer to a list request."""

    objects: tuple[JsonObject, ...] = field(repr=False)
    version: str
    next: str
    """The ``continue`` token of the next page; empty on the last one."""


class UnfinishedAnswers:
    """Counts the bytes of lines and pages whose end has not come yet. Lives on the loop.

    Each stream has a limit of its own. This one is for all of them: who ends no line must not use up the
    machine's memory by many streams at once. The watch that asks for more when there is no room fails, and is
    tried again; as a rule it is one of those that have most.
    """

    __slots__ = ("_most", "held")

    def __init__(self, most: int) -> None:
        """``most`` is the limit, in bytes."""
        self._most = most
        self.held = 0
        """Bytes that are held at present."""

    def change(self, before: int, now: int) -> None:
        """Count ``now`` bytes of an answer in place of ``before``. Raises ``ApiError`` without room."""
        if now > before and self.held + now - before > self._most:
            raise malformed(
                f"all answers that wait for their end are longer than {self._most} bytes"
            )
        self.held += now - before


class UnfinishedAnswer:
    """The part of one answer that waits for its end, until ``close``."""

    __slots__ = ("_all", "_held")

    def __init__(self, of_all: UnfinishedAnswers) -> None:
        self._all = of_all
        self._held = 0

    def hold(self, length: int) -> None:
        """Count ``length`` bytes from now on. Raises ``ApiError`` if that is too much for all together."""
        self._all.change(self._held, length)
        self._held = length

    def close(self) -> None:
        """Count nothing any more."""
        self.hold(0)


class LineSplitter:
    """Cuts chunks into lines. The part after the last line feed waits for the next chunk."""

    __slots__ = ("_hold", "_limit", "_rest")

    def __init__(self, limit: int, hold: Callable[[int], None] = lambda _length: None) -> None:
        """``limit`` is the longest line allowed, in bytes. ``hold`` is told the length of what waits."""
        self._limit = limit
        self._hold = hold
        self._rest: bytearray | None = None

    def split(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that ``chunk`` completes. Raises ``ApiError`` when a line is too long."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = self._with_rest(end)
            if line.strip():
                yield line
        if rest:
            self._keep(rest)

    def _with_rest(self, end: bytes) -> bytes:
        if self._rest is None:
            line = end
        else:
            line, self._rest = bytes(self._rest + end), None
            self._hold(0)
        self._check(len(line))
        return line

    def _keep(self, rest: bytes) -> None:
        # There is usually nothing to keep. Thousands of idle watches then need no buffers.
        self._rest = self._rest if self._rest is not None else bytearray()
        self._rest += rest
        self._check(len(self._rest))
        self._hold(len(self._rest))

    def _check(self, length: int) -> None:
        if length > self._limit:
            raise malformed(f"an event is longer than {self._limit} bytes")


def event_of(line: bytes) -> StreamEvent:
    """Return the event in one line. Raises ``ApiError`` when it is malformed."""
    document = _parsed(line, "an event")
    kind, what = _text(document, "type"), document.get("object")
    if kind not in EVENT_TYPES or not isinstance(what, dict):
        raise malformed("an event has no type that is known, or no object")
    if kind == ERROR:
        return StreamEvent(type=ERROR, object=what, version="")
    version = resource_version(what)
    if not version:
        raise malformed("the object of an event has no resourceVersion")
    return StreamEvent(type=kind, object=what, version=version)


def page_of(body: bytes) -> ListPage:
    """Return one answer to a list; sets ``apiVersion`` and ``kind`` on its items. Raises ``ApiError``."""
    document = _parsed(body, "the list")
    items, metadata = document.get("items"), document.get("metadata")
    version = resource_version(document)
    # Some servers write an empty list as null.
    items = [] if items is None and "items" in document else items
    if not version or not isinstance(items, list):
        raise malformed("the answer is no list with a resourceVersion")
    if not all(isinstance(item, dict) for item in items):
        raise malformed("an item of the list is no object")
    of_all = {
        "apiVersion": document.get("apiVersion", ""),
        "kind": str(document.get("kind", "")).removesuffix("List"),
    }
    return ListPage(
        objects=tuple({**of_all, **item} for item in items),
        version=version,
        next=_text(metadata, "continue"),
    )


def is_too_new(body: bytes) -> bool:
    """Return whether ``body`` is a Status saying that the server has not seen the requested version yet.

    Since 1.19 such a Status has a cause with the reason ``ResourceVersionTooLarge``. Earlier servers put
    the words into a cause or into the message.
    """
    try:
        said = _parsed(body, "a Status")
    except ApiError:
        return False
    details = said.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    found = causes if isinstance(causes, list) else []
    reasons = {_text(cause, "reason") for cause in found}
    messages = {_text(cause, "message") for cause in found}
    in_words = said.get("reason") == "Timeout" and TOO_NEW in _text(said, "message")
    return "ResourceVersionTooLarge" in reasons or TOO_NEW in messages or in_words


def malformed(text: str) -> ApiError:
    """Return the error of an answer that cannot be used. ``text`` must quote nothing of the answer."""
    return ApiError(text, kind=FailureKind.MALFORMED)


def _parsed(text: bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):  # their messages quote the document
        raise malformed(f"{what} cannot be read as JSON") from None
    if not isinstance(document, dict):
        raise malformed(f"{what} is no JSON object")
    return document


def _text(parent: object, name: str) -> str:
    value = parent.get(name) if isinstance(parent, dict) else None
    return value if isinstance(value, str) else ""
