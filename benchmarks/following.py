"""A reader of an agent's ``/events``: when each version of a Secret was told of.

A thread of its own, which does nothing but read and take the time.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from http.client import HTTPConnection, HTTPException
from time import perf_counter
from typing import Any, Self

from benchmarks.agent import GIVE_UP_AFTER, wait_until

_CHUNK = 65536


class Follower:
    """A context: follows from entry to exit."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=GIVE_UP_AFTER)
        self._told: dict[str, float] = {}
        self._of_pods: Counter[str] = Counter()
        self._running: dict[str, float] = {}
        self._remarks: list[str] = []

    def __enter__(self) -> Self:
        self._connection.connect()
        self._socket: socket.socket = self._connection.sock
        self._connection.request("GET", "/events")
        self._response = self._connection.getresponse()
        assert self._response.status == 200, f"/events: {self._response.status}"
        self._socket.settimeout(None)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._response.close()
        self._connection.close()

    def pods_told(self, op: str) -> int:
        """Return how many pods were told of so far with this operation, such as ``REMOVE``."""
        return self._of_pods[op]

    def told(self, version: str) -> float:
        """Return when a version was told of; waits for it."""
        self.wait_for([version])
        return self._told[version]

    def wait_for(self, versions: Collection[str], poll_every: float = 0.001) -> float:
        """Return when the last of these versions was told of; waits for them."""
        try:
            wait_until(lambda: self._is_told(versions), poll_every)
        except TimeoutError:
            missing = sum(version not in self._told for version in versions)
            raise TimeoutError(f"{missing} changes are not told; {self._remarks}") from None
        return max((self._told[version] for version in versions), default=perf_counter())

    def running(self, name: str) -> float:
        """Return when a pod was told to run; waits for it."""
        wait_until(lambda: name in self._running, 0.001)
        return self._running[name]

    def _is_told(self, versions: Collection[str]) -> bool:
        # How many of any is quickly known, and seldom wrong.
        return len(self._told) >= len(versions) and self._told.keys() >= set(versions)

    def _read(self) -> None:
        rest = b""
        while chunk := self._next_chunk():
            now = perf_counter()
            *blocks, rest = (rest + chunk).split(b"\n\n")
            for block in blocks:
                event, data = parsed(block)
                if event == "object":
                    self._told[data["resourceVersion"]] = now
                elif event == "pod":
                    self._of_pods[data["op"]] += 1
                elif event == "status" and data["phase"] == "Running":
                    self._running.setdefault(data["name"], now)
                elif event == "comment":
                    self._remarks.append(data)

    def _next_chunk(self) -> bytes:
        try:
            return self._response.read1(_CHUNK)
        except (OSError, HTTPException):  # the agent ended, or this did
            return b""


def parsed(block: bytes) -> tuple[str, Any]:
    """Return the event's type and its data; ``comment`` and its text for what is none."""
    fields = dict(_fields(block))
    if "data" not in fields:
        return "comment", fields.get("", "")
    return fields.get("event", "message"), json.loads(fields["data"])


def _fields(block: bytes) -> Iterator[tuple[str, str]]:
    for line in block.decode().splitlines():
        name, _, value = line.partition(":")
        yield name, value.removeprefix(" ")
