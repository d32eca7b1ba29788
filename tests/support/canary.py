"""A value that nobody may see but who reads a Secret, and somebody who looks out for it.

Tests give it to Secrets. Whatever the suite puts out is shown to ``LOOKOUT``: log events, answers of
endpoints, what is printed, ``repr`` of messages. A test in which it was seen there fails.
"""

from __future__ import annotations

from base64 import b64encode
from collections import deque
from collections.abc import Iterator, MutableMapping
from typing import Any, NoReturn

from structlog import DropEvent
from structlog.processors import format_exc_info

CANARY = "canary-3f9c7b-correct-horse"

_AROUND = 60


def hidden(text: str) -> str:
    """Return a value for a Secret that has the canary in it: one for each ``text``."""
    return f"{CANARY} {text}"


def revealed(value: bytes) -> str:
    """Return the text that a value was made of by ``hidden``; any other value as it is."""
    return value.decode().removeprefix(f"{CANARY} ")


def traces(value: str) -> Iterator[str]:
    """Give what shows that ``value`` is in a text: itself, and its base64 at each place in a group."""
    yield value
    data = value.encode()
    for before in range(3):
        # Of the first group and of the last one, some bits may be of what stands beside it.
        encoded = b64encode(bytes(before) + data).decode()
        yield encoded[4 if before else 0 : (before + len(data)) // 3 * 4]


class Lookout:
    """Notes where the canary was seen. Any thread may show it something."""

    def __init__(self, canary: str) -> None:
        self._traces = tuple(traces(canary))
        # Threads append and one takes out; a deque does each in one piece.
        self._sightings: deque[str] = deque()

    def look(self, where: str, text: str) -> None:
        """Look at something that people can see ``where`` it is."""
        for trace in self._traces:
            if trace in text:
                before = text.partition(trace)[0]
                self._sightings.append(f"{where}: ...{before[-_AROUND:]}<here>")
                return

    def sightings(self) -> list[str]:
        """Return where it was seen since the last call."""
        return [self._sightings.popleft() for _ in range(len(self._sightings))]


LOOKOUT = Lookout(CANARY)


def look_and_drop(logger: Any, method: str, event: MutableMapping[str, Any]) -> NoReturn:
    """Look at a log event, with the text of its exception, and throw it away: a processor of structlog's."""
    LOOKOUT.look("a log event", repr(format_exc_info(logger, method, event)))
    raise DropEvent
