"""Mirrors that are refused or wait: telling the pod's source, an event of the Node, and the log.

Each is told once for each change, not at every attempt. This is a part of MirrorKeeper, and lives as long
as one life of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

import structlog

from actors.mirrors.index import MirrorRecord
from manifests.times import rfc3339_milli
from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import FullName, PodUid, SourceName
from messages.port import Port
from messages.sources import MirrorsJudged
from messages.units import Seconds, Timestamp

EVENT_REASON = "FailedMirrorPod"

REFERENCES = "API servers refuse mirrors of pods that reference Secrets or ConfigMaps"
"""The verdict on mirrors that need not even be tried."""

_SAME_MOMENT = Seconds(0.1)
"""The end of one wait, computed at different moments, differs by less."""

_log = structlog.get_logger("mirror-keeper")


class MirrorVerdicts:
    """The present verdicts on all names."""

    def __init__(
        self,
        node_name: str,
        sources: Mapping[SourceName, Port[MirrorsJudged]],
        events: Port[PostEvent],
    ) -> None:
        # An event about a Node has the name as UID: kubectl describe looks for that.
        self._node = ObjectReference(kind="Node", name=node_name, uid=node_name)
        self._sources = sources
        self._events = events
        self._troubled: dict[FullName, MirrorRecord] = {}
        self._told: dict[SourceName, MirrorsJudged] = {}
        self._is_changed = False

    def note_wait(self, record: MirrorRecord, sentence: str, until: Timestamp) -> None:
        """Tell that the mirror is not made before ``until``. The log has one line for each wait.

        No event: nothing is refused, and it is over soon.
        """
        self._set(record, f"{sentence} {rfc3339_milli(until)}")
        if record.said_until is None or until - record.said_until > _SAME_MOMENT:
            record.said_until = until
            _log.info(
                "a mirror pod waits",
                mirror=record.full_name,
                why=sentence,
                until=rfc3339_milli(until),
            )

    def note(self, record: MirrorRecord, sentence: str) -> None:
        """Tell why ``record`` has no right mirror, unless that was told already."""
        if sentence == record.trouble:
            return
        self._set(record, sentence)
        _log.warning("there is trouble with a mirror pod", mirror=record.full_name, error=sentence)
        if record.static is not None:
            message = f"mirror of static pod {record.static.display_name}: {sentence}"
            self._events.tell(
                PostEvent(
                    regarding=self._node,
                    type=EventType.WARNING,
                    reason=EVENT_REASON,
                    message=message,
                )
            )

    def clear(self, record: MirrorRecord) -> None:
        """Take the verdict on ``record`` back, if there is one."""
        if record.trouble:
            record.trouble = ""
            self._is_changed = True
            del self._troubled[record.full_name]

    def tell(self, listed: AbstractSet[SourceName]) -> None:
        """Tell each source in ``listed`` which of its pods are refused, if that changed."""
        names = self._sources.keys() & listed
        if not self._is_changed and names <= self._told.keys():
            return
        self._is_changed = False
        for name in names:
            judged = MirrorsJudged(source=name, refused=dict(self._refused(name)))
            if judged != self._told.get(name):
                self._told[name] = judged
                self._sources[name].tell(judged)

    def troubles(self) -> dict[FullName, str]:
        """Return why there is no right mirror, by name."""
        return {record.full_name: record.trouble for record in self._troubled.values()}

    def _set(self, record: MirrorRecord, sentence: str) -> None:
        record.trouble = sentence
        self._is_changed = True
        self._troubled[record.full_name] = record

    def _refused(self, source: SourceName) -> Iterator[tuple[PodUid, str]]:
        for record in self._troubled.values():
            if record.static is not None and record.static.source == source:
                yield record.static.uid, record.trouble
