"""The page of events: those that are posted at the API server, and those of the stream ``/events``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from messages.event_reasons import EVENT_REASONS, EventReason
from tools.reference.markdown import code, codes, page, section, table

STREAM: Final[Mapping[str, str]] = {
    "state": "`begins`, with `why` if it is not the first time: forget what was told before; `complete`, "
    "with the parts that are `missing` as long as nobody tells them; `resumes`, with how many events were "
    "`missed` and follow",
    "pod": "`op`: `PRESENT`, or `ADD`, `UPDATE`, `RECONCILE`, `DELETE` (it is being deleted), `REMOVE` (it "
    "is gone); source, namespace, name, UID, and whether it is a `mirror`",
    "status": "phase, readiness, and state, reason and restarts of each container; never a message",
    "verdict": "what became of a manifest: source, path, `verdict`, `reason`, warnings, and the pod or "
    "object that it describes, as at `/sourcez`; `gone` if there is no such manifest any more",
    "object": "a Secret or ConfigMap: `change` is `present`, with `state`, `references` and `lastError` as "
    "at `/watchz`, or `added`, `modified`, `deleted`, with the `keys` that changed; never a value",
    "decision": "what a pod wants done about a change of an object: `signal` or `restart`",
    "probe": "what counts of a probe of a container, whenever that changes; in the present state also what "
    "it `waitsFor`",
    "volume": "all `troubles` of a pod's volumes; none when they are over",
    "event": "what is posted at the API server, or would be if there was one: type, reason, message, and "
    "what it is about",
    "actor": "one that failed: `backoff` while it waits to be started again, `failed` if it fails too "
    "often; `running` again, or `gone`. `lastError` as at `/actorz`",
}
"""What the stream tells, by the name of the event."""

POSTED: Final = """\
They are posted at the API server as Events, and without a cluster they are told by `/events` and remembered
with each pod. Equal ones are counted. A reason is a kubelet's where it has the same. A runtime that is
[a Python class](../writing-a-runtime.md) may give reasons of its own."""

TOLD: Final = """\
[`/events`](../endpoints.md#events) tells them as server-sent events: first how everything is, then what
happens. The data of each is one JSON object. More fields and events may be added."""


def events_page() -> str:
    """Return the page."""
    return page(
        "Events",
        section(
            "Reasons", POSTED, table(("reason", "type", "about", "when"), map(_row, EVENT_REASONS))
        ),
        section("Of the stream", TOLD, table(("event", "says"), _stream())),
    )


def _row(reason: EventReason) -> tuple[str, ...]:
    return (code(reason.name), codes(reason.types), reason.about, reason.when)


def _stream() -> list[tuple[str, str]]:
    return [(code(name), says) for name, says in STREAM.items()]
