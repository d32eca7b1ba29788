"""What people are told of statuses that the API server refuses: once in the log, once as an event."""

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

    def note(self, record: StatusRecord, sentence: str) -> None:
        """Tell why the API server does not have the status of a pod, unless that was told already."""
        if record.trouble == sentence:
            return
        record.trouble = sentence
        pod = record.pod
        _log.warning("the status of a pod is not written", pod=pod.display_name, error=sentence)
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

    def clear(self, record: StatusRecord) -> None:
        """Take the trouble of a pod back, if there is one."""
        if record.trouble:
            record.trouble = ""
            _log.info("the status of a pod is written again", pod=record.pod.display_name)
