"""Server-sent events, and the line that people read of each. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from command.reading import Document, count, flag, number, parts, text, texts

OPERATIONS: Final = {
    "ADD": "is here",
    "UPDATE": "is changed",
    "REMOVE": "is gone",
    "DELETE": "is to be deleted",
    "RECONCILE": "has another status at the API server",
}
"""What a listing changed, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event; or a comment, which has no name."""

    name: str
    data: Document = field(default_factory=dict)
    comment: str = ""


def happenings(lines: Iterable[bytes]) -> Iterator[Happening]:
    """Yield the events of a stream. What is no event and no comment is passed over."""
    name, data = "", ""
    for raw in lines:
        line = raw.decode(errors="replace").rstrip("\r\n")
        key, _, said = line.partition(":")
        if line.startswith(":"):
            yield Happening(name="", comment=said.strip())
        elif key == "event":
            name = said.strip()
        elif key == "data":
            data += said
        elif not line:
            if data:
                yield Happening(name=name or "message", data=_document(data))
            name, data = "", ""


def _document(data: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def sentence(event: Happening) -> str:
    """Return what happened, in words."""
    data = event.data
    who = f"{text(data, 'namespace')}/{text(data, 'name')}"
    match event.name:
        case "pod":
            op = text(data, "op")
            return f"{who} {OPERATIONS.get(op, op)} ({text(data, 'source')})"
        case "status":
            ready = "ready" if flag(data, "ready") else "not ready"
            return f"{who} {_with(text(data, 'phase'), text(data, 'reason'))}, {ready}{_containers(data)}"
        case "object":
            keys = ", ".join(texts(data, "keys"))
            return f"{text(data, 'kind')} {who} {text(data, 'change')}{keys and f': {keys}'}"
        case "decision":
            return _decision(data)
        case _:
            return ", ".join(f"{key}={_brief(value)}" for key, value in data.items())


def _containers(data: Document) -> str:
    said = [
        f"{text(each, 'name')} {_with(text(each, 'state'), text(each, 'reason'))}{_restarts(each)}"
        for each in parts(data, "containers")
    ]
    return f": {', '.join(said)}" if said else ""


def _restarts(container: Document) -> str:
    many = count(container, "restarts")
    return f" x{many}" if many else ""


def _decision(data: Document) -> str:
    action = _with(text(data, "action"), text(data, "signal"))
    delay = number(data, "delaySeconds")
    later = f" in {delay:g} s" if delay else ""
    cause = f"{text(data, 'kind')} {text(data, 'namespace')}/{text(data, 'name')}"
    return f"{text(data, 'pod')} {action}{later}, because of {cause}"


def _with(word: str, reason: str) -> str:
    return f"{word} ({reason})" if reason else word


def _brief(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
