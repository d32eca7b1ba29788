"""Events that the agent posts at the API server, for people who look at the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from messages.port import Port


class EventType(StrEnum):
    """The API's two kinds of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectReference:
    """What an event is about."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"
    field_path: str = ""
    """The part of the object that it is about, such as ``spec.containers{main}``; empty for the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostEvent:
    """Asks for an event to be posted, soon or never; there is no answer. Equal events are counted as one."""

    regarding: ObjectReference
    type: EventType
    reason: str
    """One word in CamelCase, for programs."""
    message: str
    """For people; cut at 1,024 bytes, as the API demands. Never contains values of Secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeEvents:
    """Asks for the counts of posted events. Answered by one ``EventsDescribed``."""

    reply_to: Port[EventsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDescribed:
    """Counts of events since the process began."""

    posted: int
    dropped: Mapping[str, int]
    """Events that were never posted, by reason: ``spam``, ``queue_full``, ``refused``, ``given_up``."""


EventsMessage: TypeAlias = PostEvent | DescribeEvents
