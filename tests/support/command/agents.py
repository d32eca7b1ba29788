"""What answers where an agent is asked: by a script, over real sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from messages.pods import JsonObject, Pod
from messages.units import Timestamp
from server.pod_summary import pod_summary

ROOT: Final = Path(__file__).parents[3]
BODIES: Final = ROOT / "tests" / "fixtures" / "endpoints"
"""What a real agent has answered."""

Script = Callable[[socket.socket, str], None]
"""Answers one request for a path, on its connection."""


def body(name: str) -> Any:
    """Return the document that a real agent has answered at ``/name``."""
    return json.loads((BODIES / f"{name}.json").read_text())


def pods() -> list[Any]:
    """Return the pods of that document, each with its summary, as a list in brief has it."""
    return [{**each, "summary": _summary(each)} for each in body("pods")["items"]]


def _summary(pod: JsonObject) -> JsonObject:
    return pod_summary(Pod.of(pod), None, pod, Timestamp(0.0))


def pod(name: str) -> Any:
    """Return one of them."""
    return next(each for each in pods() if each["metadata"]["name"] == name)


def http(status: int, text: str, *headers: str) -> bytes:
    """Return an answer."""
    lines = (f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(text.encode())}", *headers)
    return "\r\n".join((*lines, "", text)).encode()


def says(answers: Mapping[str, object], otherwise: bytes = http(404, "{}")) -> Script:
    """Return a script that answers paths with documents or texts, whatever is asked behind the ``?``."""

    def answer(connection: socket.socket, path: str) -> None:
        found = answers.get(path.partition("?")[0])
        if isinstance(found, bytes):
            connection.sendall(found)
        elif found is None:
            connection.sendall(otherwise)
        else:
            text = found if isinstance(found, str) else json.dumps(found)
            connection.sendall(http(200, text))

    return answer


def real() -> dict[str, object]:
    """Return what a real agent has answered at each path."""
    names = ("pods", "sourcez", "watchz", "actorz", "probez")
    healthy = "[+]source/file ok: seen 1.9 s ago\nreadyz check passed\n"
    documents = {f"/{name}": body(name) for name in names}
    documents["/pods"]["items"] = pods()
    return {**documents, **_pages_of_pods(), "/readyz": healthy, "/healthz": healthy}


WHY: Final = {
    "loop-edge-1": "Container a ended with 3 (Error) 20s ago, after 8 restarts",
    "shop-edge-1": "Secret default/shop-database does not exist",
}
"""What an agent says of the pods that are not well."""


def _pages_of_pods() -> dict[str, object]:
    """Return what an agent answers below ``/ui/pods``."""
    probes = {each["uid"]: each["probes"] for each in body("probez")["pods"]}
    pages = {}
    for each in pods():
        metadata = each["metadata"]
        told = WHY.get(metadata["name"])
        why = [{"text": told, "advice": ""}] if told else []
        pages[metadata["uid"]] = {
            "pod": each,
            "summary": each["summary"],
            "probes": probes.get(metadata["uid"], []),
            "events": [],
            "why": why,
        }
    rows = [
        {"metadata": each["pod"]["metadata"], "summary": each["summary"], "why": each["why"]}
        for each in pages.values()
    ]
    return {
        "/ui/pods": {"pods": rows},
        **{f"/ui/pods/{uid}": each for uid, each in pages.items()},
    }


@contextmanager
def answering(script: Script) -> Iterator[str]:
    """Yield where requests are answered by ``script``, one in a connection, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections: list[socket.socket] = []

        def serve() -> None:
            with suppress(OSError):  # the server is closed
                while True:
                    connection, _ = server.accept()
                    connections.append(connection)
                    threading.Thread(target=_answer, args=(connection, script), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()


def _answer(connection: socket.socket, script: Script) -> None:
    with suppress(OSError), connection:
        request = b""
        while b"\r\n\r\n" not in request:
            piece = connection.recv(2**16)
            if not piece:
                return
            request += piece
        script(connection, request.split(b" ")[1].decode())
