"""Words about probes, which several rooms use: which there are, and what they can say."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from messages.pods import PodUid
from messages.units import Seconds, Timestamp


class ProbeKind(StrEnum):
    """What a probe is for."""

    LIVENESS = "liveness"
    READINESS = "readiness"
    STARTUP = "startup"

    @property
    def field_name(self) -> str:
        """The field of a container's specification that it is in."""
        return f"{self.value}Probe"


class ProbeResult(StrEnum):
    """What a probe says, by one answer or, with its thresholds, by all of them."""

    SUCCESS = "success"
    FAILURE = "failure"
    WARNING = "warning"
    """A success that people should know more of. Thresholds take it for one."""
    UNKNOWN = "unknown"
    """Nothing is known of the target: the probe could not be carried out."""


class ProbeKey(NamedTuple):
    """One probe of one container of a pod. A restarted container has the same ones."""

    uid: PodUid
    container: str
    kind: ProbeKind


class ProbeOutcome(NamedTuple):
    """What one attempt said."""

    result: ProbeResult
    text: str = ""
    """For people: why it failed, or what was answered. It may quote what the target says."""
    is_outage: bool = False
    """The runtime of containers cannot be asked, which is said once for all of its probes."""


class ProbeAnswer(NamedTuple):
    """What is known of one probe at some moment."""

    key: ProbeKey
    container_id: str
    """The instance of the container that it is about."""
    result: ProbeResult
    """What its thresholds make of all answers."""
    in_a_row: int
    """How many of its last answers were alike."""
    is_held: bool
    """It is not carried out again for this instance."""
    last: ProbeOutcome
    """The last answer."""
    at: Timestamp
    """When that came."""
    took: Seconds
    """How long it took."""
    successes: int
    failures: int
    unknowns: int
    """How many answers there were of each kind, in any instance of the container."""
