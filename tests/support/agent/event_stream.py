"""What is told at ``/events``, collected on a thread of its own while a story goes on."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from tests.support.patience import PATIENCE
from tests.support.wire.client import ONLY_NEWS, EventStream


class EventLog:
    """Everything that was told so far, in its order."""

    def __init__(self) -> None:
        self.text = ""
        self._told: list[tuple[str, dict[str, Any]]] = []

    def collect(self, stream: EventStream) -> None:
        """Take everything in until the stream ends, in whatever way."""
        with suppress(OSError, http.client.HTTPException):
            while block := stream.next():
                self._take(block)

    def of(self, kind: str, name: str) -> list[dict[str, Any]]:
        """Return the changes of one object."""
        return [each for each in self.changes() if (each["kind"], each["name"]) == (kind, name)]

    def changes(self) -> list[dict[str, Any]]:
        """Return the changes of all objects."""
        return [told for name, told in [*self._told] if name == "object"]

    def story(self, kind: str, name: str) -> list[tuple[str, tuple[str, ...]]]:
        """Return what happened to one object, and to which of its keys."""
        return [(each["change"], tuple(each["keys"])) for each in self.of(kind, name)]

    def _take(self, block: str) -> None:
        self.text += f"{block}\n"
        name, _, data = block.partition("\n")
        if name.startswith("event: "):
            told = json.loads(data.partition("\n")[0].removeprefix("data: "))
            self._told.append((name.removeprefix("event: "), told))


@contextmanager
def event_log(port: int) -> Iterator[EventLog]:
    """Collect what 127.0.0.1 tells at ``port`` from here on, until the end of the block."""
    log = EventLog()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with closing(connection):
        connection.request("GET", ONLY_NEWS)
        line: socket.socket = connection.sock  # the connection gives it up to its answer
        with connection.getresponse() as answer:
            stream = EventStream(answer)
            assert stream.next() == ": connected"
            line.settimeout(None)
            collecting = threading.Thread(target=log.collect, args=(stream,), name="event-log")
            collecting.start()
            try:
                yield log
            finally:
                with suppress(OSError):  # the agent has ended
                    line.shutdown(socket.SHUT_RDWR)
                collecting.join()


def told_by(stream: EventStream) -> Iterator[tuple[str, Any, str]]:
    """Yield name, data and id of each event, until the stream ends in whatever way."""
    with suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
        while block := stream.next():
            fields = dict(line.partition(": ")[::2] for line in block.split("\n"))
            if "data" in fields:
                yield fields["event"], json.loads(fields["data"]), fields.get("id", "")
