"""An agent to try the live view on: what a real one has answered, changed as a test says, and events."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from command.agent_api import AgentApi
from command.server_names import server_name
from server.ui.paging import PageAsked, PagedTable, page_of
from tests.support.command.agents import BODIES, answering, http

FIELDS: Final = {
    "/ui/pods": "pods",
    "/ui/manifests": "manifests",
    "/ui/objects": "objects",
    "/ui/actors": "actors",
    "/ui/events": "events",
}
ORDERS: Final = (
    "age",
    "restarts",
    "state",
    "source",
    "references",
    "verdict",
    "mailbox",
    "handled",
    "count",
    "about",
    "reason",
)
STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: connected\n\n"


def told(name: str) -> Any:
    """Return the document that a real agent has answered below ``/ui/``."""
    return json.loads((BODIES / "ui" / f"{name}.json").read_text())


class LiveAgent:
    """Owns what is answered. Lists are searched and paged as the real agent does it."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {
            path: told(field)[field] for path, field in FIELDS.items()
        }
        self.agent: dict[str, Any] = told("agent")
        self.tree: dict[str, Any] = told("actors")
        self.reach: dict[str, Any] = {"since": told("events")["since"], "forgotten": 0}
        """How far back the list of what has happened goes."""
        self.pods: dict[str, dict[str, Any]] = {
            each["pod"]["metadata"]["uid"]: each
            for each in (told("pod-lacking"), told("pod-crash-loop"))
        }
        self.asked: list[str] = []
        """The paths that were asked for, in order."""
        self.instead: dict[str, Any] = {}
        """Documents that are answered whatever it knows, by path."""
        self.refusal: bytes | None = None
        """What is answered instead of everything but events."""
        self._streams: list[socket.socket] = []

    def answer(self, connection: socket.socket, path: str) -> None:
        """Answer one request."""
        self.asked.append(path)
        if urlsplit(path).path == "/events":
            self._stream(connection)
        elif self.refusal is not None:
            connection.sendall(self.refusal)
        else:
            document = self.document(path)
            connection.sendall(
                http(404, "{}") if document is None else http(200, json.dumps(document))
            )

    def tell(self, name: str, **data: Any) -> None:
        """Tell an event to whoever reads events."""
        for each in list(self._streams):
            with suppress(OSError):  # nobody reads any more
                each.sendall(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())

    def cut_events(self) -> None:
        """End the events of whoever reads them."""
        while self._streams:
            with suppress(OSError):
                self._streams.pop().shutdown(socket.SHUT_RDWR)

    def is_read(self) -> bool:
        """Return whether somebody reads events."""
        return bool(self._streams)

    def _stream(self, connection: socket.socket) -> None:
        if self.refusal is not None:
            connection.sendall(self.refusal)
            return
        connection.sendall(STREAM)
        self._streams.append(connection)
        connection.recv(1)  # until the reader is gone, or the events are cut

    def document(self, asked: str) -> Any:
        """Return what is answered to a path with its query; None if there is nothing."""
        split = urlsplit(asked)
        path, found = split.path, parse_qs(split.query, keep_blank_values=True)
        query = {name: each[0] for name, each in found.items()}
        if path in self.instead:
            return self.instead[path]
        if path == "/ui/agent":
            return self.agent
        if path == "/ui/actors" and not query.get("search"):
            return self.tree
        if path in FIELDS:
            return self._page(path, query)
        return self.pods.get(path.removeprefix("/ui/pods/"))

    def _page(self, path: str, query: Mapping[str, str]) -> Any:
        rows = self.rows[path]
        if query.get("uses"):
            rows = [row for row in rows if "lacking" in row["key"]]
        if "troubled" in query:
            rows = [row for row in rows if "edge" not in row["key"] or "lacking" in row["key"]]
        table: PagedTable[dict[str, Any]] = PagedTable(
            name=FIELDS[path],
            key=lambda row: str(row.get("key") or row["name"]),
            text=lambda row: f"{row.get('key')} {json.dumps(row)}",
            shown=lambda row: row,
            orders={name: lambda row: str(row.get("key")) for name in ORDERS},
        )
        page = page_of(rows, PageAsked.of(query, ORDERS), table)
        return {**page, **self.reach} if path == "/ui/events" else page


@contextmanager
def live_agent() -> Iterator[tuple[LiveAgent, AgentApi]]:
    """Yield such an agent, and where it is asked."""
    agent = LiveAgent()
    with answering(agent.answer) as place:
        try:
            yield agent, AgentApi(server_name(place))
        finally:
            agent.cut_events()


def many_pods(agent: LiveAgent, many: int) -> None:
    """Give the agent so many pods that are well."""
    (model,) = [row for row in agent.rows["/ui/pods"] if row["key"].startswith("default/web")]
    agent.rows["/ui/pods"] = [_pod(model, f"load-{number:05}") for number in range(many)]


def _pod(model: dict[str, Any], name: str) -> dict[str, Any]:
    metadata = {**model["metadata"], "name": name, "uid": name}
    return {**model, "metadata": metadata, "key": f"default/{name}/{name}"}
