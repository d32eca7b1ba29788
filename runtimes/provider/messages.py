"""What the runtime that calls a class hears, and whom it tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kernel import Key, Port
from messages.events import PostEvent
from messages.pod_runtime import PodRuntimeMessage
from runtimes.provider.calls import ProviderCallEnded, ProviderChanged

VirtualRuntimeMessage: TypeAlias = PodRuntimeMessage | ProviderChanged | ProviderCallEnded


def _name_of(message: VirtualRuntimeMessage) -> type | None:
    return ProviderChanged if isinstance(message, ProviderChanged) else None


VIRTUAL_RUNTIME = Key[VirtualRuntimeMessage]("runtime", coalesce=_name_of)
"""The address of the runtime of pods, if that is this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualPorts:
    """The ports that VirtualRuntime uses."""

    events: Port[PostEvent] | None
    """None for a standalone agent."""
    me: Port[ProviderCallEnded]
    """Its own address, which outlives a crash: where calls are answered."""
