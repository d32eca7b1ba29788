"""The seam between the worker of a pod and whoever runs its probes, and what others ask of these.

There are the words about probes: which there are, and what they can say. Every message is a level: it is
complete, and may repeat. A worker says which instances of its containers run, and is told what their probes
say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from messages.pod_runtime import ProbeVerdict
from messages.pods import Pod, PodUid
from messages.port import Port
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


class RunningInstance(NamedTuple):
    """One running instance of a container."""

    id: str
    started_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class WantProbes:
    """Have the probes of this pod run as its specification says. Replaces what was said before.

    Answered by one ``ProbesSay``, and by another one whenever that changes. Whoever hears none asks again:
    the question may have been lost in a crash.
    """

    pod: Pod
    running: Mapping[str, RunningInstance]
    """By name of the container: what can be probed."""
    ips: tuple[str, ...] = ()
    """The pod's addresses, the primary one first. Those of the node for a pod on the node's network."""
    is_ending: bool = False
    """It is being stopped: only readiness goes on, until its containers have ended (rule B4)."""
    known: Mapping[str, ProbeVerdict] = field(default_factory=dict)
    """What an earlier process knew of instances (rule Y13), by name of the container."""
    hidden: tuple[str, ...] | None = field(default=(), repr=False)
    """Values of Secrets that the pod's containers know. No text of an answer shows them. None if nobody knows
    them at present: then no such text is shown at all."""
    reply_to: Port[ProbesSay | ProbesAgain]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseProbes:
    """The pod needs no probes any more. May repeat."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbesSay:
    """What the probes of a pod say, by name of the container, for each one that runs and has probes."""

    uid: PodUid
    verdicts: Mapping[str, ProbeVerdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbesAgain:
    """Asks a worker for its ``WantProbes``: an earlier life may have lost it. Who does not answer is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResultIs:
    """Tells people what counts of a probe, whenever that changes for an instance of its container."""

    pod: Pod
    key: ProbeKey
    container_id: str
    result: ProbeResult


ProbesFact: TypeAlias = ProbesSay | ProbesAgain
"""What the worker of a pod with probes hears."""


# What people ask.


class ProbeStage(NamedTuple):
    """One probe of a pod, as its keeper sees it."""

    key: ProbeKey
    container_id: str
    """The instance that it is about; empty if none runs."""
    result: ProbeResult | None
    """What counts of it; None if it says nothing, since no instance runs, say."""
    waits_for: str
    """Why it is not carried out at present, for people; empty if it is."""


class ProbedPod(NamedTuple):
    """The probes of one pod."""

    pod: Pod
    verdicts: Mapping[str, ProbeVerdict]
    probes: tuple[ProbeStage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeProbes:
    """Asks which probes there are. Answered by one ``ProbesDescribed``."""

    reply_to: Port[ProbesDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbesDescribed:
    """All pods that have probes."""

    pods: tuple[ProbedPod, ...]


class AnswersCounted(NamedTuple):
    """The last answer of a probe, and how long all of them took."""

    answer: ProbeAnswer
    buckets: tuple[int, ...]
    """Answers by ``bounds`` of ``AnswersDescribed``, not cumulated, and in one more bucket above them."""
    seconds: float
    """All of them together."""


class CommandsWaiting(NamedTuple):
    """How the commands of exec probes get on."""

    running: int
    waiting: int
    longest: Seconds
    """How long a command has waited for its turn at the most, within the last minute."""
    ended: int
    """Since the process began."""


class AttemptsBegun(NamedTuple):
    """How punctually attempts of probes began, since the process began."""

    begun: int
    seconds: float
    """How late they began, all of them together."""
    longest: float
    late: int
    """Those that began more than a tenth of a second after they were due."""
    skipped: int
    """Those that were left out, since the attempt before had not ended."""
    stalls: int
    """Times that nobody could be asked for a while. Targets were given that time in addition."""
    told_again: int
    """Times that a command was told again, since nobody had answered for it for long."""
    late_notes: int
    """Answers of commands that nobody waited for any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAnswers:
    """Asks what probes answered. Answered by one ``AnswersDescribed``."""

    reply_to: Port[AnswersDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersDescribed:
    """The answers of all probes that were carried out."""

    answers: Mapping[ProbeKey, AnswersCounted]
    bounds: tuple[float, ...]
    """Upper bounds in seconds of the buckets."""
    commands: CommandsWaiting | None = None
    """None where nobody runs commands."""
    begun: AttemptsBegun | None = None
    """None where nobody is asked over sockets."""


ProbesMessage: TypeAlias = WantProbes | ReleaseProbes | DescribeProbes
