"""What the agent is told of the runtime of its pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from manifests.requests import Amounts
from manifests.times import Span
from messages.pods import JsonObject
from settings.containers import ContainerSettings
from settings.errors import UsageError
from settings.kinds import AMOUNTS, SWITCH, TEXT, TIMES
from settings.resources import hollow_capacity
from settings.rows import Section, row
from settings.situation import RuntimeKind, Where

RUNTIME_LABEL: Final = "actorlet/runtime"
"""Says what the pods of a Node run in, if not in containers."""
HOLLOW_LABEL_VALUE: Final = "hollow"
"""Its value for a Node whose pods only seem to run."""
VIRTUAL_LABEL_VALUE: Final = "virtual"
"""The same for one whose pods a Python class runs."""
LABEL_VALUES: Final = {
    RuntimeKind.HOLLOW: HOLLOW_LABEL_VALUE,
    RuntimeKind.PROVIDER: VIRTUAL_LABEL_VALUE,
}
HOLLOW_TAINT: Final[JsonObject] = {"key": "actorlet/hollow", "effect": "NoSchedule"}
"""Keeps pods away that do not ask for such a Node."""


def runtime_kind(told: str) -> RuntimeKind:
    """Return what ``--runtime`` names: containers, unless somebody says otherwise. Raises ``UsageError``.

    The agent never pretends unless it was told to: its users rely on what it says.
    """
    if told in {"", RuntimeKind.CRI}:
        return RuntimeKind.CRI
    if told == RuntimeKind.HOLLOW:
        return RuntimeKind.HOLLOW
    place, _, name = told.rpartition(":")
    if not place or not name.isidentifier():
        raise UsageError(
            f"--runtime {told[:64]!r} should be hollow, cri or MODULE:CLASS", at="--runtime"
        )
    return RuntimeKind.PROVIDER


_row = partial(row, section=Section.RUNTIME, where=Where.HOLLOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class HollowSettings:
    """How hollow containers behave where the annotations of their pod say nothing."""

    capacity: Amounts = _row(
        AMOUNTS,
        flag="--hollow-capacity",
        says="What a hollow node has",
        default_says="in a cluster: as the machine",
        more="configuration.md#what-pods-may-request",
        settle=hollow_capacity,
    )
    """Amounts that count in place of the machine's."""
    times: Mapping[str, Span] = _row(
        TIMES,
        flag="--hollow-times",
        says="How long things take, such as time-to-pull=2s-5s,run-for=10s",
        more="hollow-nodes.md#times",
    )
    """Durations by the names of ``settings.kinds.HOLLOW_TIMES``."""
    seed: str = _row(
        TEXT, flag="--hollow-seed", says="Times drawn from such ranges are the same for one seed"
    )
    keeps_records: bool = _row(
        SWITCH,
        flag="--hollow-records",
        says="Let hollow containers outlive the agent's process",
        more="hollow-nodes.md#what-outlives-what",
    )
    """Hollow containers outlive the agent's process, as real ones do."""
    has_volumes: bool = _row(
        SWITCH,
        flag="--hollow-volumes",
        says="Make the volumes of hollow pods, below --root-dir",
        more="hollow-nodes.md#volumes",
    )
    is_forced: bool = _row(
        SWITCH,
        flag="--force-hollow",
        says="Take over a Node even if it is no hollow one",
        more="joining-a-cluster.md#a-hollow-node-and-a-real-one-of-its-name",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """Which runtime was chosen."""

    kind: RuntimeKind
    containers: ContainerSettings | None = None
    """How real containers are run; None unless the runtime is ``CRI``."""
    provider: str = ""
    """``MODULE:CLASS`` of a provider. Nobody has looked yet whether there is one."""
    may_change: bool = row(
        SWITCH,
        flag="--change-runtime",
        says="Let pods of a --root-dir have another kind of runtime than before",
        section=Section.RUNTIME,
    )
    hollow: HollowSettings = field(default_factory=HollowSettings)

    @property
    def makes_volumes(self) -> bool:
        """Whether the agent makes the volumes of pods. Providers have their own, or none."""
        is_hollow = self.kind is RuntimeKind.HOLLOW
        return self.kind is RuntimeKind.CRI or (is_hollow and self.hollow.has_volumes)
