"""Asks the manifest URL on a helper thread, one request after the other. Each result is told as a message.

Asking blocks for up to ten seconds. Meanwhile the source answers questions, and can stop at once. ``fetch``
makes the requests. It is a module of its own, so that an agent without a manifest URL does not load the
client library, which takes 8 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

from messages.port import Port
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The URL answered. Ends the one request that is under way."""

    answer: Body | Unmodified


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailed:
    """The URL gave no answer that can be used. Ends the one request that is under way."""

    reason: str
    code: RejectReason | None = None
    """Set when there was an answer that can never be a manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchCrashed:
    """The request failed as it never should: there is a bug."""

    error: str


FetchMessage: TypeAlias = Fetched | FetchFailed | FetchCrashed
"""How one request ended. Its thread tells the source exactly one of these, unless it is stopped."""


def one_thread() -> Executor:
    """Return an executor with one thread, which starts with its first use."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="http-fetch")


class Asking:
    """The request that is under way: one at most. One more, at most, is remembered and made after it."""

    def __init__(self, source: Port[FetchMessage], fetcher: Fetcher, executor: Executor) -> None:
        self._source = source
        self._fetcher = fetcher
        self._executor = executor
        self._is_under_way = False
        self._ask_again = False

    def begin(self, known: Validators | None) -> bool:
        """Ask, and return True. While a request is under way, remember to ask again, and return False.

        ``known`` are the validators of the last good body.
        """
        if self._is_under_way:
            self._ask_again = True
            return False
        self._is_under_way, self._ask_again = True, False
        asking = self._executor.submit(_fetch, self._fetcher, known)
        asking.add_done_callback(partial(_report, self._source))
        return True

    def finish(self) -> bool:
        """Note that the request is over. Return whether another one was asked for meanwhile."""
        self._is_under_way = False
        return self._ask_again


def _fetch(fetcher: Fetcher, known: Validators | None) -> Fetched | FetchFailed:
    """Return the answer as a message. Runs on the helper thread."""
    try:
        return Fetched(answer=fetcher.fetch(known))
    except FetchError as error:
        return FetchFailed(reason=error.sentence, code=error.code)


def _report(source: Port[FetchMessage], asking: Future[Fetched | FetchFailed]) -> None:
    """Tell the source what came of its request, unless it has stopped."""
    if asking.cancelled():
        return
    bug = asking.exception()
    # Without its text, which may show the URL.
    source.tell(asking.result() if bug is None else FetchCrashed(error=type(bug).__name__))
