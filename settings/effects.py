"""Whether a field has an effect on a node of this kind, and why not. Pure.

The loader warns by these rules, and ``settings.explaining`` explains by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from settings.load_cluster import FLAGS_OF_A_CLUSTER, SERVED_IN_A_CLUSTER
from settings.load_containers import SERVED_OF_CONTAINERS
from settings.load_resources import SERVED_OF_HOLLOW_PODS, SERVED_OF_RESOURCES
from settings.runtime import RuntimeKind
from settings.without_effect import REASONS

SERVED: Final = frozenset({
    "staticPodPath",
    "fileCheckFrequency",
    "staticPodURL",
    "staticPodURLHeader",
    "httpCheckFrequency",
    "address",
    "readOnlyPort",
    "healthzBindAddress",
    "healthzPort",
    "enableServer",
    "logging.format",
    "logging.verbosity",
    "registerWithTaints",
    "crashLoopBackOff.maxContainerRestartPeriod",
    *SERVED_OF_RESOURCES,
})  # fmt: skip
"""Fields that have an effect on any node."""


class Effect(StrEnum):
    """What a field does on a node."""

    OBEYED = "obeyed"
    IDLE_WITHOUT_CLUSTER = "only a node of a cluster has a use for it"
    IDLE_WITHOUT_CONTAINERS = "it has an effect with --runtime cri alone"
    IDLE_WITHOUT_HOLLOW_PODS = "it has an effect with --runtime hollow alone"
    NONE = "nobody obeys it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What kind of a node this is."""

    is_joined: bool
    """It is a node of a cluster."""
    runtime: RuntimeKind | None
    """What runs its pods; None if nothing does."""

    def effect(self, name: str) -> Effect:
        """Return what the field at the path ``name``, or the flag of that name, does here."""
        if name in SERVED_IN_A_CLUSTER or name in FLAGS_OF_A_CLUSTER:
            return Effect.OBEYED if self.is_joined else Effect.IDLE_WITHOUT_CLUSTER
        if name in SERVED_OF_CONTAINERS:
            is_real = self.runtime is RuntimeKind.CRI
            return Effect.OBEYED if is_real else Effect.IDLE_WITHOUT_CONTAINERS
        if name in SERVED_OF_HOLLOW_PODS:
            is_hollow = self.runtime is RuntimeKind.HOLLOW
            return Effect.OBEYED if is_hollow else Effect.IDLE_WITHOUT_HOLLOW_PODS
        return Effect.NONE if name in REASONS else Effect.OBEYED

    def why_ignored(self, name: str) -> str:
        """Return why the field or flag has no effect here, in words; empty if it has one."""
        effect = self.effect(name)
        if effect is Effect.OBEYED:
            return ""
        return REASONS[name] if effect is Effect.NONE else effect.value
