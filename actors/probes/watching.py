"""The seam between who wants probes carried out and who does it: over sockets, or in memory.

Whoever carries them out hears ``ProbesToRun``. ``RunProbe`` is a level: it replaces what was said of its
probe before, and is answered by one ``ProbeIs``, also if it only repeats. After that ``ProbeIs`` is told when
something else counts, and when people should know of an answer.

A crash of who carries them out loses the message in hand alone. So each later life tells ``ProbesBegan`` to
all followers, and they say everything once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from actors.probes.specs import ProbeSpec
from actors.probes.watched import ProbeTarget
from kernel import DynamicMessage, Key
from messages.pods import Pod
from messages.port import Port
from messages.probing import DescribeAnswers, ProbeKey, ProbeOutcome, ProbeResult, ProbesMessage
from messages.units import Timestamp

__all__ = [
    "FollowProbes",
    "OnlyProbes",
    "ProbeIs",
    "ProbeRemark",
    "ProbeTarget",
    "ProbesBegan",
    "ProbesToRun",
    "RestProbe",
    "RunProbe",
]


class ProbeRemark(NamedTuple):
    """An answer that people should know of."""

    outcome: ProbeOutcome
    in_a_row: int
    """How many of the last answers were alike."""
    times: int
    """How many answers since the last remark were no success, with this one."""
    at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeIs:
    """What counts for an instance of a container, by one of its probes."""

    key: ProbeKey
    container_id: str
    result: ProbeResult
    is_confirmed: bool
    """The probe has answered for this instance. Until then ``result`` is what it began with."""
    remark: ProbeRemark | None = None
    """None if this only repeats what is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProbe:
    """Carry out this probe from now on."""

    key: ProbeKey
    spec: ProbeSpec
    target: ProbeTarget
    initial: ProbeResult | None = None
    """What counts for the instance at first; None for what counts of a new one."""
    hidden: tuple[str, ...] | None = field(default=(), repr=False)
    """What no text of an answer may show; None if no text may be shown."""
    reply_to: Port[ProbeIs]
    """An address that outlives crashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestProbe:
    """Do not carry out this probe any more. Its counts are kept until it is in no ``OnlyProbes``."""

    key: ProbeKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DropProbe:
    """There is no such probe any more: nothing of it is kept. May repeat."""

    key: ProbeKey


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyProbes:
    """These are all probes that there are: drop the others."""

    keys: frozenset[ProbeKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbesBegan:
    """Who carries out probes has begun a new life: what it was told just before may be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowProbes:
    """Subscribes to ``ProbesBegan``. Outlives crashes on both sides; may repeat."""

    subscriber: Port[ProbesBegan]


ProbesToRun: TypeAlias = (
    RunProbe | RestProbe | DropProbe | OnlyProbes | FollowProbes | DescribeAnswers
)


class ProbeOrder(NamedTuple):
    """What a prober is to probe."""

    spec: ProbeSpec
    target: ProbeTarget
    initial: ProbeResult | None = None
    """What is known to count for this instance; None if nothing is."""
    is_inherited: bool = False
    """An earlier process found that out. It holds for two periods, unless the probe answers meanwhile (rule
    Y13)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeWanted:
    """Probe this from now on, complete. Answered by ``ProberSays`` as soon as anything counts."""

    pod: Pod
    order: ProbeOrder | None
    """None for nothing at present: no instance runs, say."""
    hidden: tuple[str, ...] | None = field(default=(), repr=False)
    """As in ``WantProbes``."""


ProberMessage: TypeAlias = ProbeWanted | ProbeIs


@dataclass(frozen=True, slots=True, kw_only=True)
class ProberIsUp:
    """A prober has begun a life, and does not know what it is to probe."""

    key: ProbeKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ProberSays:
    """What counts for an instance of a container, by one of its probes. May repeat."""

    key: ProbeKey
    container_id: str
    result: ProbeResult


ProbeKeeperMessage: TypeAlias = ProbesMessage | ProberIsUp | ProberSays | ProbesBegan

PROBE_KEEPER: Final = Key[ProbeKeeperMessage]("probe-keeper")
PROBERS: Final = Key[DynamicMessage]("probers")
"""The supervisor of the probers."""


def _newest(message: ProberMessage) -> str | None:
    """Name the messages of which only the newest matters."""
    return "wanted" if isinstance(message, ProbeWanted) else None


def prober_key(key: ProbeKey) -> Key[ProberMessage]:
    """Return the key of the actor of a probe."""
    return Key(f"probers/{key.uid}/{key.container}/{key.kind.value}", coalesce=_newest)
