"""What people are told of statuses that the API server refuses: once in the log, once as an event.

A node that may write no status at all has the same trouble with every pod. Then the log has one line for all.
"""

from __future__ import annotations

from typing import Final

import structlog

from actors.pods.status_records import StatusRecord
from messages.events import EventType, ObjectReference, PostEvent
from messages.port import Port

EVENT_REASON: Final = "FailedStatusUpdate"

_log = structlog.get_logger("status-keeper")


class StatusTroubles:
    """The troubles of one life of StatusKeeper. Each record holds its own."""

    def __init__(self, events: Port[PostEvent] | None) -> None:
        self._events = events
        self._is_forbidden = False
        """A status was forbidden, and none was written since."""

    def note(self, record: StatusRecord, sentence: str, *, is_forbidden: bool = False) -> None:
        """Tell why the API server does not have the status of a pod, unless that was told already.

        Of statuses that are forbidden the log names the first. The others follow once one was written.
        """
        if record.trouble == sentence:
            return
        pod, record.trouble = record.pod, sentence
        is_said = record.is_trouble_said = not (is_forbidden and self._is_forbidden)
        self._is_forbidden |= is_forbidden
        emit = _log.warning if is_said else _log.debug
        emit("the status of a pod is not written", pod=pod.display_name, error=sentence)
        if self._events is not None:
            regarding = ObjectReference(
                kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.uid
            )
            event = PostEvent(
                regarding=regarding,
                type=EventType.WARNING,
                reason=EVENT_REASON,
                message=f"the status is not written: {sentence}",
            )
            self._events.tell(event)

    def note_written(self) -> None:
        """Note that the API server took a status, so the node may write them."""
        self._is_forbidden = False

    def clear(self, record: StatusRecord) -> None:
        """Take the trouble of a pod back, if there is one."""
        if record.trouble:
            record.trouble = ""
            emit = _log.info if record.is_trouble_said else _log.debug
            emit("the status of a pod is written again", pod=record.pod.display_name)
