"""A request and its answer, over a real socket."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tests.support.canary import LOOKOUT
from tests.support.patience import PATIENCE

SLOW: Final = "did not answer within"
"""What an agent says of an actor that takes too long, wherever it says so."""


class NotYet(Exception):  # noqa: N818  # no error: the same question makes sense again
    """What was asked for cannot be said at this moment."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The body as a document; fails when it does not claim to be one."""
        assert self.headers["Content-Type"] == "application/json; charset=utf-8", self.text
        return json.loads(self.text)

    @property
    def document(self) -> Any:
        """The body of an answer with 200; raises ``NotYet`` where somebody was too slow for his part."""
        if SLOW in self.text:
            raise NotYet(self.text)
        assert self.status == 200, self.text
        return self.json


def fetch(port: int, path: str, method: str = "GET", **headers: str) -> Answer:
    """Return what 127.0.0.1 answers at ``port``. Raises OSError when nobody does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        LOOKOUT.look(f"{method} {path}", f"{answer.headers} {text}")
        return Answer(answer.status, dict(answer.headers), text)
    finally:
        connection.close()


class EventStream:
    """An answer that goes on: server-sent events, one after the other."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer
        self.status = answer.status
        self.headers = dict(answer.headers)
        self.last_id = ""
        """The id of the last event."""

    def next(self) -> str:
        """Return the next event or comment without its blank line; empty at the end."""
        lines = iter(lambda: self._answer.readline().decode(), "")
        block: list[str] = []
        for line in lines:
            if line == "\n":
                break
            block.append(line)
        text = "".join(block).removesuffix("\n")
        LOOKOUT.look("an event", text)
        return text

    def event(self) -> tuple[str, Any]:
        """Return name and data of the next event; fails on anything else."""
        name, _, data = self.next().partition("\n")
        assert name.startswith("event: "), name
        assert data.startswith("data: "), data
        data, _, self.last_id = data.partition("\nid: ")
        return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    def until(self, name: str) -> str:
        """Return the next event of this name, and pass over those before it; empty at the end."""
        return next(
            (text for text in iter(self.next, "") if text.startswith(f"event: {name}\n")), ""
        )

    def rest(self) -> list[str]:
        """Return everything that comes until the server ends it."""
        return list(iter(self.next, ""))


ONLY_NEWS = "/events?replay=false"
"""What happens, without the present state before it."""


@contextmanager
def event_stream(port: int, path: str = ONLY_NEWS) -> Iterator[EventStream]:
    """Read what 127.0.0.1 tells at ``port``, until the end of the block."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request("GET", path)
        with connection.getresponse() as answer:
            yield EventStream(answer)
