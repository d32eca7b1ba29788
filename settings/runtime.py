"""What the agent is told of the runtime of its pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from manifests.durations import Span
from messages.pods import JsonObject
from settings.containers import ContainerSettings

RUNTIME_LABEL: Final = "actorlet/runtime"
"""Says what the pods of a Node run in, if not in containers."""
HOLLOW_LABEL_VALUE: Final = "hollow"
"""Its value for a Node whose pods only seem to run."""
VIRTUAL_LABEL_VALUE: Final = "virtual"
"""The same for one whose pods a Python class runs."""
HOLLOW_TAINT: Final[JsonObject] = {"key": "actorlet/hollow", "effect": "NoSchedule"}
"""Keeps pods away that do not ask for such a Node."""


class RuntimeKind(StrEnum):
    """What runs the pods."""

    HOLLOW = "hollow"
    """Nothing does. They seem to run, with the states that real ones would have."""
    CRI = "cri"
    """A container runtime of this machine: containerd, CRI-O."""
    PROVIDER = "provider"
    """A Python class of somebody's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HollowSettings:
    """How hollow containers behave where the annotations of their pod say nothing."""

    times: Mapping[str, Span] = field(default_factory=dict)
    """``--hollow-times``: durations by the names of ``settings.values.hollow_times.NAMES``."""
    seed: str = ""
    """``--hollow-seed``: durations that are drawn from ranges are the same for the same seed."""
    keeps_records: bool = False
    """``--hollow-records``: hollow containers outlive the agent's process, as real ones do."""
    has_volumes: bool = False
    """``--hollow-volumes``: the volumes of hollow pods are really made, below ``--root-dir``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """Which runtime was chosen."""

    kind: RuntimeKind
    containers: ContainerSettings | None = None
    """How real containers are run; None unless the runtime is ``CRI``."""
    adopts_static_pods: bool = False
    """``--adopt-static-pods``: static pods keep the UIDs under which a kubelet runs them."""
    provider: str = ""
    """``MODULE:CLASS`` of a provider. Nobody has looked yet whether there is one."""
    may_change: bool = False
    """``--change-runtime``: the pods of the root directory may have had another kind of runtime."""
    is_forced: bool = False
    """``--force-hollow``: a Node that exists is taken over even if it was a real one."""
    hollow: HollowSettings = field(default_factory=HollowSettings)

    @property
    def makes_volumes(self) -> bool:
        """Whether the agent makes the volumes of pods. Providers have their own, or none."""
        is_hollow = self.kind is RuntimeKind.HOLLOW
        return self.kind is RuntimeKind.CRI or (is_hollow and self.hollow.has_volumes)
