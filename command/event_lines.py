"""Server-sent events and past ones, and the line that people read of each. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from command.reading import Document, count, flag, number, parts, text, texts
from command.wording import counted, local_time

OPERATIONS: Final = {
    "PRESENT": "is here",
    "ADD": "is added",
    "UPDATE": "is changed",
    "REMOVE": "is gone",
    "DELETE": "is being deleted",
    "RECONCILE": "has another status at the API server",
}
"""What became of a pod, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event; or a comment, which has no name."""

    name: str
    data: Document = field(default_factory=dict)
    id: str = ""
    comment: str = ""


LONGEST: Final = 2**20
"""Bytes of the longest line. What is longer is read as several."""


def happenings(pieces: Iterable[bytes]) -> Iterator[list[Happening]]:
    """Yield the events of a stream that arrives in pieces: for each piece those that end in it.

    What is no event and no comment is passed over.
    """
    fields: dict[str, str] = {}
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > LONGEST:
            lines, rest = [*lines, rest], b""
        found = []
        for raw in lines:
            line = raw.decode(errors="replace").rstrip("\r")
            key, _, said = line.partition(":")
            if line.startswith(":"):
                found.append(Happening(name="", comment=said.strip()))
            elif line:
                before = fields.get(key, "") if key == "data" else ""
                fields[key] = before + said.removeprefix(" ")
            elif "data" in fields:
                found.append(_happening(fields))
                fields = {}
        yield found


def _happening(fields: Mapping[str, str]) -> Happening:
    name, data = fields.get("event", "message"), _document(fields["data"])
    return Happening(name=name, data=data, id=fields.get("id", ""))


def _document(data: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def begins(event: Happening) -> bool:
    """Return whether the present state is told from here on."""
    return event.name == "state" and text(event.data, "state") == "begins"


def is_complete(event: Happening) -> bool:
    """Return whether the present state was told until here."""
    return event.name == "state" and text(event.data, "state") == "complete"


def sentence(event: Happening) -> str:
    """Return what happened, in words."""
    tell = _SENTENCES.get(event.name)
    return tell(event.data) if tell is not None else _plain(event.data)


def reach(page: Document) -> str:
    """Return how far back a page of past events reaches, and how many there are."""
    since = local_time(text(page, "since"))
    forgotten = count(page, "forgotten")
    older = f"; {forgotten:,} older {'one is' if forgotten == 1 else 'ones are'} forgotten"
    total = counted(count(page, "total"), "event")
    return f"{total} since the agent started at {since}{older if forgotten else ''}"


def _who(data: Document) -> str:
    return "/".join(filter(None, (text(data, "namespace"), text(data, "name")))) or text(
        data, "uid"
    )


def _pod(data: Document) -> str:
    op = text(data, "op")
    return _with(f"{_who(data)} {OPERATIONS.get(op, op)}", text(data, "source"))


def _status(data: Document) -> str:
    ready = "ready" if flag(data, "ready") else "not ready"
    phase = _with(text(data, "phase"), text(data, "reason"))
    return f"{_who(data)} {phase}, {ready}{_containers(data)}"


def _object(data: Document) -> str:
    keys = ", ".join(texts(data, "keys"))
    state = " ".join(filter(None, (text(data, "change"), text(data, "state"))))
    error = text(data, "lastError")
    rest = keys or error
    return f"{text(data, 'kind')} {_who(data)} {state}{rest and f': {rest}'}"


def _verdict(data: Document) -> str:
    reason = "; ".join(filter(None, (text(data, "reason"), *texts(data, "warnings"))))
    what = _with(text(data, "verdict"), text(data, "pod") or text(data, "object"))
    return f"{text(data, 'path')} {what}{reason and f': {reason}'}"


def _probe(data: Document) -> str:
    result = text(data, "result") or "no answer yet"
    which = f"{text(data, 'container')} {text(data, 'probe')}"
    return f"{_who(data)} {which}: {_with(result, text(data, 'waitsFor'))}"


def _volume(data: Document) -> str:
    told = [f"{text(each, 'volume')}: {text(each, 'reason')}" for each in parts(data, "troubles")]
    return f"{_who(data)} {'; '.join(told) or 'its volumes are well again'}"


def _posted(data: Document) -> str:
    times, first = count(data, "count"), local_time(text(data, "first"))
    again = f" (x{times}{first and f' since {first}'})" if times > 1 else ""
    return f"{_who(data)} {text(data, 'reason')}: {text(data, 'message')}{again}"


def _actor(data: Document) -> str:
    error = text(data, "lastError")
    restarts = count(data, "restarts")
    times = f", {restarts} restart{'' if restarts == 1 else 's'}" if restarts else ""
    return f"{text(data, 'name')} {text(data, 'state')}{times}{error and f': {error}'}"


def _state(data: Document) -> str:
    missing = ", ".join(texts(data, "missing"))
    lacking = f"; nobody tells {missing}" if missing else ""
    return f"{text(data, 'message') or text(data, 'state')}{lacking}"


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


def _plain(data: Document) -> str:
    return ", ".join(f"{key}={_brief(each)}" for key, each in data.items())


def _with(word: str, reason: str) -> str:
    return f"{word} ({reason})" if reason else word


def _brief(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_SENTENCES: Final[Mapping[str, Callable[[Document], str]]] = {
    "pod": _pod,
    "status": _status,
    "object": _object,
    "decision": _decision,
    "verdict": _verdict,
    "probe": _probe,
    "volume": _volume,
    "event": _posted,
    "actor": _actor,
    "state": _state,
}
