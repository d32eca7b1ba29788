"""A request and its answer, over a real socket."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PATIENCE = 15.0
"""Seconds until an answer is missed. Only a failing test waits this long."""


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


def fetch(port: int, path: str, method: str = "GET", **headers: str) -> Answer:
    """Return what 127.0.0.1 answers at ``port``. Raises OSError when nobody does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.headers), answer.read().decode())
    finally:
        connection.close()
