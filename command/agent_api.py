"""Asks the endpoints of an agent, and makes one sentence of everything that may go wrong.

An agent may be away, slow, in the middle of a restart or of another version, and something else may answer
at its port. A request has a deadline as a whole, so no server can hold a command up by a byte now and then.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Timer
from time import monotonic
from typing import Any, Final, Protocol

from command.failures import NoAnswerError, StrangeAnswerError, UnreachableError, no_rows
from command.lists import ListInPieces, NoListError
from command.reading import Document, text
from command.server_names import PATIENCE
from command.wording import plain

WHOLE: Final = 5
"""How many times that an answer may take as a whole: ten thousand pods are 40 MB."""
LARGEST: Final = 2**29
"""Bytes of the largest answer that is read."""
PIECE: Final = 2**20
"""Bytes that are read in one go, and of the longest line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAnswer:
    """An answer with a long list."""

    head: Document
    """What stands before the list."""
    headers: Mapping[str, str]
    pages: Iterator[list[Document]]
    """The rows of the list, which are read once."""
    rest: Callable[[], Document]
    """Tells what stands behind the list, once all pages are read."""


class AgentPlace(Protocol):
    """Where an agent is asked."""

    @property
    def absence(self) -> str:
        """Why no agent may be there, in words."""
        ...

    def connection(self, patience: float) -> http.client.HTTPConnection:
        """Return a connection that is not made yet."""
        ...


class AgentApi:
    """The endpoints of one agent."""

    def __init__(self, server: AgentPlace, patience: float = PATIENCE) -> None:
        self._server = server
        self._patience = patience
        self._is_over = Event()
        """The time for an answer as a whole is over."""

    @property
    def name(self) -> str:
        """Where the agent is, as people name it."""
        return str(self._server)

    @property
    def place(self) -> AgentPlace:
        """Where the agent is, for clients that speak with it otherwise."""
        return self._server

    def document(self, path: str) -> Document:
        """Return the object that ``path`` answers. Raises ``NoAnswerError``."""
        return self.answered(path)[0]

    def answered(self, path: str) -> tuple[Document, Mapping[str, str]]:
        """Return the object that ``path`` answers, and the headers. Raises ``NoAnswerError``."""
        answer = self.answer(path)
        if answer.status != http.client.OK:
            raise self._refusal(path, answer)
        return self._object(path, answer), answer.headers

    def optional(self, path: str) -> Document | None:
        """Return the same, or None if the agent has no such path, or nothing to say there."""
        answer = self.answer(path)
        if answer.status == http.client.NOT_FOUND:
            return None
        if answer.status != http.client.OK:
            raise self._refusal(path, answer)
        return self._object(path, answer)

    def act(self, path: str, document: Document) -> Document:
        """Return what ``path`` answers to ``document``. Raises ``NoAnswerError``."""
        answer = self.answer(path, json.dumps(document).encode())
        if answer.status != http.client.OK:
            raise self._refusal(path, answer)
        return self._object(path, answer)

    def answer(self, path: str, body_sent: bytes | None = None) -> Answer:
        """Return the answer of ``path``. Raises ``UnreachableError`` and ``StrangeAnswerError``."""
        with self._translated(path), self._asked(path, body=body_sent) as response:
            body = _whole_body(response)
            if len(body) > LARGEST:
                raise StrangeAnswerError(
                    f"{self._who} answers {_place(path)} with more than can be read"
                )
            return Answer(status=response.status, headers=dict(response.headers), body=body)

    @contextmanager
    def pieces(
        self,
        path: str,
        *,
        is_endless: bool,
        media_type: str = "",
        heard: Callable[[Mapping[str, str]], None] = lambda _headers: None,
    ) -> Iterator[Iterator[bytes]]:
        """Yield the pieces of an answer as they come. ``is_endless`` if it has no end to wait for.

        ``heard`` is told the headers. An answer that is broken off has ended. Raises as ``document`` does,
        and ``StrangeAnswerError`` if the answer has to be of ``media_type`` and is not.
        """
        with self._opened(path, goes_on=is_endless) as response:
            if media_type and response.headers.get_content_type() != media_type:
                raise StrangeAnswerError(
                    f"what answers at {self.name} says no {media_type} at {_place(path)}: "
                    "it may not be an agent"
                )
            heard(dict(response.headers))
            yield self._read(path, _until_it_ends(_pieces(response)))

    @contextmanager
    def listed(self, path: str, name: str) -> Iterator[ListedAnswer]:
        """Yield the object that ``path`` answers, of which the list called ``name`` is read while it comes.

        Only the time in which the agent is waited for counts as its own, not that in which somebody reads
        what is shown. Raises as ``document`` does.
        """
        with self._opened(path, is_timed=True) as response:
            arriving = self._read(path, self._in_time(_pieces(response)))
            with self._listing(path, name):
                document = ListInPieces(arriving, name)
            yield ListedAnswer(
                head=document.head,
                headers=dict(response.headers),
                pages=self._pages(path, name, document),
                rest=lambda: document.rest,
            )

    def _pages(self, path: str, name: str, document: ListInPieces) -> Iterator[list[Document]]:
        with self._listing(path, name):
            yield from document.pages()

    @contextmanager
    def _listing(self, path: str, name: str) -> Iterator[None]:
        try:
            yield
        except NoListError as error:
            raise (
                no_rows(name, _place(path)) if error.is_an_object else self._no_object(path)
            ) from None

    def _in_time(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        left, size = self._patience * WHOLE, 0
        while True:
            began = monotonic()
            piece = next(pieces, b"")
            left -= monotonic() - began
            size += len(piece)
            if left < 0 or size > LARGEST:
                self._is_over.set()
                raise ConnectionError
            if not piece:
                return
            yield piece

    def _read(self, path: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield ``pieces``. What goes wrong with them is told, and not what goes wrong with their reader."""
        with self._translated(path):
            yield from pieces

    @contextmanager
    def _opened(
        self, path: str, *, goes_on: bool = False, is_timed: bool = False
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield the answer to ``path`` as soon as it begins, if it is one."""
        with ExitStack() as stack:
            with self._translated(path):
                response = stack.enter_context(
                    self._asked(path, goes_on=goes_on, is_timed=is_timed)
                )
                if response.status != http.client.OK:
                    body = response.read(2**16)
                    raise self._refusal(path, Answer(status=response.status, headers={}, body=body))
            yield response

    @contextmanager
    def _asked(
        self,
        path: str,
        *,
        goes_on: bool = False,
        is_timed: bool = False,
        body: bytes | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield an answer. ``goes_on`` if it may be silent; ``is_timed`` if its reader has a clock."""
        connection = self._server.connection(self._patience)
        with closing(connection):
            connection.connect()
            wire = connection.sock
            whole = Timer(self._patience * WHOLE, self._cut, (wire,))
            whole.daemon = True
            whole.start()
            try:
                method = "GET" if body is None else "POST"
                connection.request(method, path, body, {"Accept": "application/json, */*"})
                with connection.getresponse() as response:
                    if goes_on or is_timed:
                        whole.cancel()
                    if goes_on:
                        wire.settimeout(None)
                    yield response
            finally:
                whole.cancel()

    def _cut(self, connection: socket.socket) -> None:
        """Let a thread that waits for this connection see its end."""
        self._is_over.set()
        with suppress(OSError):  # it has ended by itself
            connection.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        """Raise one sentence for each thing that may go wrong on the way."""
        try:
            yield
        except (ConnectionRefusedError, FileNotFoundError):
            raise UnreachableError(
                f"no agent answers at {self.name}: {self._server.absence}"
            ) from None
        except TimeoutError:
            raise UnreachableError(
                f"{self._who} did not answer {_place(path)} within {self._patience:g} s"
            ) from None
        except (ConnectionError, http.client.IncompleteRead, http.client.RemoteDisconnected):
            raise UnreachableError(f"{self._who} {self._broken_off(path)}") from None
        except OSError as error:
            raise UnreachableError(f"{self.name} cannot be reached: {_reason(error)}") from None
        except (http.client.HTTPException, ValueError):
            raise StrangeAnswerError(f"what answers at {self.name} does not speak HTTP") from None

    def _broken_off(self, path: str) -> str:
        if self._is_over.is_set():
            return f"took longer than {self._patience * WHOLE:g} s for its answer to {_place(path)}"
        return f"broke off its answer to {_place(path)}: it may be restarting"

    def _object(self, path: str, answer: Answer) -> Document:
        try:
            found: Any = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._no_object(path)
        return found

    def _no_object(self, path: str) -> StrangeAnswerError:
        return StrangeAnswerError(
            f"what answers at {self.name} says no JSON object at {_place(path)}: it may not be an agent"
        )

    def _refusal(self, path: str, answer: Answer) -> NoAnswerError:
        said = plain(_error_of(answer.body))[:300]
        told = f": {said}" if said else ""
        if answer.status == http.client.CONFLICT and said:
            return NoAnswerError(said)
        if answer.status == http.client.SERVICE_UNAVAILABLE:
            return UnreachableError(f"{self._who} cannot answer {_place(path)} at the moment{told}")
        if answer.status == http.client.NOT_FOUND:
            return StrangeAnswerError(
                f"{self._who} has nothing at {_place(path)}: it is of another version, or no agent{told}"
            )
        return StrangeAnswerError(f"{self._who} answers {_place(path)} with {answer.status}{told}")

    @property
    def _who(self) -> str:
        return f"the agent at {self.name}"


def _until_it_ends(pieces: Iterator[bytes]) -> Iterator[bytes]:
    with suppress(http.client.IncompleteRead):
        yield from pieces


def _place(path: str) -> str:
    """Return a path as people know it: without what exactly was asked for there."""
    return path.partition("?")[0]


def _error_of(body: bytes) -> str:
    try:
        return text(json.loads(body), "error")
    except (ValueError, RecursionError):
        return ""


def _whole_body(response: http.client.HTTPResponse) -> bytes:
    """Return the body, and no more of it than a byte too much. Raises ``IncompleteRead``."""
    body = bytearray()
    while len(body) <= LARGEST and (piece := response.read(PIECE)):
        body += piece
    if response.length and len(body) <= LARGEST:
        raise http.client.IncompleteRead(bytes(body), response.length)
    return bytes(body)


def _pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body as it comes. Raises ``IncompleteRead``."""
    while piece := response.read1(PIECE):
        yield piece
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
