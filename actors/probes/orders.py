"""What the keeper of probes and the probers tell each other. Levels, that may repeat on either side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from actors.probes.specs import ProbeSpec
from actors.probes.watching import ProbeIs, ProbesBegan, ProbeTarget
from kernel import DynamicMessage, Key
from messages.pods import Pod
from messages.probing import ProbeKey, ProbeResult, ProbesMessage


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
