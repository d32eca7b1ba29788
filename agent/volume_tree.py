"""Composes the keeper of volumes. A part of ``pod_tree``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from actors.events.feed_parts import EVENT_FEED
from actors.node.machine import MachineFacts
from actors.node.resources import allocatable, written
from actors.volumes.keeper import (
    VOLUME_KEEPER,
    VolumeKeeper,
    VolumeKeeperMemory,
    VolumeKeeperPorts,
)
from actors.volumes.keeper_parts import VolumeKeeperMessage
from actors.volumes.making.jobs import VolumeLanes
from actors.volumes.making.maker import VolumeMaker
from actors.volumes.making.teardown import Teardowns
from actors.volumes.mounts.system_calls import KernelMounts, MountCalls
from actors.volumes.token_keeper import TOKEN_KEEPER, TokenKeeper, TokenMemory, TokenPorts
from agent.node_view import machine_memory, node_resources
from kernel import Address, AnySpec, Followable, Port, isolated
from manifests.requests import MEMORY
from messages.api import CallApi
from messages.events import PostEvent
from messages.objects import HeldObject, ObjectId, ObjectKind, ObjectManagerMessage
from messages.tokens import TokensMessage
from messages.units import Timestamp
from messages.volumes import VolumeMessage
from settings.agent import Settings
from settings.cluster import ChangeDetection


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeEdges:
    """Whom the keeper of volumes talks to."""

    managers: Callable[[], Mapping[ObjectKind, Port[ObjectManagerMessage]]]
    """Returns those of Secrets and ConfigMaps."""
    objects: Mapping[ObjectKind, Followable[ObjectId, HeldObject]]
    """What is known of Secrets and ConfigMaps."""
    events: Callable[[], Port[PostEvent] | None]
    """Returns who posts events; None for an agent without a cluster."""
    calls: Callable[[], Port[CallApi] | None]
    """Returns who sends requests to the API server; None as well."""
    lanes: VolumeLanes
    """Who does what may block."""
    mounts: MountCalls | None = None
    """The kernel. None for that of this machine."""


class VolumeTree:
    """The keeper of volumes, what it works with, and what outlives its crashes."""

    def __init__(
        self, settings: Settings, machine: MachineFacts, address: Address, edges: VolumeEdges
    ) -> None:
        self._address = address
        self._edges = edges
        self._memory = VolumeKeeperMemory()
        self._token_memory = TokenMemory()
        cluster = settings.cluster
        self._has_tokens = cluster is not None
        # As often as a kubelet does, which hears of no changes either then.
        is_untold = cluster is not None and cluster.change_detection is ChangeDetection.GET
        self._reads_every = settings.sync_frequency if is_untold else None
        self._looks_every = settings.sync_frequency
        self._lanes = edges.lanes
        calls: MountCalls = edges.mounts or KernelMounts()
        root_dir = str(settings.root_dir.absolute())
        room = allocatable(node_resources(settings), machine)
        self._allocatable = written(room)
        memory = room.get(MEMORY) or machine_memory()
        self._maker = VolumeMaker(root_dir, calls, memory, _now)
        self._teardowns = Teardowns(root_dir, calls)

    def specs(self) -> tuple[AnySpec, ...]:
        """Return the specs. They are isolated: what is mounted stays mounted while they are in trouble."""
        tokens = (isolated(TOKEN_KEEPER, self._make_tokens),) if self._has_tokens else ()
        return (*tokens, isolated(VOLUME_KEEPER, self._make_keeper))

    def port(self) -> Port[VolumeMessage]:
        """Return the address that takes commands about volumes."""
        return self._address(VOLUME_KEEPER)

    def state(self) -> Port[VolumeKeeperMessage]:
        """Return the address that says how volumes are."""
        return self._address(VOLUME_KEEPER)

    def tokens(self) -> Port[TokensMessage] | None:
        """Return who gets tokens of service accounts; None for an agent without a cluster."""
        tokens = self._address(TOKEN_KEEPER)
        return tokens if self._has_tokens else None

    def _make_tokens(self) -> TokenKeeper:
        calls = self._edges.calls()
        assert calls is not None  # noqa: S101  # else there is no such child
        return TokenKeeper(TokenPorts(calls=calls), self._token_memory)

    def _make_keeper(self) -> VolumeKeeper:
        people = self._address(EVENT_FEED)
        ports = VolumeKeeperPorts(
            me=self._address(VOLUME_KEEPER),
            managers=self._edges.managers(),
            objects=self._edges.objects,
            tokens=self.tokens(),
            events=self._edges.events(),
            people=people,
            lanes=self._lanes,
            maker=self._maker,
            teardowns=self._teardowns,
            reads_every=self._reads_every,
            looks_every=self._looks_every,
            allocatable=self._allocatable,
        )
        return VolumeKeeper(ports, self._memory)


def _now() -> Timestamp:
    return Timestamp(time.time())
