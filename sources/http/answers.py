"""What asking the manifest URL comes to, and whom to ask: the port that ``http_fetch`` fills.

By itself, so that an agent without a manifest URL does not load the client library, which takes 8 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from messages.sources import RejectReason


class FetchError(Exception):
    """There is no body. The text says why, for people, without anything secret."""

    def __init__(self, sentence: str, code: RejectReason | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
        """Set when there was an answer, and it is one that can never be a manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """How a server can tell that a body is still the present one. The ``repr`` shows no URL."""

    url: str = field(repr=False)
    """Which answered it, after redirects: another one may use the same tags for other bodies."""
    etag: str
    last_modified: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The server answered with a body."""

    data: bytes = field(repr=False)
    validators: Validators | None
    """None when the server offers none."""


@dataclass(frozen=True, slots=True)
class Unmodified:
    """The server says that the body it was asked about is still the present one."""


class Fetcher(Protocol):
    """Asks one URL, one request at a time. ``HttpFetcher`` is the real one."""

    def fetch(self, known: Validators | None) -> Body | Unmodified:
        """Return the answer; ``Unmodified`` only when asked about the ``known`` one.

        Blocks. Raises ``FetchError`` when there is no answer that can be used.
        """
        ...

    def close(self) -> None:
        """Break off the request that is under way, and any later one. Callable from any thread."""
        ...


MakeFetcher: TypeAlias = Callable[[str, Mapping[str, tuple[str, ...]], Path | None], Fetcher]
"""Makes a fetcher for a URL, the headers to send and the file of an authority to trust."""
