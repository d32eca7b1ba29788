"""Events: what the agent tells the people who look at the cluster."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PostEvent:
    """Has an event posted, some time soon or never: nobody waits for it. Equal ones are counted up."""

    regarding: ObjectReference
    type: EventType
    reason: str
    """One word in CamelCase, the machine's part."""
    message: str
    """The people's part; cut at 1,024 characters, as the API demands. Never holds values of Secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeEvents:
    """Asks how posting goes. Answered by one ``EventsDescribed``."""

    reply_to: Port[EventsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDescribed:
    """How posting goes, since the process began."""

    posted: int
    dropped: Mapping[str, int]
    """Events that were never posted, by reason: ``spam``, ``queue_full``, ``refused``, ``given_up``."""


EventsMessage: TypeAlias = PostEvent | DescribeEvents
