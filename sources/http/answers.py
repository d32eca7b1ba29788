"""What a request to the manifest URL is answered with, and what makes such requests (``fetch`` does).

A module of its own, so that an agent without a manifest URL does not load the client library, which takes
8 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from messages.sources import RejectReason


class FetchError(Exception):
    """There is no body. The text is a sentence for people that says why, without anything secret."""

    def __init__(self, sentence: str, code: RejectReason | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
        """Set when there was an answer that can never be a manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """What lets a server tell that a body has not changed. The ``repr`` shows no URL."""

    url: str = field(repr=False)
    """The URL that answered, after redirects. Another one may use the same tags for other bodies."""
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
    """The server says that the known body has not changed."""


class Fetcher(Protocol):
    """Asks one URL, one request at a time. ``HttpFetcher`` is the real one."""

    def fetch(self, known: Validators | None) -> Body | Unmodified:
        """Return the answer; ``Unmodified`` only if ``known`` is given and still valid.

        Blocks. Raises ``FetchError`` when there is no answer that can be used.
        """
        ...

    def close(self) -> None:
        """Break off the request that is under way, and any later one. May be called from any thread."""
        ...


MakeFetcher: TypeAlias = Callable[[str, Mapping[str, tuple[str, ...]], Path | None], Fetcher]
"""Makes a fetcher. Takes the URL, the headers to send, and a file of authorities to trust."""
